import Glibc
public import KuraBytes
import KuraJSON

/// Documents: JSON values by collection and id, never lost and never purged by themselves.
///
/// A read asks memory (changes that are not folded, then the cache), then the tables. A write looks the old document up
/// first: its revision for the condition, its version, the time of its creation and its row. Belongs to the loop.
public final class DocumentsStore {
    let ledger: Ledger
    let reader: DocumentReader
    /// What a change makes of a document.
    private var changed = ByteBuffer()
    /// The members in which it differs.
    private var members = ByteBuffer()
    /// What is left of a document that loses a reference.
    var idRemoval = IDRemoval()
    private var referenceKey = ByteBuffer()

    public static let valueLimit = 8 << 20

    let uniques: UniqueCheck
    let collections: CollectionLedger
    /// Documents looked up by their ids that memory knew of, and for which the tables were asked.
    private(set) var hits: UInt64 = 0
    private(set) var misses: UInt64 = 0

    /// Holds a document of a collection, which a deletion changes, against what that is configured to be.
    /// - Returns: where it breaks that, as a JSON pointer, and how; nil when it does not.
    public var judge: Judge?
    public typealias Judge = (_ store: DocumentsStore, _ collection: Bytes, _ value: Bytes) -> (
        pointer: String, message: String
    )?

    init(ledger: Ledger, reader: DocumentReader) {
        self.ledger = ledger
        self.reader = reader
        collections = ledger.part(CollectionLedger.self)
        uniques = UniqueCheck(ledger: ledger, collections, reader: reader)
    }

    /// What the last `.cold` was about; the page warmer reads it in, or `TableReader.warm`.
    public internal(set) var coldLook: ColdLook?

    // MARK: Reading

    /// - Throws: `.cold`, `.unreadable`.
    public func get(_ collection: Bytes, _ id: Bytes) throws(EngineError) -> Lookup {
        guard let scope = ledger.scopes.find(.documents, collection), let item = try find(scope, id) else {
            return Lookup(item: nil, shownRev: ledger.dropRev)
        }
        ledger.markRead(item)
        return Lookup(
            item: item.isTombstone ? nil : StoredItem(item), shownRev: item.pointee.rev, isRelaxed: item.isRelaxed)
    }

    /// A walk over the collection's documents, for `Storage.submit` or a `TableReader`; nil when there is no such collection.
    /// `after`: the id behind which it starts, in the order of ids.
    public func walk(
        _ collection: Bytes, in order: DocumentWalk.Order, after: [UInt8] = [],
        _ visit: @escaping (DocumentWalk.Row) -> Bool
    ) -> DocumentWalk? {
        guard let scope = ledger.scopes.used(.documents, collection) else { return nil }
        return DocumentWalk(scope, order: order, after: after, visit)
    }

    /// The document's versions, for `Storage.read`: none newer than `upTo`, of those the newest `most`, and `mostBytes` of their values
    /// together, the newest in any case. With `values` the values come along.
    /// Throws: `.cold`, `.unreadable`.
    public func versions(
        _ collection: Bytes, _ id: Bytes, upTo: UInt64, most: Int, mostBytes: Int, values: Bool
    ) throws(EngineError) -> ItemVersions {
        let item = try ledger.scopes.find(.documents, collection).flatMap { (scope) throws(EngineError) in
            try find(scope, id)
        }
        if let item, item.pointee.rev > ledger.committedRev {
            // The log has it after this turn.
            coldLook = .several([])
            throw .cold
        }
        let current = item.flatMap { item in
            item.isTombstone || item.pointee.rev > upTo
                ? nil
                : ItemVersions.Version(
                    rev: item.pointee.rev, at: item.pointee.updatedAt, isDeleted: false, client: [], members: nil,
                    value: values ? Array(item.value) : nil, bytes: item.value.count, ordinal: 0)
        }
        return ItemVersions(
            ItemVersions.Wanted(
                store: .documents, scope: Array(collection), key: Array(id),
                count: Int(item?.pointee.version ?? 0),
                upTo: upTo, most: most, mostBytes: mostBytes, values: values, current: current,
                row: item.flatMap { ledger.keepsHistory($0.pointee.scope) ? $0.pointee.row : nil }))
    }

