import Glibc

// Safety: the text of `strerror` is copied at once, by the only thread.

/// Why a run ended without a figure, and the exit code that says so.
struct BenchError: Error {
    var message: String
    var exitCode: Int32

    static func usage(_ message: String) -> BenchError { BenchError(message: message, exitCode: 2) }
    static func failed(_ message: String) -> BenchError { BenchError(message: message, exitCode: 1) }
    /// Measured, but the figures do not stand.
    static func void(_ message: String) -> BenchError { BenchError(message: "VOID: \(message)", exitCode: 3) }

    /// A system call's failure, from the current `errno`.
    static func system(_ call: String) -> BenchError {
        failed(unsafe "\(call): \(String(cString: strerror(errno)))")
    }
}
