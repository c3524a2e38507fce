import Glibc

// Safety: `read` and `write` get buffers with the lengths that are left in them.

/// One request and the first line of its reply on a blocking descriptor; for everything off the clock's hot path.
enum Exchange {
    /// - Returns: the line without its line end.
    static func line(_ request: String, on descriptor: Int32) throws -> String {
        let bytes = Array(request.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe write(descriptor, $0.baseAddress! + sent, bytes.count - sent)
            }
            if count < 0 {
                if errno == EINTR { continue }
                throw BenchError.system("write")
            }
            sent += count
        }
        var line: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while !line.contains(0x0A) {
            let count = unsafe read(descriptor, &chunk, chunk.count)
            if count < 0 {
                if errno == EINTR { continue }
                throw BenchError.system("read")
            }
            guard count > 0 else { throw BenchError.failed("the server closed the connection") }
            line += chunk[0..<count]
        }
        let end = line.firstIndex(of: 0x0A) ?? line.endIndex
        return String(decoding: line[..<end].filter { $0 != 0x0D }, as: UTF8.self)
    }
}