    /// What the collection's migrations make of a value that a document had as of a revision; nil when they leave it as it is.
    /// Throws: `.migrating`.
    public func migrated(_ collection: Bytes, _ value: Bytes, of rev: UInt64) throws(DocumentsError) -> Bytes? {
        try ledger.scopes.find(.documents, collection)?.collection.migrations?.migrated(value, rev: rev)
    }

    public func count(_ collection: Bytes) -> (count: Int, shownRev: UInt64) {
        guard let scope = ledger.scopes.find(.documents, collection) else { return (0, 0) }
        return (scope.count, scope.lastRev)
    }

    /// Which of the collections is meant that have had this name, one after the other; 0 when there is none now.
    public func incarnation(_ collection: Bytes) -> UInt32 { ledger.scopes.find(.documents, collection)?.id ?? 0 }

    public func scopes() -> [ScopeSummary] {
        let lists = ledger.summaries(.attachments)
        guard lists.contains(where: { $0.count > 0 }) else { return ledger.summaries(.documents) }
        let bytes = Dictionary(lists.map { ($0.name, $0.bytes) }) { first, _ in first }
        return ledger.summaries(.documents).map { scope in
            var scope = scope
            scope.attachmentBytes = bytes[scope.name] ?? 0
            return scope
        }
    }

    /// The collection's indexes, as they are configured now and built so far; nil when it never had any.
    public func indexes(_ collection: Bytes) -> CollectionIndexes? {
        ledger.scopes.find(.documents, collection)?.collection.indexes
    }

    /// No index of the collection is being built, that of its search included, and no document waits to be migrated.
    public func isSettled(_ collection: Bytes) -> Bool {
        guard let scope = ledger.scopes.find(.documents, collection) else { return true }
        return scope.collection.indexes?.isSettled ?? true && scope.collection.search.current?.isReady ?? true
            && !(scope.collection.migrations?.isRunning ?? false)
    }

    /// Whether the index of this name is being built.
    func isBuilding(_ collection: [UInt8], _ index: [UInt8]) -> Bool {
        let indexes = collection.withBytes { ledger.scopes.find(.documents, $0) }?.collection.indexes?.all ?? []
        return indexes.contains { $0.state == .building && $0.definition.name == index }
    }

    /// What is configured for the collection, as its readers have made it out; nil when nothing is.
    public func annex(_ collection: Bytes) -> ScopeAnnex? { ledger.scopes.find(.documents, collection)?.annex }

    /// The collection's size: documents, bytes of their values, and rows, which deleted ones have as well.
    public func numbers(_ collection: Bytes) -> (count: Int, bytes: Int, rows: Int)? {
        guard let scope = ledger.scopes.find(.documents, collection) else { return nil }
        return (scope.count, scope.bytes, scope.rows.given)
    }

    /// Counts the collection's tombstones, for `Storage.submit`; nil when there is no such collection.
    public func tombstones(_ collection: Bytes) -> TombstoneCount? {
        ledger.scopes.find(.documents, collection).map {
            TombstoneCount($0, foldedTo: ledger.scopes.newestRev($0))
        }
    }

    func find(_ scope: Scope, _ id: Bytes) throws(EngineError) -> ItemRef? {
        if let item = ledger.find(scope, id) {
            guard item.isTombstone, item.pointee.updatedAt < scope.rows.purgedBefore, !item.isDirty else {
                hits &+= 1
                return item
            }
            // The tables have forgotten it.
            ledger.letGo(clean: item)
        }
        guard scope.rows.mayExist else { return nil }
        do throws(EngineError) {
            let found = try reader.find(scope: scope.id, id: id)
            misses &+= 1
            guard let item = found else { return nil }
            item.pointee.store = scope.store
            ledger.adopt(clean: item)
            return item
        } catch {
            if error == .cold { coldLook = .document(scope: scope.id, id: Array(id)) }
            throw error
        }
    }

