import KuraBytes
import KuraProtocol
import KuraStorage
import KuraTransport

/// Sockets and roles as the configuration has them. Read whole, never changed.
public struct AccessRules: Sendable, Equatable {
    /// Where to listen, and who may do what there.
    struct Socket: Sendable, Equatable {
        /// How the service manager calls it ($LISTEN_FDNAMES); nil without.
        var name: String?
        /// Empty: only the service manager makes it.
        var path: String
        /// Of the socket's file; nil: the daemon's own.
        var owner: UInt32?
        var group: UInt32?
        /// Permissions of the socket's file.
        var mode: UInt32 = 0o600
        /// The first that fits decides.
        var roles: [Assignment] = []
        /// For those whom none of `roles` is about; nil: they are refused.
        var role: String?

        /// The one that a newer configuration says something else of. The service manager's have names and maybe no paths.
        func isSame(as other: Socket) -> Bool {
            name != nil && name == other.name || !path.isEmpty && path == other.path
        }

        /// Nobody else may use the file.
        var isPrivate: Bool { Listener.isPrivate(mode: mode, owner: owner) }

        /// The file itself is as it was.
        func isSamePlace(as other: Socket) -> Bool {
            (name, path, owner, group, mode) == (other.name, other.path, other.owner, other.group, other.mode)
        }
    }

    /// Who gets a role.
    struct Assignment: Sendable, Equatable {
        enum Who: Sendable, Equatable {
            case uid(UInt32)
            /// The primary group or a supplementary one.
            case gid(UInt32)
        }
        var who: Who
        var role: String
    }

    struct Grant: Sendable, Equatable {
        /// Those of `Method.Store.granted` that it is about.
        var stores: [Method.Store]
        var scope: ScopePattern
        var verbs: Verbs
        /// With `secrets` alone: it is about those in the access groups that match, and about no others; nil: about those in none.
        var accessGroup: ScopePattern?
    }

    /// What becomes of requests about secrets that the audit cannot take: refused, or done all the same.
    enum AuditFailure: String, Sendable {
        case closed, open
    }

    struct Quota: Sendable, Equatable {
        var bytes: Int?
        var items: Int?
        /// nil: `QuotaAccount.standardScopesLimit`.
        var scopes: Int?
    }

    struct Role: Sendable, Equatable {
        var grants: [Grant] = []
        var quota = Quota()
        /// For the scopes under patterns with `{uid}`, each user's by themselves.
        var perUser = Quota()
        var auditFailure = AuditFailure.closed

        var hasQuota: Bool { quota != Quota() }
        var hasUserQuota: Bool { perUser != Quota() }
    }

    /// The role that may do everything; it cannot be configured.
    static let admin = "admin"

    /// None: the one socket that `socket` names, for role `admin` alone.
    var sockets: [Socket] = []
    var roles: [String: Role] = [:]

    public init() {}

    /// As they are with one socket and nothing configured.
    static func single(_ path: String) -> AccessRules {
        var rules = AccessRules()
        rules.sockets = [Socket(path: path, role: admin)]
        return rules
    }

    /// With the sockets that the service manager has passed: each is the configured one of its name, or, when there is none, for
    /// the role of its name alone. Several may have one name.
    /// `own`: where to listen besides, when no sockets are configured; nil: nowhere.
    func joined(with inherited: [InheritedSocket], own: String?) throws(Configuration.Refusal) -> AccessRules {
        var rules = self
        for socket in inherited where !rules.sockets.contains(where: { $0.name == socket.name }) {
            guard socket.name == Self.admin || roles[socket.name] != nil else {
                throw Configuration.Refusal(
                    description:
                        "a socket called \"\(socket.name)\" was passed: neither a socket of the configuration nor a role is"
                )
            }
            rules.sockets.append(Socket(name: socket.name, path: socket.path, role: socket.name))
        }
        if let own, sockets.isEmpty { rules.sockets.append(contentsOf: Self.single(own).sockets) }
        for socket in rules.sockets where socket.path.isEmpty {
            guard inherited.contains(where: { $0.name == socket.name }) else {
                throw Configuration.Refusal(
                    description:
                        "socket \"\(socket.name ?? "")\" has no path, and the service manager has passed none of this name"
                )
            }
        }
        return rules
    }

    /// Whether a user can come in by some socket in this role. A group that leads to it counts: nobody knows any more which groups the user had.
    func gives(_ role: String, to uid: UInt32) -> Bool {
        sockets.contains { socket in
            for assignment in socket.roles {
                switch assignment.who {
                case .uid(let known): if known == uid { return assignment.role == role }
                case .gid: if assignment.role == role { return true }
                }
            }
            return socket.role == role
        }
    }

    /// The role of somebody who has come in by a socket; nil: none.
    /// `groups`: asked for only when a group decides.
    func role(of user: (uid: UInt32, gid: UInt32), on socket: Socket, groups: () -> [UInt32]) -> String? {
        var supplementary: [UInt32]?
        for assignment in socket.roles {
            switch assignment.who {
            case .uid(let uid): if uid == user.uid { return assignment.role }
            case .gid(let gid):
                if gid == user.gid { return assignment.role }
                if supplementary == nil { supplementary = groups() }
                if supplementary!.contains(gid) { return assignment.role }
            }
        }
        return socket.role
    }
}

extension [AccessRules.Socket] {
    /// What `bind` makes of each, in their order. Others' sockets are bound first: a directory that is made for one of them lets others
    /// through, and one that is made for a private socket keeps them out.
    func bound<Bound>(_ bind: (AccessRules.Socket) throws -> Bound) throws -> [Bound] {
        let order = indices.filter { !self[$0].isPrivate } + indices.filter { self[$0].isPrivate }
        let all = try order.map { (index: $0, bound: try bind(self[$0])) }
        return all.sorted { $0.index < $1.index }.map { $0.bound }
    }
}
