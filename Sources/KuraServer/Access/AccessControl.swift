import KuraBytes
import KuraProtocol
import KuraStorage
import KuraTransport

/// Who is let in, with which permissions and within which quotas. Belongs to the loop.
final class AccessControl {
    private(set) var rules: AccessRules
    private struct User: Hashable {
        var role: String
        var uid: UInt32
    }
    /// One object for all connections of a user in a role, so that what is rendered for one serves all.
    private var permissions: [User: Permissions] = [:]
    private var roleAccounts: [String: QuotaAccount] = [:]
    /// Kept alive by the scopes in them and the connections that they bind: names of users that a refused write made up leave
    /// nothing.
    private struct UserAccount {
        weak var account: QuotaAccount?
    }
    private var userAccounts: [User: UserAccount] = [:]
    /// Number of users' accounts at which those that are gone are swept out.
    private var sweepsAt = userLimit

    /// Scopes may be in accounts.
    private var hadQuotas = false

    /// Users after which those known are forgotten; they cost a look at the rules to be known again.
    private static let userLimit = 16_384

    init(_ rules: AccessRules) {
        self.rules = rules
    }

    /// What a connection may do, and what binds it.
    struct Admission {
        var role: String
        /// nil: everything.
        var permissions: Permissions?
        var accounts: [QuotaAccount] = []
    }

    /// - Throws: `forbidden`, for nobody and for those who have no role there.
    func admit(
        _ peer: PeerCredentials?, on socket: AccessRules.Socket, groups: () -> [UInt32]
    ) throws(RPCError) -> Admission {
        guard let peer, peer.namesUser else {
            throw RPCError(.forbidden, hint: "the kernel does not say who this is: the overflow uid is nobody")
        }
        guard let name = rules.role(of: (peer.uid, peer.gid), on: socket, groups: groups) else {
            throw RPCError(.forbidden, hint: "this user has no role on this socket")
        }
        if name == AccessRules.admin { return Admission(role: name) }
        guard let role = rules.roles[name] else {
            throw RPCError(.forbidden, hint: "the role of this socket is gone")
        }
        let user = User(role: name, uid: peer.uid)
        var admission = Admission(role: name, permissions: permissions(of: user, role))
        if let account = roleAccounts[name] { admission.accounts.append(account) }
        if role.hasUserQuota { admission.accounts.append(account(of: user, role)) }
        return admission
    }

    /// Whether the rules of this moment still give the user this role, and the role these verbs on the scope.
    func allows(
        _ verbs: Verbs, _ store: Method.Store, _ scope: Bytes, group: AccessGroup, role name: String, uid: UInt32
    ) -> Bool {
        // A connection that was passed in as a descriptor belongs to no socket.
        guard rules.sockets.isEmpty || rules.gives(name, to: uid) else { return false }
        if name == AccessRules.admin { return true }
        guard let role = rules.roles[name] else { return false }
        return permissions(of: User(role: name, uid: uid), role).allows(verbs, store, scope, group: group)
    }

    private func permissions(of user: User, _ role: AccessRules.Role) -> Permissions {
        if let known = permissions[user] { return known }
        if permissions.count >= Self.userLimit { permissions.removeAll() }
        let made = Permissions(role: user.role, uid: user.uid, grants: role.grants, auditFailure: role.auditFailure)
        permissions[user] = made
        return made
    }

    // MARK: Quotas

    private func account(of user: User, _ role: AccessRules.Role) -> QuotaAccount {
        if let known = userAccounts[user]?.account { return known }
        if userAccounts.count >= sweepsAt {
            userAccounts = userAccounts.filter { $0.value.account != nil }
            sweepsAt = max(Self.userLimit, userAccounts.count * 2)
        }
        let made = QuotaAccount(role.perUser)
        userAccounts[user] = UserAccount(account: made)
        return made
    }

    /// Puts other rules in force, and what the scopes hold into the accounts that they ask for.
    func apply(_ rules: AccessRules, _ storage: isolated Storage) {
        self.rules = rules
        permissions = [:]
        roleAccounts = rules.roles.filter { $0.value.hasQuota }.mapValues { role in
            QuotaAccount(role.quota)
        }
        userAccounts = [:]
        let hasQuotas = rules.roles.contains { $0.value.hasQuota || $0.value.hasUserQuota }
        guard hasQuotas || hadQuotas else { return }
        hadQuotas = hasQuotas
        storage.assignAccounts { [unowned self] store, scope in
            store.granted.map { accounts(of: $0, scope) } ?? []
        } models: { [unowned self] scope in
            accounts(of: .models, scope)
        } blobs: { [unowned self] scope in
            accounts(of: .blobs, scope)
        }
    }

    /// The accounts that a scope counts into: of every role that may write there, and of the user whose scope it is.
    private func accounts(of store: Method.Store, _ scope: Bytes) -> [QuotaAccount] {
        var accounts: [QuotaAccount] = []
        for (name, role) in rules.roles where role.hasQuota || role.hasUserQuota {
            let writable = role.grants.filter { $0.stores.contains(store) && !$0.verbs.isDisjoint(with: .write) }
            if let account = roleAccounts[name], writable.contains(where: { $0.scope.matchesAnyUser(scope) }) {
                accounts.append(account)
            }
            guard role.hasUserQuota else { continue }
            // A scope has one user at most under one pattern, and may have another under another.
            for uid in Set(writable.compactMap { $0.scope.user(of: scope) }) {
                accounts.append(account(of: User(role: name, uid: uid), role))
            }
        }
        return accounts
    }

    /// What each role with a quota holds, by its name.
    var usage: [(role: String, account: QuotaAccount)] {
        roleAccounts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}

extension QuotaAccount {
    fileprivate convenience init(_ quota: AccessRules.Quota) {
        self.init(
            bytesLimit: quota.bytes, itemsLimit: quota.items, scopesLimit: quota.scopes ?? Self.standardScopesLimit)
    }
}

/// A socket that the daemon listens on.
final class DaemonSocket {
    private(set) var listener: Listener
    /// As the newest configuration has it.
    var rule: AccessRules.Socket
    /// Open connections that came in by it.
    var connections = 0

    init(_ listener: consuming Listener, _ rule: AccessRules.Socket) {
        self.listener = listener
        self.rule = rule
    }

    /// Nobody comes in any more; those who have are still judged by its rule.
    func close() {
        listener.close()
    }

    /// Listens again where it has listened.
    func open() throws {
        guard listener.descriptor < 0 else { return }
        listener = try Listener.bind(path: rule.path, mode: rule.mode, owner: rule.owner, group: rule.group)
    }
}
