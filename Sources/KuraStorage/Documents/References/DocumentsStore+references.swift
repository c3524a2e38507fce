public import KuraBytes
import KuraJSON

/// What becomes of documents when others are deleted that they refer to.
///
/// Who refers to a document is looked for where documents are: among the changes that are not folded (`UniqueClaims`), and in the
/// index of the reference, without waiting; what memory has a newer version of does not count there. So whoever is staged first is
/// seen, in the same turn too. A reference to what is not there is no error: a cache may load children before their parents.
extension DocumentsStore {
    /// What the collection's documents refer to, as it is configured.
    public func references(_ collection: Bytes) -> [ReferenceDefinition] {
        ledger.scopes.find(.documents, collection)?.collection.references ?? []
    }

    /// What deleting documents of the collection will look for on the disk, for a thread to read it in beforehand.
    public func looks(forDeletionsIn collection: Bytes) -> ReferenceLooks? {
        guard let scope = ledger.scopes.find(.documents, collection) else { return nil }
        let indexes = collections.referrers(to: scope).compactMap { referrer in
            readyIndex(of: referrer).map { (index: $0, scope: referrer.scope.id) }
        }
        return ReferenceLooks(scope: scope.id, lists: lists(of: scope)?.id, referring: indexes)
    }

    /// Stages the deletion of a document with all that follows from it but changes, which `finish` stages.
    /// - Throws: `.tooManyDocuments`, `.referencesBuilding`, `.duplicate` when the transaction has changed one of them, and what
    ///   staging a change throws.
    func remove(
        _ scope: Scope, _ id: Bytes, _ old: ItemRef, _ effects: inout DeletionEffects
    ) throws(DocumentsError) {
        try stageDeletion(scope, id, old)
        guard !collections.referrers(to: scope).isEmpty else { return }
        effects.forgetChange(scope, id)
        var pending = [(scope: scope, id: Array(id))]
        while let target = pending.popLast() {
            do throws(DocumentsError) { try follow(target.scope, target.id, &pending, &effects) } catch {
                if error == .engine(.cold) { alsoLook(forReferrersTo: pending) }
                throw error
            }
        }
    }

    /// Stages what follows at once from the deletion of a document; `pending` gets those whose deletion has been staged with it.
    private func follow(
        _ target: Scope, _ id: [UInt8], _ pending: inout [(scope: Scope, id: [UInt8])],
        _ effects: inout DeletionEffects
    ) throws(DocumentsError) {
        for referrer in collections.referrers(to: target) {
            guard referrer.definition.onDelete != .deny else {
                effects.ask(referrer, about: id, of: target)
                continue
            }
            // One more than there may be, so that too many are noticed.
            for child in try children(of: id, referrer, limit: effects.left + 1) {
                guard let item = try findChild(child, referrer, of: id), !item.isTombstone else { continue }
                if referrer.definition.onDelete == .nullify {
                    try nullify(child, item, referrer, id, &effects)
                    continue
                }
                try effects.noteCascade(referrer.scope, child, bytes: item.value.count)
                try child.withBytes { (id) throws(DocumentsError) in try stageDeletion(referrer.scope, id, item) }
                pending.append((referrer.scope, child))
            }
        }
    }

    /// Stages the changes, and asks whether anything that is gone is still referred to where that must not be.
    /// - Throws: `.referenced`, `.unfit`, and what `remove` throws.
    func finish(_ effects: inout DeletionEffects) throws(DocumentsError) {
        for question in effects.questions {
            let children = try children(of: question.id, question.referrer, limit: 1)
            if !children.isEmpty { throw try referenced(question.referrer, question.target, question.id) }
        }
        try effects.forEachChange { (scope, id, value) throws(DocumentsError) in
            try id.withBytes { (id) throws(DocumentsError) in
                guard let old = try existing(scope, id), !old.isTombstone else { return }
                try value.withBytes { (value) throws(DocumentsError) in
                    try refuse(unfit: value, scope, id)
                    try stage(scope, id, value, old: old)
                }
            }
        }
    }

    private func refuse(unfit value: Bytes, _ scope: Scope, _ id: Bytes) throws(DocumentsError) {
        guard let judge, let fault = scope.withName({ judge(self, $0, value) }) else { return }
        throw .unfit(
            UnfitDocument(
                collection: scope.name, id: Array(id), pointer: fault.pointer, message: fault.message,
                rev: scope.lastRev))
    }

    private func referenced(_ referrer: Referrer, _ target: Scope, _ id: [UInt8]) throws(DocumentsError)
        -> DocumentsError
    {
        let all = try children(of: id, referrer, limit: ReferencedDocument.countLimit)
        return .referenced(
            ReferencedDocument(
                collection: referrer.scope.name, field: referrer.definition.field.text,
                ids: Array(all.prefix(ReferencedDocument.shownIDs)), count: all.count, target: target.name, id: id,
                rev: referrer.scope.lastRev))
    }

