import KuraSocket

@testable import KuraServer

extension Connection {
    /// One without a socket, of an administrator.
    static func lone(_ token: UInt64 = 1, lineLimit: Int = 100) -> Connection {
        Connection(
            socket: .init(owning: -1), token: token, lineLimit: lineLimit,
            client: ConnectedClient(peer: nil, admission: .init(role: "admin")))
    }
}
