/// A server under load: which protocol it speaks and where its Unix socket is.
struct Target: Equatable {
    enum Wire: String {
        case kura
        case redis
        case memcached
    }

    var wire: Wire
    var path: String

    /// Reads `kura:SOCKET`, `redis:SOCKET` or `memcached:SOCKET`.
    init(_ text: String, option: String) throws {
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let wire = Wire(rawValue: String(parts[0])) else {
            throw BenchError.usage("\(option) wants kura:SOCKET, redis:SOCKET or memcached:SOCKET, not `\(text)`")
        }
        self.wire = wire
        path = String(parts[1])
    }

    var text: String { "\(wire.rawValue):\(path)" }
}
