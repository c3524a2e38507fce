import CSyscalls
import Glibc
import KuraBytes
import KuraClient
import KuraProtocol

/// Asks for secrets on the process's terminal, without an echo.
///
/// Each key is read as it comes, so that whatever ends the question, an interruption too, leaves the terminal as it was.
///
/// Safety: the kernel fills and reads one `termios`, which is ours; `read` and `write` get buffers with their lengths.
enum SecretPrompt {
    private enum Key {
        static let interrupt: UInt8 = 3
        static let end: UInt8 = 4
        static let backspace: UInt8 = 8
        static let lineFeed: UInt8 = 10
        static let carriageReturn: UInt8 = 13
        static let eraseLine: UInt8 = 21
        static let delete: UInt8 = 127
    }

    /// - Parameter prompt: what to ask.
    /// - Returns: the line that was typed; nil without a terminal, or when it was ended without one.
    static func ask(_ prompt: String) -> [UInt8]? {
        let terminal = csys_open_terminal()
        guard terminal >= 0 else { return nil }
        defer { close(terminal) }
        var usual = termios()
        guard unsafe tcgetattr(terminal, &usual) == 0 else { return nil }
        var quiet = usual
        quiet.c_lflag &= ~tcflag_t(ECHO | ECHONL | ICANON | ISIG)
        guard unsafe tcsetattr(terminal, TCSAFLUSH, &quiet) == 0 else { return nil }
        write(Array((prompt + ": ").utf8), terminal)
        var line: [UInt8] = []
        let key = read(terminal, into: &line)
        unsafe tcsetattr(terminal, TCSAFLUSH, &usual)
        write([Key.lineFeed], terminal)
        if key == Key.interrupt { raise(SIGINT) }
        return key == nil || key == Key.interrupt ? nil : line
    }

    /// Asks a question on the terminal: only `y` and `yes` say so.
    static func confirm(_ question: String) -> Bool {
        let terminal = csys_open_terminal()
        guard terminal >= 0 else { return false }
        defer { close(terminal) }
        write(Array((question + " [y/N] ").utf8), terminal)
        var answer: [UInt8] = []
        guard read(terminal, into: &answer) != nil else { return false }
        return ["y", "yes"].contains(String(decoding: answer, as: UTF8.self).lowercased())
    }

    /// - Returns: the key that ended the line; nil when the terminal has gone, or nothing was typed at all before its end.
    private static func read(_ terminal: Int32, into line: inout [UInt8]) -> UInt8? {
        while true {
            var key: UInt8 = 0
            let count = unsafe Glibc.read(terminal, &key, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { return nil }
            switch key {
            case Key.lineFeed, Key.carriageReturn, Key.interrupt: return key
            case Key.end: return line.isEmpty ? nil : key
            case Key.eraseLine: line = []
            case Key.backspace, Key.delete:
                // A character of UTF-8 with all of its bytes.
                while let last = line.popLast(), last & 0xC0 == 0x80 {}
            default: line.append(key)
            }
        }
    }

    private static func write(_ bytes: [UInt8], _ terminal: Int32) {
        _ = bytes.withBytes { unsafe Glibc.write(terminal, $0.baseAddress, $0.count) }
    }
}

/// Reads a command's secrets: never from its arguments, which everybody on the host can read.
struct SecretReader {
    /// Standard input is a terminal: secrets are asked for there.
    let asks: Bool
    /// The secret is an object of texts, as JSON.
    var takesObject = false
    /// A secret may be empty.
    var allowsEmpty = false
    /// All of standard input.
    let input: () throws(Failure) -> [UInt8]
    /// Asks without an echo; nil when there is no answer.
    let ask: (String) -> [UInt8]?

    /// The one secret that a verb stores: text, an object of texts, or bytes that are no text.
    /// - Returns: the parameter's name and its JSON text.
    func readImplied(_ parameter: Verb.Parameter) throws(Failure) -> (name: String, value: [UInt8]) {
        _ = csys_set_no_dump()
        let bytes = try asks ? question(parameter) : input()
        guard allowsEmpty || !Self.withoutLineEnd(bytes).isEmpty else {
            // What a program prints that has failed.
            throw .usage(
                asks ? "nothing was typed, and nothing was stored" : "standard input is empty, and nothing was stored",
                hint: "--allow-empty stores a secret that is empty")
        }
        if takesObject {
            guard let object = JSONObject(bytes) else { throw .usage("the secret is no JSON object") }
            return (parameter.field.name, JSONParts.object(object.entries))
        }
        guard String(validating: bytes, as: UTF8.self) != nil, !bytes.contains(0) else {
            var text = ByteBuffer()
            bytes.withBytes { Base64.encode($0, into: &text) }
            return (parameter.field.name + "Base64", JSONParts.string(Array(text.bytes)))
        }
        return (parameter.field.name, JSONParts.string(Self.withoutLineEnd(bytes)))
    }

    /// As `$(…)` gives it.
    private static func withoutLineEnd(_ text: [UInt8]) -> [UInt8] {
        var text = text
        if text.last == 0x0A { text.removeLast() }
        if text.last == 0x0D { text.removeLast() }
        return text
    }

    /// The secrets' texts in their order.
    ///
    /// One alone is all of standard input, without the line end that it closes with; several have a line each.
    func read(_ parameters: [Verb.Parameter]) throws(Failure) -> [[UInt8]] {
        // What is held from now on is not for dumps.
        _ = csys_set_no_dump()
        var secrets: [[UInt8]] = []
        if asks {
            for parameter in parameters { secrets.append(try question(parameter)) }
        } else {
            let text = Self.withoutLineEnd(try input())
            secrets =
                parameters.count == 1
                ? [text] : text.split(separator: 0x0A, omittingEmptySubsequences: false).map(Array.init)
            guard secrets.count == parameters.count else {
                let names = parameters.map(\.placeholder).joined(separator: ", ")
                throw .usage("standard input has \(secrets.count) lines, and \(parameters.count) are needed: \(names)")
            }
        }
        for (parameter, secret) in zip(parameters, secrets) where String(validating: secret, as: UTF8.self) == nil {
            throw .usage("\(parameter.placeholder) is not UTF-8")
        }
        return secrets
    }

    private func question(_ parameter: Verb.Parameter) throws(Failure) -> [UInt8] {
        let name = parameter.options[0].replacing("-", with: " ")
        guard let answer = ask(name) else { throw .usage("no \(name) was given") }
        // What nobody sees while it is typed is typed twice when it is new.
        guard parameter.field.name.hasPrefix("new") || parameter.isImplied else { return answer }
        guard ask("\(name), again") == answer else { throw .usage("the two are not the same") }
        return answer
    }
}
