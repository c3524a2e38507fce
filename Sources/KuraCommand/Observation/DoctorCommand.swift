import Glibc
import KuraBytes
import KuraClient
import KuraProtocol

/// `kura doctor`: what `kurad doctor` finds in the data directory, what the daemon tells when one runs, and what to do.
enum DoctorCommand {
    static let tool = Tool(
        noun: nil, word: "doctor", arguments: [],
        options: [
            Tool.Option(
                name: "data-dir", value: "DIR",
                summary:
                    "The data directory; when left out, $KURA_DATA_DIR, the one of the daemon that answers, or as kurad's --data-dir."
            ),
            Tool.Option(
                name: "config", value: "FILE", summary: "The daemon's configuration, which is checked as well."),
        ],
        summary: "Look at the data directory, the host and the daemon, and say what to do.",
        explanation: [
            "Directory and modes, key slots, room on the disk, the clock, known faults of this SQLite, failed starts, recoveries and backups; and "
                + "when a daemon answers, whether it is ready, short of anything, or has met errors. Nothing is changed. Without a daemon the "
                + "rest is looked at all the same; as another user than the daemon's, what it tells.",
            "Findings are ok, note, warning, error or recovered, each but the first two with what to do. The exit status is that of the worst: 0 "
                + "up to notes, 8 for a warning, 9 for an error, 10 for a recovery that nobody has acknowledged, whatever else there is.",
        ],
        examples: ["kura doctor", "kura doctor --data-dir /var/lib/kura --json", "kura doctor -q || echo look"])

    struct Finding: Equatable {
        enum Severity: String, CaseIterable {
            case ok, note, warning, error, recovered

            var status: ExitCode {
                switch self {
                case .ok, .note: .done
                case .warning: .advised
                case .error: .troubled
                case .recovered: .recovered
                }
            }
        }

        var severity: Severity
        var check: String
        var message: String
        var advice = ""

        init(_ severity: Severity, _ check: String, _ message: String, advice: String = "") {
            (self.severity, self.check, self.message, self.advice) = (severity, check, message, advice)
        }

        /// A line of `kurad doctor --json`; nil when it is none.
        init?(_ line: some Collection<UInt8>) {
            guard let object = JSONObject(line), let check = object.string("check"),
                let message = object.string("message"),
                let severity = object.string("severity").flatMap({ Severity(rawValue: $0) })
            else { return nil }
            self.init(severity, check, message, advice: object.string("advice") ?? "")
        }

        var json: [UInt8] {
            var members: [(name: String, value: [UInt8])] = [
                ("severity", JSONParts.string(severity.rawValue)), ("check", JSONParts.string(check)),
                ("message", JSONParts.string(message)),
            ]
            if !advice.isEmpty { members.append(("advice", JSONParts.string(advice))) }
            return JSONParts.object(members)
        }
    }

    static func run(
        _ arguments: ToolArguments, _ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> ExitCode {
        try arguments.check(least: 0, most: 0)
        var words = ["doctor", "--json"]
        for (name, value) in arguments.options { words += ["--\(name)", value] }
        let isNamed = arguments.value("data-dir") != nil || console.environment("KURA_DATA_DIR") != nil
        if !isNamed, arguments.value("config") == nil,
            let directory = DaemonExamination.dataDirectory(options, console, catalogue)
        {
            words += ["--data-dir", directory]
        }
        var findings = directoryFindings(words)
        findings += DaemonExamination.run(
            options, console, catalogue, isDirectoryKnown: findings.contains { $0.severity == .recovered })
        if !console.isQuiet {
            for finding in findings {
                if options.form == .standard, console.output.isTerminal {
                    console.print(text(finding, console))
                } else {
                    console.print(line: finding.json)
                }
            }
        }
        let worst = findings.compactMap { Finding.Severity.allCases.firstIndex(of: $0.severity) }.max() ?? 0
        return Finding.Severity.allCases[worst].status
    }

    private static func directoryFindings(_ words: [String]) -> [Finding] {
        guard let (status, output) = SiblingProgram.output("kurad", words) else {
            return [
                Finding(
                    .warning, "directory",
                    "kurad lies neither beside kura nor in $PATH: the data directory was not looked at",
                    advice: "run 'kurad doctor' where it is")
            ]
        }
        let findings = output.split(separator: 0x0A).compactMap { Finding($0) }
        guard findings.isEmpty else { return findings }
        return [
            Finding(
                .warning, "directory", "kurad doctor ended with status \(status) and found nothing",
                advice: "kurad is older than kura, or was told what it does not know: run 'kurad doctor'")
        ]
    }

    private static func text(_ finding: Finding, _ console: Console) -> String {
        let style = console.style
        let word = Visible.padded(finding.severity.rawValue, to: 9)
        let dressed =
            switch finding.severity {
            case .ok: style.green(word)
            case .note: style.dim(word)
            case .warning: style.bold(word)
            case .error, .recovered: style.red(word)
            }
        let indent = 11
        var text =
            dressed + "  "
            + Layout.paragraph(
                "\(finding.check): \(Visible.line(finding.message))", width: console.width, indent: indent)
        if !finding.advice.isEmpty {
            let space = String(repeating: " ", count: indent)
            text +=
                space + Layout.paragraph("→ " + Visible.line(finding.advice), width: console.width, indent: indent + 2)
        }
        return text
    }
}
