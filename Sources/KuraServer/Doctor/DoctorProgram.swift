import Glibc
import KuraBytes
import KuraProtocol
public import KuraCheck
import KuraStorage

// Safety: text goes out with its length.

/// `kurad doctor`: looks at a data directory and its host, changes nothing, and says what to do. No daemon runs in this process.
public enum DoctorProgram {
    private static let help = """
        kurad doctor - look at a data directory and its host, and say what to do

        usage: kurad doctor [options]

          --data-dir DIR  which one  [$KURA_DATA_DIR; root: /var/lib/kura,
                          else $XDG_STATE_HOME/kura]
          --config FILE   the daemon's configuration, which is checked as well
                          [$KURA_CONFIG]
          --config-only   the configuration alone: what to ask before a restart
          --json          each finding as one line of JSON
          --help          this text

        Nothing is changed. 'kura doctor' asks the daemon besides, when one runs. Exit
        status: 0 all is well, 8 something should be done, 9 something is wrong, 10 a
        recovery that nobody has acknowledged, 2 bad usage.

        """

    private struct Options {
        var directory: String?
        var config = SocketPath.environment("KURA_CONFIG")
        var isConfigOnly = false
        var isJSON = false
    }

    /// - Parameter arguments: those behind `doctor`.
    /// - Returns: the exit status.
    public static func run(_ arguments: [String]) -> Int32 {
        var options = Options()
        var words = arguments[...]
        while let word = words.popFirst() {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let inline = word.hasPrefix("--") && parts.count == 2 ? parts[1] : nil
            switch inline == nil ? word : parts[0] {
            case "--help", "-h":
                ProgramOutput.print(help, to: STDOUT_FILENO)
                return 0
            case "--json": options.isJSON = true
            case "--config-only": options.isConfigOnly = true
            case "--data-dir", "--config":
                guard let value = inline ?? words.popFirst() else { return refuse("\(parts[0]) needs a value") }
                if parts[0] == "--config" { options.config = value } else { options.directory = value }
            default: return refuse("does not know what to do with '\(word)'")
            }
        }
        let findings = findings(options)
        for finding in findings {
            ProgramOutput.print(options.isJSON ? json(finding) : text(finding), to: STDOUT_FILENO)
        }
        return status(findings.map(\.severity).max() ?? .ok)
    }

    private static func refuse(_ message: String) -> Int32 {
        ProgramOutput.print("kurad doctor: \(message)\nTry 'kurad doctor --help'.\n", to: STDERR_FILENO)
        return 2
    }

    /// The exit status that the worst finding gives.
    public static func status(_ worst: Finding.Severity) -> Int32 {
        switch worst {
        case .ok, .note: 0
        case .warning: 8
        case .error: 9
        case .recovered: 10
        }
    }

    private static func findings(_ options: Options) -> [Finding] {
        var findings: [Finding] = []
        var configuration = Configuration()
        if let config = options.config, !config.isEmpty {
            do throws(Configuration.Refusal) {
                try configuration.read(file: config)
                findings.append(Finding(.ok, "configuration", "\(config) holds"))
            } catch {
                findings.append(
                    Finding(
                        .error, "configuration", error.description,
                        advice: "mend it: kurad does not start with it, and SIGHUP leaves the old one in force"))
            }
        }
        guard !options.isConfigOnly else {
            if findings.isEmpty { findings.append(Finding(.ok, "configuration", "none is given: the defaults hold")) }
            return findings
        }
        let directory =
            options.directory ?? SocketPath.environment("KURA_DATA_DIR") ?? configuration.dataDirectory
            ?? Configuration.defaultDataDirectory(SocketPath.environment)
        var storage = StorageConfiguration(dataDirectory: directory, profile: configuration.profile)
        storage.caches.minFreeBytes = configuration.minFreeBytes
        return findings + DirectoryExamination.run(storage, backupsEvery: configuration.backupsEvery)
    }

    private static func text(_ finding: Finding) -> String {
        let head = "\(finding.severity.rawValue): \(finding.check): \(finding.message)\n"
        return finding.advice.isEmpty ? head : head + "    \(finding.advice)\n"
    }

    private static func json(_ finding: Finding) -> String {
        var out = ByteBuffer()
        out.openObject()
        out.append(.severity, finding.severity.rawValue)
        out.append(.check, finding.check)
        out.append(.message, finding.message)
        if !finding.advice.isEmpty { out.append(.advice, finding.advice) }
        out.closeObject()
        out.append("\n")
        return String(decoding: out.bytes, as: UTF8.self)
    }
}
