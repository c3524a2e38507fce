/// `kura bench`: becomes kura-bench, which lies beside kura or in $PATH.
enum BenchCommand {
    /// - Parameters:
    ///   - words: kura-bench's own; without a target this daemon is measured.
    ///   - socket: this daemon's.
    /// - Throws: when there is no kura-bench; else it does not come back.
    static func run(_ words: [String], socket: String) throws(Failure) -> Never {
        try SiblingProgram.become("kura-bench", completed(words, socket: socket))
    }

    /// The words with this daemon as target, where they name none and are no call for help.
    static func completed(_ words: [String], socket: String) -> [String] {
        let named = ["--target", "--a", "--b", "--help", "-h", "help"]
        let hasTarget = words.contains { word in named.contains(String(word.prefix { $0 != "=" })) }
        return hasTarget
            ? words : words.prefix { $0 != "--" } + ["--target", "kura:\(socket)"] + words.drop { $0 != "--" }
    }
}