    // MARK: Writing

    /// What a change finds in the document's place, held against its condition. `scope`: nil when nothing can be there.
    /// `once`: the transaction must not have changed it yet.
    func existing(
        _ scope: Scope?, _ id: Bytes, _ ifRev: Precondition = nil, once: Bool = false
    ) throws(DocumentsError) -> ItemRef? {
        do throws(EngineError) {
            var item: ItemRef?
            if let scope { item = try find(scope, id) }
            if once { try ledger.checkOnce(item) }
            try ledger.check(ifRev, item)
            return item
        } catch { throw .engine(error) }
    }

    /// `id`: nil for a new UUIDv7, which `identifier` then receives.
    /// `value`: JSON text without white space between its tokens.
    public func put(
        _ collection: Bytes, _ id: Bytes, _ value: Bytes, isNewID: Bool, ifRev: Precondition, by author: Author
    ) throws(DocumentsError) -> WriteResult {
        let scope = ledger.scopes.findOrPrepare(.documents, collection)
        let rev = try ledger.transaction(by: author) { () throws(DocumentsError) in
            try stage(scope, id, value, isNewID: isNewID, ifRev: ifRev)
        }
        return WriteResult(rev: rev ?? 0, changed: 1, isRelaxed: ledger.isRelaxed(scope))
    }

    /// A transaction over one collection: all or nothing, one revision.
    public func putMany(
        _ collection: Bytes, by author: Author, _ body: (Batch) throws(DocumentsError) -> Void
    ) throws(DocumentsError) -> WriteResult {
        let scope = ledger.scopes.findOrPrepare(.documents, collection)
        let batch = Batch(store: self, scope: scope)
        let rev = try ledger.transaction(by: author) { () throws(DocumentsError) in
            try body(batch)
            try finish(&batch.effects)
        }
        if rev == nil { ledger.countNoOp(.documents, by: author) }
        // A batch that stages nothing was empty: who asks for nothing is not told when the collection changed last.
        return WriteResult(
            rev: rev ?? ledger.rev, changed: batch.changed, isRelaxed: rev != nil && ledger.isRelaxed(scope),
            cascaded: batch.effects.cascaded, nullified: batch.effects.nullified)
    }

    public final class Batch {
        let store: DocumentsStore
        let scope: Scope
        fileprivate var changed = 0
        fileprivate var effects = DeletionEffects()
        /// Ids that are to be deleted and were not there.
        private var absent: Set<[UInt8]> = []

        init(store: DocumentsStore, scope: Scope) {
            self.store = store
            self.scope = scope
        }

        /// - Throws: `.duplicate` when the id came before in this batch.
        public func put(_ id: Bytes, _ value: Bytes, isNewID: Bool, ifRev: Precondition) throws(DocumentsError) {
            if let item = store.ledger.find(scope, id), item.pointee.rev > store.ledger.rev {
                throw .engine(.duplicate(index: changed))
            }
            try store.stage(scope, id, value, isNewID: isNewID, ifRev: ifRev)
            changed += 1
        }

        /// Deletes a document; one that is not there is passed over.
        /// - Returns: whether it was there.
        /// - Throws: `.duplicate` when the id came before in this batch.
        public func delete(_ id: Bytes) throws(DocumentsError) -> Bool {
            let old = try store.existing(scope, id)
            // What has gone with another one was there.
            if effects.hasCascaded(scope, id) {
                effects.takeOver(scope, id)
                changed += 1
                return true
            }
            if let old, old.pointee.rev > store.ledger.rev { throw .engine(.duplicate(index: changed)) }
            guard let old, !old.isTombstone else {
                guard absent.insert(Array(id)).inserted else { throw .engine(.duplicate(index: changed)) }
                return false
            }
            try store.remove(scope, id, old, &effects)
            changed += 1
            return true
        }

