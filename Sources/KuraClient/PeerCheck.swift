#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
import KuraProtocol
import KuraSocket

/// Whom a client takes for the daemon. It is asked after connecting and before the first byte is sent.
///
/// Where the expected users are named, one of them has to be at the other end. Else the usual place is checked: its directory is this user's or root's
/// and nobody else writes there, and this user, root or the directory's owner listens. Any other path is taken on its giver's word.
struct PeerCheck: Sendable, Equatable {
    static let variable = "KURA_PEER_UID"

    /// The expected users; nil when nobody has named them.
    private let named: [UInt32]?
    private let isUsualPlace: Bool
    private let user: UInt32

    /// - Parameters:
    ///   - path: the daemon's socket.
    ///   - named: the expected users; nil: as `$KURA_PEER_UID` says.
    ///   - user: who asks.
    ///   - environment: where the variables are looked up.
    /// - Throws: `notAllowed` when `$KURA_PEER_UID` has no numbers: what was meant for nobody else is not sent to anybody.
    init(
        path: String, named: [UInt32]?, user: UInt32 = geteuid(),
        environment: (String) -> String? = SocketPath.environment
    ) throws(ClientError) {
        let text = environment(Self.variable) ?? ""
        if named == nil, !text.isEmpty {
            guard let users = Self.users(text) else {
                throw ClientError(
                    .notAllowed, "$\(Self.variable) takes user numbers, such as 10001 or 0,10001, not '\(text)'")
            }
            self.named = users
        } else {
            self.named = named
        }
        isUsualPlace = path == SocketPath.usual(environment, for: user)
        self.user = user
    }

    /// Numbers of users with commas between them; nil when it is something else.
    static func users(_ text: String) -> [UInt32]? {
        let users = text.split(separator: ",", omittingEmptySubsequences: false).map {
            UInt32($0.trimmingPrefix { $0 == " " })
        }
        return users.contains(nil) ? nil : users.compactMap { $0 }
    }

    enum Failure: Error {
        case system(SystemError)
        case stranger(ClientError)

        /// The system call that failed.
        /// - Throws: why whoever listens is not sent anything.
        func system() throws(ClientError) -> SystemError {
            switch self {
            case .system(let error): return error
            case .stranger(let error): throw error
            }
        }
    }

    /// Connects to the socket, which does not wait for the listener's queue, and looks who listens.
    func connect(to path: String) throws(Failure) -> Socket {
        let directory = isUsualPlace && named == nil ? SocketDirectory(of: path) : nil
        if let objection = directory?.objection(from: user) { throw .stranger(Self.stranger(objection)) }
        let socket: Socket
        do throws(SystemError) { socket = try Socket.connect(to: path, waits: false) } catch { throw .system(error) }
        guard let expected = named ?? (isUsualPlace ? [user, 0, directory?.owner ?? 0] : nil) else { return socket }
        guard let peer = socket.peerUser else {
            throw .stranger(Self.stranger("which user listens at \(path) cannot be told"))
        }
        guard expected.contains(peer) else {
            throw .stranger(
                Self.stranger("user \(peer) listens at \(path), and \(Self.phrase(expected)) is expected"))
        }
        return socket
    }

    private static func stranger(_ what: String) -> ClientError {
        ClientError(
            .notAllowed, "\(what): nothing was sent",
            hint:
                "somebody else may pose as the daemon there; where the daemon runs as another user, name that one by number in $\(variable)"
        )
    }

    /// "user 7 or root"
    private static func phrase(_ users: [UInt32]) -> String {
        var names: [String] = []
        for user in users {
            let name = user == 0 ? "root" : "user \(user)"
            if !names.contains(name) { names.append(name) }
        }
        return names.isEmpty ? "nobody" : names.joined(separator: " or ")
    }
}
