import Glibc

/// Kura's global revision, asked of `storage.status` on a connection of its own: opened before the run, so that a crowd that
/// takes every place meanwhile cannot keep the answer away.
struct Revision: ~Copyable {
    /// nil for Redis, which counts none.
    private let descriptor: Int32?

    init(of target: Target) throws {
        guard target.wire == .kura else {
            descriptor = nil
            return
        }
        let socket = try Socket(path: target.path)
        try socket.limitReads(toSeconds: 30)
        descriptor = socket.release()
    }

    deinit {
        if let descriptor { close(descriptor) }
    }

    /// The revision now; nil for Redis.
    func current() throws -> UInt64? {
        guard let descriptor else { return nil }
        let reply = try Exchange.line(RequestTemplate.call("storage.status", "{}"), on: descriptor)
        guard reply.hasPrefix(ReplyScanner.success) else {
            throw BenchError.failed("storage.status answered \(reply)")
        }
        guard let revision = Self.number(after: "\"rev\":", in: reply) else {
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
