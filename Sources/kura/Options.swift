import KuraProtocol

/// The command line taken apart: options may stand anywhere, what is left are words.
struct Options {
    /// nil: where a daemon listens when it is not told otherwise.
    private var givenSocket: String?
    var isJSON = false
    var isQuiet = false
    var wantsHelp = false
    var wantsVersion = false
    private(set) var words: [String] = []

    var socket: String { givenSocket ?? SocketPath.standard(SocketPath.environment) }

    static let names = ["--socket", "--json", "--quiet", "--help", "--version"]

    init(words arguments: [String]) throws(Failure) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--":
                words += rest
                return
            case "--json": isJSON = true
            case "-q", "--quiet": isQuiet = true
            case "-h", "--help": wantsHelp = true
            case "--version": wantsVersion = true
            case "--socket":
                guard let path = rest.popFirst() else { throw .usage("--socket needs a path") }
                givenSocket = path
            case _ where argument.hasPrefix("--socket="):
                givenSocket = String(argument.dropFirst("--socket=".count))
            case _ where argument.hasPrefix("-") && argument != "-":
                throw Self.unknown(argument)
            default: words.append(argument)
            }
        }
        if givenSocket == "" { throw .usage("--socket needs a path") }
    }

    private static func unknown(_ option: String) -> Failure {
        let name = String(option.prefix { $0 != "=" })
        if names.contains(name) { return .usage("\(name) takes no value") }
        let hint = Suggestion.hint(for: name, among: names) ?? "'kura --help' lists the options"
        return .usage("unknown option \(name)", hint: hint)
    }
}