    private func nullify(
        _ child: [UInt8], _ item: ItemRef, _ referrer: Referrer, _ id: [UInt8], _ effects: inout DeletionEffects
    ) throws(DocumentsError) {
        let known = effects.rewritten[DeletionEffects.Key(scope: referrer.scope.id, id: child)]
        // What is written here counts as of the collection's version.
        let migrated =
            known == nil ? try referrer.scope.collection.migrations?.migrated(item.value, rev: item.pointee.rev) : nil
        let old = known ?? Array(migrated ?? item.value)
        var new = ByteBuffer()
        let isThere = old.withBytes { old in
            id.withBytes { idRemoval.apply($0, at: referrer.definition.field, in: StoredValue(old), into: &new) }
        }
        if isThere { try effects.noteChange(referrer.scope, child, new.bytes) }
    }

    private func findChild(_ child: [UInt8], _ referrer: Referrer, of id: [UInt8]) throws(DocumentsError) -> ItemRef? {
        do throws(EngineError) {
            return try child.withBytes { (child) throws(EngineError) in try find(referrer.scope, child) }
        } catch {
            // Where one of them is not at hand, others are not either.
            if error == .cold { coldLook = look(for: id, referrer) }
            throw .engine(error)
        }
    }

    // MARK: Searching

    /// The index that finds who refers to something; nil while it cannot.
    func readyIndex(of referrer: Referrer) -> Int64? {
        let text = referrer.definition.index.text
        // An index of an earlier definition may be known still, until the tables have this one.
        guard ledger.foldedRev >= referrer.scope.collection.referencesRev,
            let index = referrer.scope.collection.indexes?.all.first(where: { $0.definition.text == text }),
            index.state == .ready
        else { return nil }
        return index.number
    }

    /// Ids of the documents that refer to one, as of now; so many at most.
    private func children(of id: [UInt8], _ referrer: Referrer, limit: Int) throws(DocumentsError) -> [[UInt8]] {
        let scope = referrer.scope
        guard scope.count > 0 else { return [] }
        guard let index = readyIndex(of: referrer) else {
            throw ledger.room.isFoldOutOfSpace
                ? .engine(.noSpace) : .referencesBuilding(collection: scope.name, index: referrer.definition.index.name)
        }
        let key = ReferenceLooks.key(of: id)
        let field = referrer.definition.field
        var found: Set<[UInt8]> = []
        for hash in [key.withBytes { Hash.bytes($0, seed: referrer.seed) }, referrer.seed] {
            collections.claims.forEach(hash) { item in
                guard found.count < limit, item.pointee.scope == scope.id, !item.isTombstone,
                    id.withBytes({ field.isReference(in: StoredValue(item.value), to: $0) })
                else { return }
                found.insert(Array(item.key))
            }
        }
        var children = Array(found)
        do throws(EngineError) {
            try key.withBytes { (key) throws(EngineError) in
                try reader.forEachHolder(of: key, in: index) { holder in
                    guard children.count < limit else { return false }
                    // What memory has a newer version of has been looked at, or refers to it no more.
                    if ledger.find(scope, holder)?.isDirty != true { children.append(Array(holder)) }
                    return true
                }
            }
        } catch {
            if error == .cold { coldLook = look(for: id, referrer) }
            throw .engine(error)
        }
        return children
    }

    private func look(for id: [UInt8], _ referrer: Referrer) -> ColdLook {
        .referring(index: readyIndex(of: referrer) ?? 0, key: ReferenceLooks.key(of: id), scope: referrer.scope.id)
    }
}

/// What deletions in a collection look for in the tables.
public struct ReferenceLooks: Sendable {
    /// The collection's number, and what refers to its documents.
    let scope: UInt32
    /// Where the lists of their attachments are.
    let lists: UInt32?
    let referring: [(index: Int64, scope: UInt32)]

    /// The index key of an id.
    static func key(of id: [UInt8]) -> [UInt8] {
        var quoted = ByteBuffer()
        id.withBytes { quoted.append(idAsJSON: $0) }
        var key = ByteBuffer()
        IndexKey.append(StoredValue(quoted.bytes), to: &key)
        return Array(key.bytes)
    }

    /// Reads in what deleting these documents will look for. On a thread that may wait.
    public func warm(_ tables: TableReader, _ ids: [[UInt8]]) throws(EngineError) {
        for scope in [scope, lists].compactMap(\.self) {
            try tables.warm(documentsOf: scope) { read in
                for id in ids { id.withBytes { read($0) } }
            }
        }
        for (index, scope) in referring {
            for id in ids { try tables.warm(.referring(index: index, key: Self.key(of: id), scope: scope)) }
        }
    }
}
