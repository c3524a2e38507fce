/// Kura's global revision, asked of `storage.status` on a connection of its own.
enum Revision {
    /// The revision now; nil for Redis, which counts none.
    static func current(of target: Target) throws -> UInt64? {
        guard target.wire == .kura else { return nil }
        let socket = try Socket(path: target.path)
        try socket.limitReads(toSeconds: 30)
        let reply = try Exchange.line(RequestTemplate.call("storage.status", "{}"), on: socket.descriptor)
        guard reply.hasPrefix(ReplyScanner.success) else {
            throw BenchError.failed("storage.status answered \(reply)")
        }
        guard let revision = number(after: "\"rev\":", in: reply) else {
            throw BenchError.failed("storage.status tells no \"rev\": \(reply)")
        }
        return revision
    }

    private static func number(after name: String, in text: String) -> UInt64? {
        let bytes = Array(text.utf8)
        let wanted = Array(name.utf8)
        guard bytes.count >= wanted.count else { return nil }
        for start in 0...(bytes.count - wanted.count) where bytes[start] == wanted[0] {
            let end = start + wanted.count
            guard Array(bytes[start..<end]) == wanted else { continue }
            let digits = bytes[end...].prefix { (0x30...0x39).contains($0) }
            return UInt64(String(decoding: digits, as: UTF8.self))
        }
        return nil
    }
}
