import Glibc
import KuraClient

/// Standard output and standard error.
enum Output {
    static let isTerminal = isatty(STDOUT_FILENO) == 1

    static func write(_ text: String) {
        write(Array(text.utf8))
    }

    /// Writes everything; a reader that went away ends the program by SIGPIPE, as it does every other filter.
    static func write(_ bytes: [UInt8], to descriptor: Int32 = STDOUT_FILENO) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                let reason = String(cString: strerror(errno))
                if descriptor != STDERR_FILENO {
                    fail(Failure(status: ExitStatus.refused, message: "cannot write the result: \(reason)"))
                }
                return
            }
            rest = rest.dropFirst(count)
        }
    }

    /// A result: indented for people, one line for programs.
    static func write(result: [UInt8], _ options: Options) {
        if options.isQuiet { return }
        write((isTerminal && !options.isJSON ? JSONDocument.indented(result) : result) + [0x0A])
    }

    static func fail(_ failure: Failure, isJSON: Bool = false) -> Never {
        if isJSON, let reply = failure.reply {
            write(reply + [0x0A], to: STDERR_FILENO)
        } else {
            let hint = failure.hint.map { "hint: \($0)\n" } ?? ""
            write(Array("kura: \(failure.message)\n\(hint)".utf8), to: STDERR_FILENO)
        }
        exit(failure.status)
    }
}
