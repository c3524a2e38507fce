import KuraProtocol
import KuraStorage

/// Sockets and roles as the configuration has them. Read whole, never changed.
public struct AccessRules: Sendable, Equatable {
    /// Where to listen, and who may do what there.
    struct Socket: Sendable, Equatable {
        /// How systemd and the log call it; nil without.
        var name: String?
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
    }

    struct Quota: Sendable, Equatable {
        var bytes: Int?
        var items: Int?
    }

    struct Role: Sendable, Equatable {
        var grants: [Grant] = []
        var quota = Quota()
        /// For the scopes under patterns with `{uid}`, each user's by themselves.
        var perUser = Quota()

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
