public import KuraBytes

/// A request that meets something cold is begun again when that has been read in. One that is about thousands of documents would so be
/// begun thousands of times: what it will look for besides is read in along with what it has met.
extension DocumentsStore {
    /// Looks that are gathered at most; what is beyond them is met in its turn.
    private static let lookLimit = 20_000

    /// What a request goes on to do with a collection.
    public struct Upcoming {
        /// Documents that are written whole; a new one has no id yet.
        public var written: [(id: [UInt8]?, value: Bytes)] = []
        /// Documents that are changed in part, with their attachments.
        public var changed: [[UInt8]] = []
        public var deleted: [[UInt8]] = []

        public init() {}
    }

    /// The request goes on to delete these documents.
    public func alsoLook(toDelete ids: [[UInt8]], from collection: Bytes) {
        var upcoming = Upcoming()
        upcoming.deleted = ids
        alsoLook(for: [Array(collection): upcoming])
    }

    /// The request goes on to write these documents.
    /// `id`: nil for one that is new.
    public func alsoLook(toWrite documents: [(id: [UInt8]?, value: Bytes)], into collection: Bytes) {
        var upcoming = Upcoming()
        upcoming.written = documents
        alsoLook(for: [Array(collection): upcoming])
    }

    /// The request goes on to do this, collection by collection.
    public func alsoLook(for upcoming: [[UInt8]: Upcoming]) {
        alsoLook { add in
            for (name, changes) in upcoming {
                guard let scope = name.withBytes({ ledger.scopes.find(.documents, $0) }) else { continue }
                look(for: changes, scope, add)
            }
        }
    }

    private func look(for changes: Upcoming, _ scope: Scope, _ add: (ColdLook) -> Void) {
        let unique = scope.collection.indexes?.uniques ?? []
        for document in changes.written {
            if let id = document.id, let look = id.withBytes({ look(for: $0, scope) }) { add(look) }
            if !unique.isEmpty { for look in uniques.looks(scope, unique, document.value) { add(look) } }
        }
        let lists = lists(of: scope)
        for id in changes.changed + changes.deleted {
            if let look = id.withBytes({ look(for: $0, scope) }) { add(look) }
            if let lists, let look = id.withBytes({ look(for: $0, lists) }) { add(look) }
        }
        for id in changes.deleted { for look in looks(forReferrersTo: id, scope) { add(look) } }
    }

    /// What deleting goes on to look for: who refers to these documents.
    func alsoLook(forReferrersTo targets: [(scope: Scope, id: [UInt8])]) {
        alsoLook { add in
            for target in targets { for look in looks(forReferrersTo: target.id, target.scope) { add(look) } }
        }
    }

    private func alsoLook(_ gather: ((ColdLook) -> Void) -> Void) {
        guard let first = coldLook else { return }
        var looks = first.each
        gather { look in if looks.count < Self.lookLimit { looks.append(look) } }
        if looks.count > 1 { coldLook = .several(looks) }
    }

    /// Nil when the document is in memory, or cannot be in the tables.
    private func look(for id: Bytes, _ scope: Scope) -> ColdLook? {
        scope.rows.mayExist && ledger.find(scope, id) == nil ? .document(scope: scope.id, id: Array(id)) : nil
    }

    private func looks(forReferrersTo id: [UInt8], _ scope: Scope) -> [ColdLook] {
        collections.referrers(to: scope).compactMap { referrer in
            guard referrer.scope.count > 0, let index = readyIndex(of: referrer) else { return nil }
            return .referring(index: index, key: ReferenceLooks.key(of: id), scope: referrer.scope.id)
        }
    }
}