        /// Deletes a document that a query has found, unless it has changed since so that it would not be found any more.
        /// - Parameters:
        ///   - id: the document's.
        ///   - rev: the revision that the query has seen.
        ///   - matches: judges the value of one that has another revision now.
        /// - Returns: whether it was deleted by this.
        /// - Throws: what `remove` throws, and what `matches` does.
        public func delete(
            _ id: Bytes, seenAt rev: UInt64, orIf matches: (Bytes) throws(DocumentsError) -> Bool
        ) throws(DocumentsError) -> Bool {
            guard let old = try store.existing(scope, id) else { return false }
            if effects.hasCascaded(scope, id) { return try delete(id) }
            guard !old.isTombstone else { return false }
            if old.pointee.rev != rev, try !matches(old.value) { return false }
            return try delete(id)
        }
    }

    public func delete(
        _ collection: Bytes, _ id: Bytes, ifRev: Precondition, by author: Author
    ) throws(DocumentsError) -> WriteResult {
        let scope = ledger.scopes.find(.documents, collection)
        let old = try existing(scope, id, ifRev, once: true)
        guard let scope, let old, !old.isTombstone else {
            ledger.countNoOp(.documents, by: author)
            return WriteResult(rev: old?.pointee.rev ?? 0, changed: 0, isRelaxed: old?.isRelaxed ?? false)
        }
        var effects = DeletionEffects()
        let rev = try ledger.transaction(by: author) { () throws(DocumentsError) in
            try remove(scope, id, old, &effects)
            try finish(&effects)
        }
        return WriteResult(
            rev: rev ?? 0, changed: 1, isRelaxed: ledger.isRelaxed(scope), cascaded: effects.cascaded,
            nullified: effects.nullified)
    }

    /// Writes what `body` makes of a document's value: it appends it, and may refuse. Nothing is written when it appends
    /// what is there.
    /// - Throws: `.absent` when there is no such document.
    public func change(
        _ collection: Bytes, _ id: Bytes, ifRev: Precondition, by author: Author,
        _ body: (Bytes, inout ByteBuffer) throws(DocumentsError) -> Void
    ) throws(DocumentsError) -> WriteResult {
        let scope = ledger.scopes.find(.documents, collection)
        let old = try existing(scope, id, ifRev, once: true)
        guard let scope, let old, !old.isTombstone else { throw .absent(shownRev: old?.pointee.rev ?? 0) }
        changed.removeAll()
        defer { if changed.capacity > 64 << 10 { changed.releaseMemory() } }
        // A change is made of what the document is to be, and its new revision says that it is.
        try body(try scope.collection.migrations?.migrated(old.value, rev: old.pointee.rev) ?? old.value, &changed)
        guard !changed.bytes.equals(old.value) else {
            ledger.countNoOp(.documents, by: author)
            return WriteResult(rev: old.pointee.rev, changed: 0, isRelaxed: old.isRelaxed)
        }
        let rev = try ledger.transaction(by: author) { () throws(DocumentsError) in
            try stage(scope, id, changed.bytes, old: old)
        }
        return WriteResult(rev: rev ?? 0, changed: 1, isRelaxed: ledger.isRelaxed(scope))
    }

