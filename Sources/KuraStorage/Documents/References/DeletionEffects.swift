import KuraBytes

/// What a call deletes besides what it names, and what it changes for it.
///
/// Changes are gathered and written once at the call's end, since a transaction changes a document once; so are the documents that
/// nobody may refer to asked about then, when everything that the call deletes is gone.
struct DeletionEffects {
    struct Key: Hashable {
        var scope: UInt32
        var id: [UInt8]
    }
    /// Documents deleted because they referred to others that were.
    private(set) var cascaded = 0
    /// Documents that have lost a reference.
    var nullified: Int { rewritten.count }
    /// What becomes of the documents that lose a reference.
    private(set) var rewritten: [Key: [UInt8]] = [:]
    private var order: [(scope: Scope, id: [UInt8])] = []
    private var deleted: Set<Key> = []
    /// Documents that have been deleted although somebody may refer to them.
    private(set) var questions: [(referrer: Referrer, target: Scope, id: [UInt8])] = []
    private var bytes = 0

    /// Documents that may be deleted or changed along with others, and bytes of their values.
    static let limit = 5000
    static let byteLimit = 64 << 20

    var left: Int { Self.limit - cascaded - rewritten.count }

    /// - Throws: `.tooManyDocuments`.
    mutating func noteCascade(_ scope: Scope, _ id: [UInt8], bytes count: Int) throws(DocumentsError) {
        let key = Key(scope: scope.id, id: id)
        rewritten[key] = nil
        guard left > 0, bytes + count <= Self.byteLimit else { throw .tooManyDocuments(limit: Self.limit) }
        bytes += count
        cascaded += 1
        deleted.insert(key)
    }

    /// Whether the document went with another one of this call.
    func hasCascaded(_ scope: Scope, _ id: Bytes) -> Bool {
        !deleted.isEmpty && deleted.contains(Key(scope: scope.id, id: Array(id)))
    }

    /// It is one that the call names itself.
    mutating func takeOver(_ scope: Scope, _ id: Bytes) {
        deleted.remove(Key(scope: scope.id, id: Array(id)))
        cascaded -= 1
    }

    /// - Throws: `.tooManyDocuments`.
    mutating func noteChange(_ scope: Scope, _ id: [UInt8], _ value: Bytes) throws(DocumentsError) {
        let key = Key(scope: scope.id, id: id)
        if rewritten[key] == nil {
            guard left > 0, bytes + value.count <= Self.byteLimit else {
                throw .tooManyDocuments(limit: Self.limit)
            }
            bytes += value.count
            order.append((scope, id))
        }
        rewritten[key] = Array(value)
    }

    mutating func ask(_ referrer: Referrer, about id: [UInt8], of target: Scope) {
        questions.append((referrer, target, id))
    }

    /// Forgets a change of a document that is being deleted by name.
    mutating func forgetChange(_ scope: Scope, _ id: Bytes) {
        guard !rewritten.isEmpty else { return }
        rewritten[Key(scope: scope.id, id: Array(id))] = nil
    }

    /// The changes in the order in which they came up.
    func forEachChange(_ body: (Scope, [UInt8], [UInt8]) throws(DocumentsError) -> Void) throws(DocumentsError) {
        for (scope, id) in order {
            if let value = rewritten[Key(scope: scope.id, id: id)] { try body(scope, id, value) }
        }
    }
}
