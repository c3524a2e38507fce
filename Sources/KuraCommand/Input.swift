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
        let descriptor = try open(path)
        defer { if descriptor != STDIN_FILENO { close(descriptor) } }
        return try read(descriptor, path, atMost: limit)
    }

    /// The same of a file that is open.
    /// - Parameters:
    ///   - descriptor: stays open.
    ///   - path: what it was called.
    ///   - limit: bytes, at most.
    /// - Returns: everything up to the end.
    /// - Throws: when it cannot be read, or is larger.
    static func read(
        _ descriptor: Int32, _ path: String, atMost limit: Int
    ) throws(ParameterList.Fault) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            let count = try read(descriptor, into: &chunk, path)
            if count == 0 { return bytes }
            bytes += chunk[..<count]
            guard bytes.count <= limit else {
                let most = limit < 1 << 20 ? "\(limit) bytes" : "\(limit >> 20) MiB"
                throw ParameterList.Fault("\(name(path)) has more than \(most), which is too much for this")
            }
        }
    }

    /// No more is read than it takes to find its end.
    /// - Parameters:
    ///   - path: `-` is standard input.
    ///   - limit: bytes of the line, at most.
    /// - Returns: the first line, without its end.
    /// - Throws: when it cannot be read, or is longer.
    static func firstLine(_ path: String, atMost limit: Int) throws(ParameterList.Fault) -> [UInt8] {
        let descriptor = try open(path)
        defer { if descriptor != STDIN_FILENO { close(descriptor) } }
        var line: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = try read(descriptor, into: &chunk, path)
            let part = chunk[..<count].prefix { $0 != 0x0A }
            line += part
            guard line.count <= limit else {
                throw ParameterList.Fault("\(name(path)) has more than \(limit) bytes in its first line")
            }
            if part.count < count || count == 0 { return line }
        }
    }

    private static func open(_ path: String) throws(ParameterList.Fault) -> Int32 {
        let descriptor = unsafe path == "-" ? STDIN_FILENO : Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw fault(path) }
        guard !OpenFile.isEndless(descriptor) else {
            if descriptor != STDIN_FILENO { close(descriptor) }
            throw ParameterList.Fault("cannot read \(name(path)): it is a device, which may have no end")
        }
        return descriptor
    }

    /// - Returns: how many bytes there were; 0 at the end.
    private static func read(
        _ descriptor: Int32, into chunk: inout [UInt8], _ path: String
    ) throws(ParameterList.Fault) -> Int {
        while true {
            let count = unsafe Glibc.read(descriptor, &chunk, chunk.count)
            if count >= 0 { return count }
            if errno != EINTR { throw fault(path) }
        }
    }

    private static func fault(_ path: String) -> ParameterList.Fault {
        ParameterList.Fault(unsafe "cannot read \(name(path)): \(String(cString: strerror(errno)))")
    }

    private static func name(_ path: String) -> String { path == "-" ? "standard input" : path }
}
