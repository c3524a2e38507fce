import Glibc

/// What Kura counts writes by, its global revision, or for the model cache the values that were stored; asked on a connection of its own: opened before the run, so that a crowd that
/// takes every place meanwhile cannot keep the answer away.
struct Revision: ~Copyable {
    /// nil for the others, which count none.
    private let descriptor: Int32?

    private let room: LoadOptions.Room

    init(of target: Target, room: LoadOptions.Room) throws {
        self.room = room
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

    /// The count now; nil for the others.
    func current() throws -> UInt64? {
        guard let descriptor else { return nil }
        if room == .models {
            let reply = try Exchange.line(
                RequestTemplate.call("models.describe", "{\"namespace\":\"bench\"}"), on: descriptor)
            // Before the first there is no namespace.
            return Self.number(after: "\"puts\":", in: reply) ?? 0
        }
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
