import KuraBytes
import KuraProtocol
import KuraStorage

/// What one user may do in one role, which is not `admin`. One object serves all connections of that user in that role.
final class Permissions: Sendable {
    let role: String
    let uid: UInt32
    let grants: [AccessRules.Grant]
    /// What becomes of requests about secrets that the audit cannot take.
    let auditFailure: AccessRules.AuditFailure
    /// What the change feed may show.
    let visible: VisibleScopes

    init(
        role: String, uid: UInt32, grants: [AccessRules.Grant], auditFailure: AccessRules.AuditFailure = .closed
    ) {
        self.auditFailure = auditFailure
        self.role = role
        self.uid = uid
        self.grants = grants
        visible = VisibleScopes { store, scope in
            guard let store = store.granted else { return false }
            return Self.verbs(grants, uid, store, scope).contains(.read)
        } secrets: { service, group in
            Self.verbs(grants, uid, .secrets, service, .of(group)).contains(.read)
        } seesSecrets: { service in
            grants.contains { grant in
                grant.stores.contains(.secrets) && grant.verbs.contains(.read)
                    && service.map { grant.scope.matches($0, uid: uid) } ?? true
            }
        } caches: { source, scope in
            Self.verbs(grants, uid, source.granted, scope).contains(.read)
        }
    }

    /// What decides of `visible`: two with the same are shown the same.
    var reads: [AccessRules.Grant] {
        grants.filter { $0.verbs.contains(.read) }.map { grant in
            var read = grant
            read.verbs = .read
            return read
        }
    }

    /// Everything that is granted on the scope, by whichever grants are about it.
    /// `group`: of the secrets of the scope only those in that access group.
    func verbs(_ store: Method.Store, _ scope: Bytes, group: AccessGroup = .any) -> Verbs {
        Self.verbs(grants, uid, store, scope, group)
    }

    func allows(_ verbs: Verbs, _ store: Method.Store, _ scope: Bytes, group: AccessGroup = .any) -> Bool {
        self.verbs(store, scope, group: group).isSuperset(of: verbs)
    }

    /// Everything that is granted on some scope of the store.
    func verbs(anywhereIn store: Method.Store) -> Verbs {
        grants.reduce([]) { $1.stores.contains(store) ? $0.union($1.verbs) : $0 }
    }

    /// What is granted on a store that has no scopes: the grants for all of them, and not for access groups alone. Whoever may read the
    /// storage's events, or administer it, may call what tells how it does.
    func verbs(onWhole store: Method.Store) -> Verbs {
        let granted = granted(onWhole: store)
        return store == .storage && !granted.isDisjoint(with: [.read, .admin]) ? granted.union(.monitor) : granted
    }

    /// The same, and nothing that follows from it.
    func granted(onWhole store: Method.Store) -> Verbs { verbs(store, Bytes(), group: .of(Bytes())) }

    /// The verbs that hold for a service's secrets in no access group and in every group. An empty name means every service.
    func verbs(inEachGroupOf service: Bytes) -> Verbs {
        var inGroups: Verbs = []
        for grant in grants where grant.stores.contains(.secrets) && grant.accessGroup?.text == "*" {
            if grant.scope.matches(service, uid: uid) { inGroups.formUnion(grant.verbs) }
        }
        return inGroups.intersection(verbs(.secrets, service, group: .of(Bytes())))
    }

    /// The grant that a request for the root key lacks; nil when none. The root key opens every secret.
    var missingForRootKey: MissingGrant? {
        let needed: Verbs = [.read, .admin]
        let missing = needed.subtracting(verbs(onWhole: .secrets))
        guard missing.isEmpty else { return MissingGrant(store: .secrets, scope: nil, verbs: missing) }
        let missingInGroups = needed.subtracting(verbs(inEachGroupOf: Bytes()))
        guard !missingInGroups.isEmpty else { return nil }
        var grant = MissingGrant(store: .secrets, scope: nil, verbs: missingInGroups)
        // Safety: the text is a constant.
        unsafe grant.accessGroup = Bytes("*")
        return grant
    }

    /// The grant that a seed bundle lacks, besides `backup`, which is about settings and documents; nil when none.
    func missing(forModelsOf selection: BackupSelection) -> MissingGrant? {
        let mayRead: Bool
        if let namespaces = selection.namespaces {
            mayRead = namespaces.allSatisfy { $0.withBytes { allows(.read, .models, $0) } }
        } else {
            mayRead = granted(onWhole: .models).contains(.read)
        }
        return mayRead ? nil : MissingGrant(store: .models, scope: nil, verbs: .read)
    }

    private static func verbs(
        _ grants: [AccessRules.Grant], _ uid: UInt32, _ store: Method.Store, _ scope: Bytes,
        _ group: AccessGroup = .any
    ) -> Verbs {
        var verbs: Verbs = []
        for grant in grants where grant.stores.contains(store) && !grant.verbs.isSubset(of: verbs) {
            guard grant.isAbout(group, uid: uid) else { continue }
            if grant.scope.matches(scope, uid: uid) { verbs.formUnion(grant.verbs) }
        }
        return verbs
    }
}

extension CacheSources {
    /// As grants call one of them.
    var granted: Method.Store { Self.grants[rawValue.trailingZeroBitCount] }
    private static let grants = all.map { Method.Store(rawValue: "\($0.name)")! }
}

/// Which secrets of a service something is about.
enum AccessGroup {
    /// All, whatever groups they are in.
    case any
    /// Those in the group of that name; in none when it is empty.
    case of(Bytes)
}

extension AccessRules.Grant {
    fileprivate func isAbout(_ group: AccessGroup, uid: UInt32) -> Bool {
        guard case .of(let name) = group else { return true }
        return name.isEmpty ? accessGroup == nil : accessGroup?.matches(name, uid: uid) ?? false
    }
}

extension Store {
    private static let grants: [Method.Store?] =
        [nil] + allCases.map { published.contains($0) ? Method.Store(rawValue: "\($0.described.name)") : nil }

    /// As grants call it; nil for the daemon's own.
    var granted: Method.Store? { Self.grants[Int(rawValue)] }
}

extension ByteBuffer {
    /// The member `grants`: those of a role as they are for one user; `admin` has one of everything.
    mutating func append(grants permissions: Permissions?) {
        openList(.grants)
        if let permissions {
            for grant in permissions.grants {
                // All stores are one word, as in the configuration.
                let stores = grant.stores == Method.Store.granted ? ["*"] : grant.stores.map(\.rawValue)
                for store in stores {
                    openObject()
                    append(.store, store)
                    append(.scope, grant.scope.text(for: permissions.uid))
                    if let group = grant.accessGroup { append(.accessGroup, group.text(for: permissions.uid)) }
                    append(name: .allow)
                    append(verbs: grant.verbs)
                    closeObject()
                }
            }
        } else {
            openObject()
            append(.store, word: "*")
            append(.scope, word: "*")
            append(name: .allow)
            append(verbs: .all)
            closeObject()
        }
        closeList()
    }
}
