import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// The documents that a reply brings along because others of it refer to them, each once.
final class Expansion: @unchecked Sendable {
    // Safety: has one user at a time: a reader thread while its page is made, else the loop.

    /// Documents that are brought along at most.
    static let limit = WireLimits.getManyItems

    /// Their collections, and their ids in the order in which they came up.
    let collections: [[UInt8]]
    private(set) var ids: [[[UInt8]]]
    private let fields: [(path: FieldPath, collection: Int)]
    private var known: [Set<[UInt8]>]
    private var count = 0
    /// One document alone refers to too many.
    var isOver = false

    init(_ references: [ReferenceDefinition]) {
        var collections: [[UInt8]] = []
        fields = references.map { reference in
            if !collections.contains(reference.collection) { collections.append(reference.collection) }
            return (reference.field, collections.firstIndex(of: reference.collection) ?? 0)
        }
        self.collections = collections
        ids = Array(repeating: [], count: collections.count)
        known = Array(repeating: [], count: collections.count)
    }

    func removeAll() {
        ids = Array(repeating: [], count: collections.count)
        known = Array(repeating: [], count: collections.count)
        (count, isOver) = (0, false)
    }

    /// Takes note of what a document refers to.
    /// - Returns: false when that is too many, together with what there is; then nothing is noted.
    func note(_ document: StoredValue) -> Bool {
        var new: [(collection: Int, id: [UInt8])] = []
        var seen = known
        for field in fields {
            for text in field.path.ids(in: document, limit: Self.limit + 1) {
                let id = ResolvedText.bytes(text.quoted)
                guard id.withBytes({ JSONWalk.isName($0, limit: WireLimits.keyBytes) }),
                    seen[field.collection].insert(id).inserted
                else { continue }
                new.append((field.collection, id))
            }
        }
        guard count + new.count <= Self.limit else { return false }
        known = seen
        count += new.count
        for (collection, id) in new { ids[collection].append(id) }
        return true
    }

    static var tooMany: Refusal {
        .error(RPCError(.replyTooLarge, hint: "more documents than `limit` are referred to", limit: limit))
    }
}

extension Call {
    /// What a request wants brought along; nil when nothing.
    /// - Throws: `invalidParams` naming the path that is no reference, `forbidden` for who may not read what it refers to.
    func expansion(_ parameter: JSONParameter, _ storage: isolated Storage) throws(Refusal) -> Expansion? {
        guard has(parameter) else { return nil }
        let known = storage.documents.references(self[InDocuments.collection])
        var wanted: [ReferenceDefinition] = []
        for (position, path) in try paths(parameter).enumerated() {
            guard let reference = known.first(where: { $0.field == path }) else {
                throw refusal(parameter, path: "/\(position)", "no reference is configured for this field")
            }
            try demand(.read, of: reference.collection)
            wanted.append(reference)
        }
        return Expansion(wanted)
    }

    /// Appends the members of `expanded`, from where the reply has come to, and closes it.
    /// `first`: elements of the reply before these. `basis`: what the reply was begun with.
    func append(
        _ expansion: Expansion, after first: Int, basis: AnyObject?, _ reply: inout GatheredReply,
        to out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        var position = 0
        for (collection, ids) in zip(expansion.collections, expansion.ids) where !ids.isEmpty {
            for (index, id) in ids.enumerated() {
                position += 1
                if position <= reply.state.done - first { continue }
                try reply.checkTime(out.count, aside: memory.scratch, self)
                let found = try find(collection, id, &reply, out.count, storage)
                try reply.checkMoment(found.shownRev, basis: basis, &out, self, storage)
                shows(found.shownRev)
                try reply.checkRoom(for: found.item?.value.count ?? 0, out.count, self)
                if index == 0 {
                    collection.withBytes { out.append(key: $0) }
                    out.openObject()
                }
                id.withBytes { out.append(key: $0) }
                out.openObject()
                out.append(content: found.item?.value, rev: found.item?.rev ?? 0)
                out.closeObject()
                if index == ids.count - 1 { out.closeObject() }
                reply.advance(found.item?.value.count ?? 0)
            }
        }
        out.closeObject()
    }

    private func find(
        _ collection: [UInt8], _ id: [UInt8], _ reply: inout GatheredReply, _ end: Int, _ storage: isolated Storage
    ) throws(Refusal) -> Lookup {
        do throws(EngineError) {
            return try collection.withBytes { (collection) throws(EngineError) in
                try id.withBytes { (id) throws(EngineError) in try storage.documents.get(collection, id) }
            }
        } catch {
            // What came before is not looked for again.
            reply.keepWhatThereIs(end, aside: memory.scratch, self)
            throw Refusal(error, call: self)
        }
    }
}
