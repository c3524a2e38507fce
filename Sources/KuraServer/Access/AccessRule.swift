import KuraBytes
import KuraProtocol
import KuraStorage

/// What a method needs, made ready from the method table: `Method.Need` with positions of parameters in place of their names.
///
/// Deciding looks at the request and at the grants and at nothing else, so a refusal cannot tell what is there.
struct AccessRule {
    private struct Extra {
        var verbs: Verbs
        var position: Int
        var word: [UInt8]?
    }
    private enum Kind {
        case nothing
        case scope(Verbs, Int, [Extra])
        case scopes(Verbs, Int)
        case scopeNames(Verbs, Int, [Extra])
        case item(scope: Int, name: Int, ifRev: Int)
        case items(scope: Int, list: Int)
        case anywhere(Verbs)
        case whole(Verbs)
        case feed(stores: Int?, scope: Int?)
        case operations
    }
    private let kind: Kind
    let store: Method.Store
    /// Position of `fd`: a request takes its descriptor even when it is refused.
    let descriptor: Int?
    /// It writes to the collection that its first parameter names.
    let writesDocuments: Bool
    /// Position of `accessGroup`; nil when there is none.
    private let group: Int?
    /// It is about secrets in no group when the request names none: it reads or changes some, and does not list what there is.
    private let namesSecret: Bool
    /// Position of `version`, by which a client declares what it knows.
    let version: Int?

    /// What it needs is what its operations need.
    var asksOperations: Bool {
        if case .operations = kind { true } else { false }
    }

    init(_ method: Method) {
        func position(_ name: String) -> Int {
            guard let position = method.parameters.firstIndex(where: { $0.name == name }) else {
                preconditionFailure("\(method.name) has no parameter \(name)")
            }
            return position
        }
        func extras(_ extras: [Method.Extra]) -> [Extra] {
            extras.map {
                Extra(verbs: $0.verbs, position: position($0.parameter), word: $0.word.map { Array($0.utf8) })
            }
        }
        kind =
            switch method.need {
            case .nothing: .nothing
            case .scope(let verbs, let scope, let also): .scope(verbs, position(scope), extras(also))
            case .scopes(let verbs, let list): .scopes(verbs, position(list))
            case .scopeNames(let verbs, let map, let also): .scopeNames(verbs, position(map), extras(also))
            case .item(let scope, let name):
                .item(scope: position(scope), name: position(name), ifRev: position("ifRev"))
            case .items(let scope, let list): .items(scope: position(scope), list: position(list))
            case .anywhere(let verbs): .anywhere(verbs)
            case .whole(let verbs): .whole(verbs)
            case .feed(let stores, let scope): .feed(stores: stores.map(position), scope: scope.map(position))
            case .operations: .operations
            }
        // Whoever administers the daemon as a whole has its backups, and lets things go wrong.
        store = method.store == .backups || method.store == .fault ? .storage : method.store
        descriptor = method.parameters.firstIndex { $0.name == "fd" }
        writesDocuments = method.changesCollection
        version =
            method.store == .documents ? method.parameters.firstIndex { $0.name == "version" } : nil
        group = method.parameters.firstIndex { $0.name == "accessGroup" }
        namesSecret =
            method.store == .secrets
            && (method.access == .write || method.parameters.contains { ["account", "accounts"].contains($0.name) })
    }

    // MARK: Deciding

    /// As a grant names it; nil where it may be of any store.
    private var grantable: Method.Store? { Method.Store.granted.contains(store) ? store : nil }

    /// What the call that the reader holds would need and has not; nil when it may be begun. What is returned points into the
    /// request, and into `storage`.
    func missing(
        _ reader: RequestReader, _ permissions: Permissions, _ storage: WalkStorage, _ inner: WalkStorage
    ) -> MissingGrant? {
        switch kind {
        case .nothing, .anywhere, .whole, .operations:
            return missingAnywhere(permissions)
        case .scope(let verbs, let scope, let also):
            guard reader.has(scope) else { return missingAnywhere(permissions) }
            return missing(verbs.union(Self.extra(also, reader)), reader.string(scope), permissions, group(reader))
        case .scopes(let verbs, let list):
            guard reader.has(list) else { return missingAnywhere(permissions) }
            var walk = JSONWalk(reader.json(list), storage: storage)
            while let element = walk.nextElement() {
                // What is no string is refused by whoever reads it.
                guard let scope = JSONWalk.string(element, storage: inner) else { continue }
                if let missing = missing(verbs, scope, permissions) { return missing }
            }
            return missingAnywhere(permissions)
        case .scopeNames(let verbs, let map, let also):
            let verbs = verbs.union(Self.extra(also, reader))
            var walk = JSONWalk(reader.json(map), storage: storage)
            while let (scope, _) = walk.nextMember() {
                if let missing = missing(verbs, scope, permissions) { return missing }
            }
            return missingAnywhere(permissions)
        case .item(let scope, let name, let ifRev):
            let verbs = Self.verbs(isNamed: reader.has(name), ifRev: reader.integer(ifRev))
            return missing(verbs, reader.string(scope), permissions, group(reader))
        case .items(let scope, let list):
            return missing(Self.verbs(reader.json(list), storage, inner), reader.string(scope), permissions)
        case .feed(let stores, let scope):
            let scope = scope.flatMap { reader.has($0) ? reader.string($0) : nil }
            guard let stores else { return missingAnywhere(permissions) }
            guard reader.has(stores) else {
                return Self.readable.contains { Self.reads($0, scope, permissions) }
                    ? nil : MissingGrant(store: nil, scope: scope, verbs: .read)
            }
            var walk = JSONWalk(reader.json(stores), storage: storage)
            while let element = walk.nextElement() {
                guard let word = JSONWalk.string(element, storage: inner),
                    let store = Self.watchable.first(where: { word.elementsEqual($0.rawValue.utf8) }),
                    !Self.reads(store, scope, permissions)
                else { continue }
                return MissingGrant(store: store, scope: scope, verbs: .read)
            }
            return nil
        }
    }

