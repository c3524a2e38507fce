import Glibc
import KuraBytes
import KuraClient

// Safety: `read` gets a buffer with its length, and Swift lends the path as a C string for the call, and the text of
// `strerror` is copied at once by the only thread.

/// Bytes from files and from standard input.
enum Input {
    /// - Parameters:
    ///   - path: `-` is standard input.
    ///   - limit: bytes, at most.
    /// - Returns: everything up to the end.
    /// - Throws: when it cannot be read, or is larger.
    static func read(
        _ path: String, atMost limit: Int = JSONDocument.maximumBytes
    ) throws(ParameterList.Fault) -> [UInt8] {
        let descriptor = unsafe path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw fault(path) }
        defer { if descriptor != STDIN_FILENO { close(descriptor) } }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            let count = unsafe Glibc.read(descriptor, &chunk, chunk.count)
            if count == 0 { return bytes }
            if count < 0 {
                if errno == EINTR { continue }
                throw fault(path)
            }
            bytes += chunk[..<count]
            guard bytes.count <= limit else {
                throw ParameterList.Fault("\(name(path)) has more than \(limit >> 20) MiB, which is too much for this")
            }
        }
    }

    private static func fault(_ path: String) -> ParameterList.Fault {
        ParameterList.Fault(unsafe "cannot read \(name(path)): \(String(cString: strerror(errno)))")
    }

    private static func name(_ path: String) -> String { path == "-" ? "standard input" : path }
}