    /// Brings back the last value of a document that was deleted.
    /// `admits`: may refuse the value.
    /// - Throws: `.absent` when nothing is left of it, and what `admits` throws. A document that is there stays as it is.
    public func restore(
        _ collection: Bytes, _ id: Bytes, by author: Author,
        admits: (Bytes) throws(DocumentsError) -> Void = { (_) throws(DocumentsError) in }
    ) throws(DocumentsError) -> WriteResult {
        guard let scope = ledger.scopes.find(.documents, collection), let old = try existing(scope, id, once: true)
        else { throw .absent(shownRev: 0) }
        guard old.isTombstone else {
            ledger.countNoOp(.documents, by: author)
            return WriteResult(rev: old.pointee.rev, changed: 0, isRelaxed: old.isRelaxed)
        }
        guard !old.value.elementsEqual(Self.givenUp) else { throw .absent(shownRev: old.pointee.rev) }
        let rev = try ledger.transaction(by: author) { () throws(DocumentsError) in
            let deletedAt = old.pointee.rev
            let value = try scope.collection.migrations?.migrated(old.value, rev: deletedAt) ?? old.value
            try admits(value)
            try stage(scope, id, value, old: old)
            do throws(EngineError) {
                try stageRestoration(ofAttachmentsOf: scope, id, deletedAt: deletedAt)
            } catch { throw .engine(error) }
        }
        return WriteResult(rev: rev ?? 0, changed: 1, isRelaxed: ledger.isRelaxed(scope))
    }

    private func stage(_ scope: Scope, _ id: Bytes, _ value: Bytes, isNewID: Bool, ifRev: Precondition)
        throws(DocumentsError)
    {
        guard value.count <= Self.valueLimit else { throw .engine(.valueTooLarge(limit: Self.valueLimit)) }
        let old = try existing(isNewID ? nil : scope, id, ifRev)
        try stage(scope, id, value, old: old)
        guard let old, old.isTombstone else { return }
        do throws(EngineError) { try dropAttachments(ofDeleted: scope, id) } catch { throw .engine(error) }
    }

    /// The one place where a document's new value is staged.
    func stage(_ scope: Scope, _ id: Bytes, _ value: Bytes, old: ItemRef?) throws(DocumentsError) {
        guard value.count <= Self.valueLimit else { throw .engine(.valueTooLarge(limit: Self.valueLimit)) }
        let unique = scope.collection.indexes?.uniques ?? []
        if !unique.isEmpty { try check(unique, scope, id, value, old) }
        do throws(EngineError) {
            try ledger.stage(
                scope, key: id, value: value, members: listMembers(scope, value, old), isTombstone: false, old: old,
                oldBytes: Self.size(old), newBytes: value.count
            ) { item in
                if let old { Self.succeed(item, old) } else { item.pointee.row = scope.rows.take() }
                if !unique.isEmpty { uniques.claim(item) }
                if !scope.collection.references.isEmpty { collections.claimReferences(item, scope, &referenceKey) }
            }
        } catch { throw .engine(error) }
    }

    /// The members in which the value differs from the document's last one; nil where all may, since there was none or it was not migrated yet.
    private func listMembers(_ scope: Scope, _ value: Bytes, _ old: ItemRef?) -> ChangedMembers? {
        guard let old, !old.isTombstone, scope.collection.migrations?.isRunning != true else { return nil }
        members.removeAll()
        return ChangedMembers.append(from: old.value, to: value, into: &members) ? ChangedMembers(members.bytes) : nil
    }

    private func check(_ unique: [UniqueIndex], _ scope: Scope, _ id: Bytes, _ value: Bytes, _ old: ItemRef?)
        throws(DocumentsError)
    {
        do throws(DocumentsError) { try uniques.check(scope, unique, id, value, old: old) } catch {
            if error == .engine(.cold) { coldLook = uniques.coldLook }
            throw error
        }
    }

    static func size(_ item: ItemRef?) -> Int {
        item.map { $0.isTombstone ? 0 : $0.value.count } ?? 0
    }

    static func listSize(_ item: ItemRef?) -> Int {
        item.map { $0.isTombstone ? 0 : AttachmentList.totalBytes($0.value) } ?? 0
    }

    /// A new version of a document keeps its row and its birth, unless it had been deleted.
    static func succeed(_ item: ItemRef, _ old: ItemRef) {
        item.pointee.row = old.pointee.row
        // At its end it stays: 0 would be a document that the tables do not have yet.
        item.pointee.version = max(old.pointee.version &+ 1, old.pointee.version)
        if !old.isTombstone || item.isTombstone { item.pointee.createdAt = old.pointee.createdAt }
    }
}
