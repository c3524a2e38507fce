import Glibc
import KuraClient
import KuraProtocol

/// `kura restore`: becomes `kurad restore`, which alone knows what a data directory looks like.
enum RestoreCommand {
    static let tool = Tool(
        noun: nil, word: "restore", arguments: ["FILE"],
        options: [
            .init(
                name: "data-dir", value: "DIR",
                summary: "Where to: a directory that is not there, or empty. As kurad's --data-dir when left out."),
            .parts("only", of: " of it"),
            .init(
                name: "at", value: "REV",
                summary: "Add the log's changes up to this revision, or up to its end with 'newest'; needs --log."),
            .init(
                name: "log", value: "DIR",
                summary: "Where these changes are: the log/ of a data directory, running or set aside, or a copy of it."
            ),
            .init(
                name: "without-lost-attachments", value: nil,
                summary: "With --log: lists go without the attachments whose contents are gone, and each is told."),
            .init(
                name: "dry-run", value: nil,
                summary:
                    "Check all of it, tell what is in it and, where a daemon answers, what would be another there; restore nothing."
            ),
            .init(
                name: "identity", value: "FILE",
                summary:
                    "What 'kura secrets identity' made: opens a backup that is encrypted to it. May be given several times.",
                repeats: true),
            .passphraseFile("Opens a backup that is encrypted with this passphrase."),
            .init(
                name: "keys", value: "DIR",
                summary:
                    "A copy of the keys/ of where it was made, which tells whether it was made there. When left out: the keys/ of the usual data directory, where they can be read."
            ),
            .init(
                name: "unproved", value: nil,
                summary: "Restore it though nothing shows who made it: whoever wrote the file decides what is in it."),
        ],
        summary: "Make a data directory of a backup, or check one.",
        explanation: [
            "No daemon is needed, and none is touched: the directory must be empty, and gets its name when everything is in it. The file is "
                + "read to its end and checked before anything is written: one that is cut off, altered, or encrypted for somebody else is "
                + "refused whole.",
            "A backup carries a proof that a daemon with the keys of its store made it. It is restored when the keys at hand show that it is "
                + "theirs (--keys DIR), and else only with --unproved: a digest tells damage, and anybody can make one.",
            "Items keep their revisions. The history is a new one (another epoch), so clients that resume are told to begin anew. "
                + "Caches start empty. Secrets that are bound to the host of the backup are not there; what was left out is printed.",
            "With --at and --log the state at any revision since the backup comes back, as far as the log goes back without a gap: it is read "
                + "from copies, so it may be a running daemon's. The daemon's first start takes these changes in.",
            "With --dry-run and without --data-dir the daemon that answers here is asked what a restore would change of its settings, documents "
                + "and attachments: item by item, some of them by name; the exit status is 13 when there is anything, as with "
                + "'kura backups compare NAME', which does so for those in the data directory. With --json and with -q the file alone is "
                + "looked at.",
            "Secrets of a backup that is not encrypted open with what opened them where it was made: its root.key in DIR/keys/ before the daemon "
                + "starts, its credential or key file as the daemon's, or a passphrase; which of them is printed. Those of an encrypted one get a "
                + "root.key of their own.",
        ],
        examples: [
            "kura restore monday.kurabackup --dry-run",
            "kura restore monday.kurabackup --data-dir /var/lib/kura-restored --identity ~/backup.identity --keys /mnt/safe/keys",
            "kura restore from-a-friend.kurabackup --data-dir /tmp/notes --only documents/notes --unproved",
            "kura restore monday.kurabackup --data-dir /tmp/then --at 4711 --log /var/lib/kura/log",
        ], takesFile: true)

    static func run(
        _ arguments: ToolArguments, _ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> Never {
        try arguments.check(least: 1, most: 1)
        var words = ["restore", arguments.words[0]]
        for (name, value) in arguments.options {
            words.append("--\(name)")
            if !["dry-run", "unproved", "without-lost-attachments"].contains(name) { words.append(value) }
        }
        if options.form != .standard { words.append("--json") }
        if console.isQuiet { words.append("--quiet") }
        guard arguments.has("dry-run"), options.form == .standard, arguments.value("data-dir") == nil,
            !console.isQuiet
        else {
            try SiblingProgram.become("kurad", words)
        }
        var failure: Failure?
        var differences: Int64 = 0
        do throws(Failure) { differences = try compare(arguments, options, console, catalogue) } catch {
            failure = error
        }
        let status = try SiblingProgram.run("kurad", words)
        // Why a file is no good has been told then.
        if status == 0, let failure { console.remark("not compared with a running daemon: \(failure.message)") }
        exit(status == 0 && differences > 0 ? ExitCode.negative.rawValue : status)
    }

    /// What the daemon's keys say of the backup.
    private static let origins = [
        "ours": "that daemon made it, and nobody has altered it",
        "otherHost": "a daemon with other keys made it, as it says: that daemon cannot tell",
        "unproved": "that daemon cannot tell who made it, and whether it was altered",
    ]

    /// Has the running daemon tell what a restore would change.
    /// - Returns: how many items.
    private static func compare(
        _ arguments: ToolArguments, _ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> Int64 {
        guard arguments.value("identity") == nil else {
            throw .usage("what an identity opens is opened here only")
        }
        let path = arguments.words[0]
        let file = try OpenFile(regular: path)
        var members = [("fd", Array("true".utf8))]
        let only = arguments.values("only")
        if !only.isEmpty { members.append(("include", BackupCommand.list(only))) }
        if let file = arguments.value("passphrase-file") {
            members.append(("passphrase", JSONParts.string(try BackupCommand.passphrase(file))))
        }
        var session = try Session.open(options, console)
        let result = try session.result(
            try catalogue.method(named: "backups.compare"), JSONParts.object(members), passing: file.descriptor)
        guard let object = JSONObject(result) else {
            throw Failure(status: .noDaemon, message: "the answer is no object")
        }
        func counts(_ object: JSONObject) -> String {
            func count(_ name: String) -> Int { Int(object.integer(name) ?? 0) }
            return "\(count("added")) would come back, \(count("changed")) be changed, \(count("removed")) go"
        }
        let same = object.integer("same") ?? 0
        console.print("beside the running daemon, revision \(object.integer("rev") ?? 0):\n")
        if let origin = object.string("origin") {
            console.print("  \(Self.origins[origin] ?? Visible.line(origin))\n")
        }
        console.print("  \(same) items are the same, \(counts(object))\n")
        for difference in object["differences"].flatMap({ JSONElements.read($0) }) ?? [] {
            guard let scope = JSONObject(difference) else { continue }
            let place = "\(scope.string("store") ?? "")/\(scope.string("scope") ?? "")"
            console.print("  \(Visible.line(place)): \(counts(scope))\n")
            for example in scope["examples"].flatMap({ JSONElements.read($0) }) ?? [] {
                guard let example = JSONObject(example) else { continue }
                console.print("    \(example.string("change") ?? "") \(Visible.line(example.string("key") ?? ""))\n")
            }
        }
        return Shortfall.differences(object)
    }
}
