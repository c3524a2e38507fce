public import Glibc
import KuraBytes
import KuraTransport

/// Where kurad and its programs that end (restore, doctor) print. A terminal gets no control characters of what is printed.
public enum ProgramOutput {
    /// Keeps what is printed out of files that would get the numbers of standard output and error, when the program was started without them. Before
    /// anything is opened.
    public static func keepApart() { ProcessLimits.holdStandardDescriptors() }

    /// - Returns: false when nobody takes it.
    @discardableResult
    public static func print(_ bytes: [UInt8], to descriptor: Int32 = STDOUT_FILENO) -> Bool {
        write(isatty(descriptor) == 1 ? TerminalText.page(bytes) : bytes, to: descriptor)
    }

    @discardableResult
    public static func print(_ text: String, to descriptor: Int32 = STDOUT_FILENO) -> Bool {
        print(Array(text.utf8), to: descriptor)
    }

    /// Draws the last line of standard error anew; nothing of a file or a client is in it.
    static func draw(errorLine line: String) { write(Array("\r\(line)\u{1B}[K".utf8), to: STDERR_FILENO) }

    @discardableResult
    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            // Safety: address and count are of the same bytes.
            let count = rest.withBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