    /// The same of a request that waits for changes already: the store that may not be read any more, as the refusal names it.
    static func unreadable(_ wait: ChangeWait, _ permissions: Permissions) -> ChangeWait.Unreadable? {
        let filter = wait.selector.filter
        func isReadable(_ store: Method.Store) -> Bool {
            guard let scope = filter.scope else { return reads(store, nil, permissions) }
            return scope.withBytes { reads(store, $0, permissions) }
        }
        guard wait.namesStores else { return readable.contains { isReadable($0) } ? nil : .init(store: nil) }
        for store in readable where !isReadable(store) {
            let isAsked = Store.published.contains { $0.granted == store && filter.admits($0) }
            if isAsked { return .init(store: store) }
        }
        return nil
    }

    /// The same of the method alone: what would be missing whatever its parameters were.
    func missingAnywhere(_ permissions: Permissions) -> MissingGrant? {
        let granted = permissions.verbs(anywhereIn: store)
        func missing(_ verbs: Verbs) -> MissingGrant? {
            let missing = verbs.subtracting(granted)
            return missing.isEmpty ? nil : MissingGrant(store: grantable, scope: nil, verbs: missing)
        }
        switch kind {
        case .nothing: return nil
        case .scope(let verbs, _, _), .scopes(let verbs, _), .scopeNames(let verbs, _, _), .anywhere(let verbs):
            return missing(verbs)
        case .item, .items: return granted.isDisjoint(with: [.create, .update]) ? missing([.create, .update]) : nil
        case .whole(let verbs):
            let missing = verbs.subtracting(permissions.verbs(onWhole: store))
            return missing.isEmpty ? nil : MissingGrant(store: grantable, scope: nil, verbs: missing)
        case .feed:
            return Self.watchable.contains { Self.reads($0, nil, permissions) }
                ? nil : MissingGrant(store: nil, scope: nil, verbs: .read)
        case .operations:
            return Self.readable.contains { !permissions.verbs(anywhereIn: $0).isDisjoint(with: .write) }
                ? nil : MissingGrant(store: nil, scope: nil, verbs: .write)
        }
    }

    /// Whether the caller may read what the request is about, and so learn the revision that stood in its way.
    func mayRead(_ reader: RequestReader, _ permissions: Permissions) -> Bool {
        switch kind {
        case .scope(_, let scope, _), .item(let scope, _, _), .items(let scope, _):
            permissions.allows(.read, store, reader.string(scope), group: group(reader))
        case .scopeNames(let verbs, _, _), .scopes(let verbs, _): verbs.contains(.read)
        case .nothing, .anywhere, .whole, .feed, .operations: true
        }
    }

    private func missing(
        _ verbs: Verbs, _ scope: Bytes, _ permissions: Permissions, _ group: AccessGroup = .any
    ) -> MissingGrant? {
        let missing = verbs.subtracting(permissions.verbs(store, scope, group: group))
        guard !missing.isEmpty else { return nil }
        var grant = MissingGrant(store: grantable, scope: scope, verbs: missing)
        // Safety: as `MissingGrant.scope` says.
        if case .of(let name) = group, !name.isEmpty { unsafe grant.accessGroup = name }
        return grant
    }

    /// The access group that the request is about.
    private func group(_ reader: RequestReader) -> AccessGroup {
        guard let group, reader.has(group) else { return namesSecret ? .of(Bytes()) : .any }
        return .of(reader.string(group))
    }

    // MARK: Requests

    private static let readable = Method.Store.allCases.filter { store in
        Store.published.contains { $0.granted == store }
    }
    private static let watchable = readable + CacheSources.all.map(\.granted)

    private static func reads(_ store: Method.Store, _ scope: Bytes?, _ permissions: Permissions) -> Bool {
        if store == .storage { return permissions.verbs(onWhole: store).contains(.read) }
        return (scope.map { permissions.verbs(store, $0) } ?? permissions.verbs(anywhereIn: store)).contains(.read)
    }

    private static func extra(_ extras: [Extra], _ reader: RequestReader) -> Verbs {
        extras.reduce([]) { verbs, extra in
            let applies =
                extra.word.map { reader.string(extra.position).elementsEqual($0) } ?? reader.has(extra.position)
            return applies ? verbs.union(extra.verbs) : verbs
        }
    }

    private static func verbs(isNamed: Bool, ifRev: Int64?) -> Verbs {
        guard isNamed else { return .create }
        return ifRev.map { $0 == 0 ? .create : .update } ?? [.create, .update]
    }

    /// What the objects of a list ask for together. A list of none, or of something else, gives away nothing either.
    private static func verbs(_ list: Bytes, _ storage: WalkStorage, _ inner: WalkStorage) -> Verbs {
        var verbs: Verbs = []
        var walk = JSONWalk(list, storage: storage)
        while let element = walk.nextElement() {
            guard element.first == UInt8(ascii: "{") else { return [.create, .update] }
            var isNamed = false
            var ifRev: Int64?
            var members = JSONWalk(element, storage: inner)
            while let (name, value) = members.nextMember() {
                if name.elementsEqual("id".utf8) { isNamed = true }
                if name.elementsEqual("ifRev".utf8) { ifRev = RequestReader.integer(value) }
            }
            verbs.formUnion(Self.verbs(isNamed: isNamed, ifRev: ifRev))
            if verbs == [.create, .update] { return verbs }
        }
        return verbs.isEmpty ? [.create, .update] : verbs
    }
}
