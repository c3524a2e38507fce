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
            .init(name: "dry-run", value: nil, summary: "Check all of it, and tell what is in it; restore nothing."),
            .init(
                name: "identity", value: "FILE",
                summary:
                    "What 'kura secrets identity' made: opens a backup that is encrypted to it. May be given several times.",
                repeats: true),
            .passphraseFile("Opens a backup that is encrypted with this passphrase."),
        ],
        summary: "Make a data directory of a backup, or check one.",
        explanation: [
            "No daemon is needed, and none is touched: the directory must be empty, and gets its name when everything is in it. The file is "
                + "read to its end and checked before anything is written: one that is cut off, altered, or encrypted for somebody else is "
                + "refused whole.",
            "Items keep their revisions. The history is a new one (another epoch), so clients that resume are told to begin anew. "
                + "Caches start empty. Secrets that are bound to the host of the backup are not there; what was left out is printed.",
            "With --at and --log the state at any revision since the backup comes back, as far as the log goes back without a gap: it is read "
                + "from copies, so it may be a running daemon's. The daemon's first start takes these changes in.",
            "Secrets of a backup that is not encrypted open with the root key of where it was made: put its root.key into DIR/keys/ before the "
                + "daemon starts, or unlock with a passphrase. Those of an encrypted one get a root.key of their own.",
        ],
        examples: [
            "kura restore monday.kurabackup --dry-run",
            "kura restore monday.kurabackup --data-dir /var/lib/kura-restored --identity ~/backup.identity",
            "kura restore monday.kurabackup --data-dir /tmp/notes --only documents/notes",
            "kura restore monday.kurabackup --data-dir /tmp/then --at 4711 --log /var/lib/kura/log",
        ], takesFile: true)

    static func run(_ arguments: ToolArguments, _ options: GlobalOptions) throws(Failure) -> Never {
        try arguments.check(least: 1, most: 1)
        var words = ["restore", arguments.words[0]]
        for (name, value) in arguments.options {
            words.append("--\(name)")
            if name != "dry-run" { words.append(value) }
        }
        if options.form != .standard { words.append("--json") }
        try SiblingProgram.become("kurad", words)
    }
}
