import KuraClient

/// `kura bench`: becomes kura-bench, which lies beside kura or in $PATH.
enum BenchCommand {
    /// - Parameters:
    ///   - words: kura-bench's own; without a target this daemon is measured.
    ///   - options: they name this daemon.
    ///   - console: whose environment it is.
    /// - Throws: when there is no kura-bench, or somebody else listens than is expected; else it does not come back.
    static func run(_ words: [String], _ options: GlobalOptions, _ console: Console) throws(Failure) -> Never {
        let completed = completed(words, socket: options.socket(console.environment))
        if completed != words {
            // Kura-bench does not look who listens. That nobody does it tells by itself.
            do throws(Failure) { _ = try Session.open(options, console) } catch {
                guard error.cause != .notAllowed else { throw error }
            }
        }
        try SiblingProgram.become("kura-bench", completed)
    }

    /// The words with this daemon as target, where they name none and are no call for help.
    static func completed(_ words: [String], socket: String) -> [String] {
        let named = ["--target", "--a", "--b", "--help", "-h", "help"]
        let hasTarget = words.contains { word in named.contains(String(word.prefix { $0 != "=" })) }
        return hasTarget
            ? words : words.prefix { $0 != "--" } + ["--target", "kura:\(socket)"] + words.drop { $0 != "--" }
    }
}
