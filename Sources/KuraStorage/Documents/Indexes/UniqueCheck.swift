import KuraBytes
import KuraJSON

/// Holds documents that are about to be written against the unique indexes of their collection.
///
/// The keys of a new version are looked for where documents are: among the changes that are not folded (`UniqueClaims`), and in the
/// index tables, without waiting. What a table has of a document that memory has a newer version of does not count. So of two who
/// write the same key, whoever is staged first wins. Belongs to the loop.
final class UniqueCheck {
    private let ledger: Ledger
    private let collections: CollectionLedger
    private let reader: DocumentReader
    private var key = ByteBuffer()
    private var otherKey = ByteBuffer()
    private var hashes: [UInt64] = []
    /// What the last `.cold` was about.
    private(set) var coldLook: ColdLook?

    init(ledger: Ledger, _ collections: CollectionLedger, reader: DocumentReader) {
        self.ledger = ledger
        self.collections = collections
        self.reader = reader
    }

    /// Looks whether the new version's keys are free; `claim` then takes them.
    /// `old`: the version that the memory or the tables have.
    /// Throws: `.uniqueViolation`, `.cold` (then `coldLook` says of what), `.unreadable`.
    func check(_ scope: Scope, _ uniques: [UniqueIndex], _ id: Bytes, _ value: Bytes, old: ItemRef?)
        throws(DocumentsError)
    {
        hashes.removeAll(keepingCapacity: true)
        for index in uniques {
            guard let hash = hash(of: value, in: index, scope) else { continue }
            hashes.append(hash)
            // What it has held so far needs no looking at; but an old version that is gone has given its keys up.
            if let old, !old.isTombstone, holdsSameKey(old.value, index) { continue }
            try check(scope, index, hash, id)
        }
    }

    /// What checking a new version will look for in the tables.
    func looks(_ scope: Scope, _ uniques: [UniqueIndex], _ value: Bytes) -> [ColdLook] {
        uniques.compactMap { index in
            guard index.number > 0, hash(of: value, in: index, scope) != nil else { return nil }
            return .index(index.number, key: Array(key.bytes))
        }
    }

    /// The same without looking: what the log has was free.
    func prepare(_ scope: Scope, _ uniques: [UniqueIndex], _ value: Bytes) {
        hashes.removeAll(keepingCapacity: true)
        for index in uniques {
            if let hash = hash(of: value, in: index, scope) { hashes.append(hash) }
        }
    }

    /// The change holds the keys that were looked at last.
    func claim(_ item: ItemRef) {
        for hash in hashes { collections.claims.add(item, hash) }
        hashes.removeAll(keepingCapacity: true)
    }

    /// The hash of the document's key, which is left in `key`; nil when the index does not hold it to anything.
    private func hash(of value: Bytes, in index: UniqueIndex, _ scope: Scope) -> UInt64? {
        key.removeAll()
        let document = StoredValue(value)
        guard index.definition.covers(document), index.definition.appendKey(of: document, to: &key) else { return nil }
        return Hash.bytes(key.bytes, seed: index.seed &+ UInt64(scope.id))
    }

    private func holdsSameKey(_ value: Bytes, _ index: UniqueIndex) -> Bool {
        otherKey.removeAll()
        let document = StoredValue(value)
        return index.definition.covers(document) && index.definition.appendKey(of: document, to: &otherKey)
            && otherKey.bytes.equals(key.bytes)
    }

    private func check(_ scope: Scope, _ index: UniqueIndex, _ hash: UInt64, _ id: Bytes) throws(DocumentsError) {
        let holder = collections.claims.holders(hash) { item in
            item.pointee.scope == scope.id && !item.key.equals(id) && holdsSameKey(item.value, index)
        }
        if let holder { throw violation(index, holder.key, holder.pointee.rev) }
        guard index.number > 0 else { return }
        let found: (id: [UInt8], rev: UInt64)?
        do throws(EngineError) {
            found = try reader.holder(of: key.bytes, in: index.number) { holder in
                // A newer version is in memory: it has been looked at, or holds the key no more.
                !holder.equals(id) && ledger.find(scope, holder)?.isDirty != true
            }
        } catch {
            if error == .cold { coldLook = .index(index.number, key: Array(key.bytes)) }
            throw .engine(error)
        }
        if let found {
            throw .uniqueViolation(UniqueViolation(index: index.definition.name, id: found.id, rev: found.rev))
        }
    }

    private func violation(_ index: UniqueIndex, _ id: Bytes, _ rev: UInt64) -> DocumentsError {
        .uniqueViolation(UniqueViolation(index: index.definition.name, id: Array(id), rev: rev))
    }
}

/// A document was not written: another one has the key in a unique index.
public struct UniqueViolation: Equatable, Sendable {
    /// The index's name.
    public var index: [UInt8]
    /// The other document.
    public var id: [UInt8]
    /// The other document's revision: what tells of it may only leave when that is synced.
    public var rev: UInt64
}
