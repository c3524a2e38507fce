import CSyscalls
import Glibc
import KuraBytes
import KuraClient
import KuraProtocol

/// Where a command prints and reads. Belongs to one thread.
final class Console {
    /// What goes to a terminal is made safe for it here.
    struct Stream {
        let isTerminal: Bool
        private let write: ([UInt8]) -> Void

        init(isTerminal: Bool, write: @escaping ([UInt8]) -> Void) {
            self.isTerminal = isTerminal
            self.write = write
        }

        /// A terminal gets no control characters but line ends, tabs and our own colours.
        func show(_ bytes: [UInt8]) { write(isTerminal ? TerminalText.page(bytes) : TerminalText.coloured(bytes)) }

        /// What moves the cursor: never with anything of a value, a file or a daemon in it.
        fileprivate func control(_ sequence: StaticString) { write("\(sequence)".utf8.map { $0 }) }
    }

    let output: Stream
    let errors: Stream
    /// Columns to lay text out for.
    let width: Int
    let environment: (String) -> String?
    /// All of standard input.
    let input: () throws(Failure) -> [UInt8]
    /// Somebody sits at standard input.
    let isInputTerminal: Bool
    /// Asks for a secret; nil when there is no answer.
    let ask: (String) -> [UInt8]?
    /// Asks whether to go on; false without an answer.
    let confirm: (String) -> Bool
    var color = GlobalOptions.Color.auto
    var isQuiet = false

    init(
        output: Stream, errors: Stream, width: Int, environment: @escaping (String) -> String?,
        input: @escaping () throws(Failure) -> [UInt8], isInputTerminal: Bool = false,
        ask: @escaping (String) -> [UInt8]? = { _ in nil }, confirm: @escaping (String) -> Bool = { _ in false }
    ) {
        self.confirm = confirm
        self.isInputTerminal = isInputTerminal
        self.ask = ask
        self.output = output
        self.errors = errors
        self.width = width
        self.environment = environment
        self.input = input
    }

    /// The process's own.
    static func standard() -> Console {
        let isTerminal = isatty(STDOUT_FILENO) == 1
        let terminals = [STDOUT_FILENO, STDERR_FILENO].filter { isatty($0) == 1 }
        let columns =
            terminals.map { Int(csys_terminal_columns($0)) }.first { $0 > 0 }
            ?? SocketPath.environment("COLUMNS").flatMap { Int($0) } ?? 80
        return Console(
            output: Stream(isTerminal: isTerminal) { write($0, to: STDOUT_FILENO) },
            errors: Stream(isTerminal: isatty(STDERR_FILENO) == 1) { write($0, to: STDERR_FILENO) },
            width: max(columns, 20), environment: SocketPath.environment,
            input: { () throws(Failure) in
                do throws(ParameterList.Fault) {
                    return try Input.read("-")
                } catch {
                    throw .usage(error.description)
                }
            }, isInputTerminal: isatty(STDIN_FILENO) == 1, ask: SecretPrompt.ask,
            confirm: SecretPrompt.confirm)
    }

    /// Writes everything; a reader that went away ends the program by SIGPIPE, as it does every other filter.
    private static func write(_ bytes: [UInt8], to descriptor: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            // Safety: address and count are of the same bytes.
            let count = rest.withBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                guard descriptor != STDERR_FILENO else { return }
                // Safety: one thread writes to the terminal, so that nobody overwrites the text before it is copied.
                let reason = unsafe String(cString: strerror(errno))
                write(Array("kura: cannot write the result: \(reason)\n".utf8), to: STDERR_FILENO)
                exit(ExitCode.refused.rawValue)
            }
            rest = rest.dropFirst(count)
        }
    }

    /// Ends the program by SIGPIPE, as any other filter, when nobody reads standard output any more.
    static func endUnlessRead() {
        var request = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        // Safety: there is one of them.
        guard unsafe poll(&request, 1, 0) == 1, request.revents & Int16(POLLERR) != 0 else { return }
        raise(SIGPIPE)
    }

    // MARK: Printing

    func print(_ text: String) { output.show(Array(text.utf8)) }

    func print(line bytes: [UInt8]) { output.show(bytes + [0x0A]) }

    /// Bytes as they are, unless a terminal gets them.
    func print(raw bytes: [UInt8]) { output.show(bytes) }

    /// Draws a screen over what was there before: nothing flickers.
    func draw(_ lines: [String]) {
        output.control("\u{1B}[H")
        for (index, line) in lines.enumerated() {
            if index > 0 { output.control("\r\n") }
            output.show(Array(line.utf8))
            output.control("\u{1B}[K")
        }
        output.control("\u{1B}[J")
    }

    /// Draws the last line of standard error anew.
    func draw(errorLine line: String) {
        errors.control("\r")
        errors.show(Array(line.utf8))
        errors.control("\u{1B}[K")
    }

    /// What is no result and is worth knowing; standard error.
    func remark(_ text: String) {
        guard !isQuiet else { return }
        errors.show(Array("\(errorStyle.dim("kura: " + Visible.line(text)))\n".utf8))
    }

    func fail(_ failure: Failure, isJSON: Bool) {
        if isJSON, let reply = failure.reply { return errors.show(reply + [0x0A]) }
        let hint = failure.hint.map { "\(errorStyle.dim("hint:")) \(laidOut($0, behind: "hint: "))\n" } ?? ""
        errors.show(
            Array("\(errorStyle.red("kura:")) \(laidOut(failure.message, behind: "kura: "))\n\(hint)".utf8))
    }

    /// On a terminal no word is broken at its edge, and what is to be pasted, between quotes, stays on one line.
    private func laidOut(_ text: String, behind head: String) -> String {
        let line = Visible.line(text)
        guard errors.isTerminal, Visible.width(head + line) > width else { return line }
        let lines = Layout.wrapped(words: Layout.pieces(of: line), width: max(20, width - head.count))
        return lines.joined(separator: "\n" + String(repeating: " ", count: head.count))
    }

    var style: Style { Style(isOn: hasColor(output)) }
    var errorStyle: Style { Style(isOn: hasColor(errors)) }

    /// Source: no-color.org.
    private func hasColor(_ stream: Stream) -> Bool {
        switch color {
        case .always: true
        case .never: false
        case .auto: stream.isTerminal && (environment("NO_COLOR") ?? "").isEmpty && environment("TERM") != "dumb"
        }
    }
}

/// Marks that a stream writes as colours of ECMA-48, or none.
struct Style {
    let isOn: Bool

    func bold(_ text: String) -> String { wrap(text, "1") }
    func dim(_ text: String) -> String { wrap(text, "2") }
    func red(_ text: String) -> String { wrap(text, "31") }
    func green(_ text: String) -> String { wrap(text, "32") }

    private func wrap(_ text: String, _ code: String) -> String {
        isOn && !text.isEmpty ? TerminalText.mark(code) + text + TerminalText.mark("0") : text
    }
}
