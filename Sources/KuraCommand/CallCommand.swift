import KuraBytes
import KuraClient
import KuraProtocol

/// `kura call METHOD [name=text …] [name:=json …]`: checks what can be checked here, sends one request, prints its result.
struct CallCommand {
    private let method: Method
    private let params: [UInt8]

    /// - Parameters:
    ///   - words: what follows `call`.
    ///   - catalogue: the methods that there are.
    /// - Throws: a usage failure; nothing has been sent then.
    init(_ words: [String], _ catalogue: Catalogue) throws(Failure) {
        guard let name = words.first else {
            throw .usage("call needs a method", hint: "such as: kura call settings.get domain=app key=theme")
        }
        method = try catalogue.method(named: name)
        do throws(ParameterList.Fault) {
            params = try Self.params(Array(words.dropFirst()), of: method)
        } catch {
            throw .usage(error.description, hint: "'kura help \(method.name)' shows the parameters")
        }
    }

    private static func params(_ words: [String], of method: Method) throws(ParameterList.Fault) -> [UInt8] {
        if words.contains("-") {
            guard words.count == 1 else {
                throw ParameterList.Fault("'-' stands alone: standard input holds all parameters")
            }
            return try wholeParams(try Input.read("-"))
        }
        var list = ParameterList()
        for word in words {
            try refuseSecret(word, of: method)
            try list.add(word, read: { (path) throws(ParameterList.Fault) in try Input.read(path) })
        }
        for (word, parameter) in zip(words, list.parameters) where !word.hasPrefix("\(parameter.name):=@") {
            if let secret = SecretArguments.found(
                in: parameter.name, parameter.value, besides: list.parameters.map { ($0.name, $0.value) })
            {
                throw ParameterList.Fault(
                    SecretArguments.advice(secret)
                        + "; write \(parameter.name):=@FILE, or all parameters as JSON to '-'")
            }
        }
        for parameter in list.parameters { try check(parameter, of: method) }
        return list.json
    }

    /// Everybody on the host can read arguments.
    private static func refuseSecret(_ word: String, of method: Method) throws(ParameterList.Fault) {
        let name = word.prefix { $0 != "=" && $0 != ":" }
        guard method.parameters.contains(where: { $0.isSecret && $0.name == name }),
            !word.dropFirst(name.count).drop(while: { $0 == ":" || $0 == "=" }).hasPrefix("@")
        else { return }
        throw ParameterList.Fault(
            "\(name) is a secret, and no argument: write \(name)=@FILE, or all parameters as JSON to '-'")
    }

    private static func wholeParams(_ text: [UInt8]) throws(ParameterList.Fault) -> [UInt8] {
        let params: [UInt8]
        do throws(JSONFault) {
            params = try JSONDocument.compact(text)
        } catch {
            throw ParameterList.Fault("standard input is not JSON: \(error.explanation)")
        }
        guard params.first == UInt8(ascii: "{") || params.first == UInt8(ascii: "[") else {
            throw ParameterList.Fault("standard input is no JSON object")
        }
        return params
    }

    /// Faults that are known before anything is sent; ranges and limits are the daemon's to judge.
    private static func check(_ parameter: ParameterList.Parameter, of method: Method) throws(ParameterList.Fault) {
        guard let field = method.parameters.first(where: { $0.name == parameter.name }) else {
            let nearest = Suggestion.hint(for: parameter.name, among: method.parameters.map(\.name))
            throw ParameterList.Fault(
                "\(method.name) has no parameter '\(parameter.name)'" + (nearest.map { ": \($0)" } ?? ""))
        }
        if parameter.isPlain, !field.type.acceptsText {
            throw ParameterList.Fault(
                "\(field.name) is \(field.type.words), not text: write \(field.name):=\(field.type.sample)")
        }
    }

    func run(_ options: GlobalOptions, _ console: Console) throws(Failure) -> ExitCode {
        var session = try Session.open(options, console)
        let result = try session.result(method, params)
        guard !console.isQuiet else { return .done }
        if options.form == .standard, console.output.isTerminal {
            console.print(Visible.text(String(decoding: JSONDocument.indented(result), as: UTF8.self)) + "\n")
        } else {
            console.print(line: result)
        }
        return .done
    }
}
