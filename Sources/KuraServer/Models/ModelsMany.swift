import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers what puts and deletes many entries of the model cache at once.
extension ModelsHandlers {
    /// All entries are looked at before the first one is stored.
    static func putMany(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let reader = ModelEntryReader()
        var keys: Set<[UInt8]> = []
        try reader.forEach(call) { (entry, index) throws(Refusal) in
            guard keys.insert(Array(entry.key)).inserted else {
                throw .error(
                    call.error(
                        RPCError(.invalidParams, hint: "a key is there twice"), in: ModelsPutMany.entries, index, "key")
                )
            }
        }
        let namespace = try call.namespace(storage)
        try call.keepTurn()
        var (new, more) = (0, 0)
        try reader.forEach(call) { (entry, _) throws(Refusal) in
            let bytes = entry.etag.count + entry.value.count + (entry.tags.isEmpty ? 0 : WireLimits.tags * 4)
            let (needed, isNew) = storage.models.more(
                namespace, entry.key, bytes: bytes, ifAbsent: call[ModelsPutMany.ifAbsent])
            more += needed
            new += isNew ? 1 : 0
        }
        // Nothing is stored before there is room for all: it is begun again meanwhile.
        guard storage.models.prepare(namespace, entries: new, more: more) else { throw .waits(.turn) }
        var stored = 0
        call.memory.scratch.removeAll()
        try reader.forEach(call) { (entry, _) throws(Refusal) in
            let outcome = try put(entry, reader, namespace, call, storage)
            guard outcome != .stored else {
                stored += 1
                return
            }
            call.memory.scratch.openObject()
            call.memory.scratch.append(.key, entry.key)
            call.memory.scratch.append(.reason, word: outcome?.reason ?? "quotaExceeded")
            call.memory.scratch.closeObject()
        }
        out.openObject()
        out.append(.stored, stored)
        out.openList(.declined)
        out.append(call.memory.scratch.bytes)
        out.closeList()
        out.closeObject()
    }

    /// - Returns: nil when a quota has no room for it.
    private static func put(
        _ entry: ModelEntry, _ reader: ModelEntryReader, _ namespace: ModelNamespace, _ call: Call,
        _ storage: isolated Storage
    ) throws(Refusal) -> ModelStored? {
        call.memory.otherScratch.removeAll()
        var hasTags = true
        if !entry.tags.isEmpty {
            reader.forEachTag(entry.tags) { name in
                guard let tag = namespace.tag(name) else { return hasTags = false }
                call.memory.otherScratch.append(littleEndian: tag)
            }
        }
        var outcome: ModelStored?
        if hasTags {
            do throws(EngineError) {
                repeat {
                    outcome = try storage.models.put(
                        namespace, entry.key, entry.value, call.lifetime(2), etag: entry.etag,
                        tags: call.memory.otherScratch.bytes,
                        ifAbsent: call[ModelsPutMany.ifAbsent], by: call.author(storage))
                } while outcome == .makingRoom
            } catch {
                guard case .accountFull = error else { throw Refusal(error, call: call) }
            }
        }
        // The value has come, whether it is stored or not.
        if !storage.caches.claims.isIdle {
            ModelsHandlers.settle(
                ModelsHandlers.subject(namespace, entry.key), .fresh, entry.value, etag: entry.etag, tags: entry.tags,
                call, storage)
        }
        return outcome
    }

    static func deleteMany(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.awaitLoading(storage)
        try call.forEachName(of: ModelsDeleteMany.keys, limit: WireLimits.getManyItems) { _ in }
        try call.keepTurn()
        var deleted = 0
        if let namespace = storage.models.namespace(call[ModelsDeleteMany.namespace]) {
            try call.forEachName(of: ModelsDeleteMany.keys, limit: WireLimits.getManyItems) { (key) throws(Refusal) in
                if ModelsHandlers.delete(key, in: namespace, isLogical: call[ModelsDeleteMany.logical], storage) {
                    deleted += 1
                }
            }
        }
        out.append(only: .deleted, deleted)
    }
}

extension ModelStored {
    /// Why it is not cached, as the wire calls it; nil when it is.
    var reason: StaticString? {
        switch self {
        case .stored: nil
        case .exists: "exists"
        case .overBudget: "overBudget"
        case .lowStorage: "lowStorage"
        case .makingRoom: "busy"
        }
    }
}

/// One element of `models.putMany`, good until the next one is read.
struct ModelEntry {
    var key = Bytes()
    var value = Bytes()
    var etag = Bytes()
    /// A list's JSON text; empty for none.
    var tags = Bytes()
}

/// Reads the elements of `models.putMany`.
struct ModelEntryReader {
    // Each keeps what it has resolved escapes into.
    private let list = WalkStorage()
    private let members = WalkStorage()
    private let keys = WalkStorage()
    private let etags = WalkStorage()
    private let tags = WalkStorage()

    /// Calls `body` with each entry and its position.
    /// - Throws: what is wrong with one, naming its place.
    func forEach(_ call: Call, _ body: (ModelEntry, Int) throws(Refusal) -> Void) throws(Refusal) {
        var walk = JSONWalk(call[ModelsPutMany.entries], storage: list)
        var index = 0
        while let element = walk.nextElement() {
            guard index < WireLimits.getManyItems else {
                throw .error(
                    RPCError(
                        .invalidParams, hint: "too many entries", parameter: call.name(ModelsPutMany.entries),
                        limit: WireLimits.getManyItems))
            }
            try body(try entry(element, index, call), index)
            index += 1
        }
    }

    private func entry(_ element: Bytes, _ index: Int, _ call: Call) throws(Refusal) -> ModelEntry {
        func fault(_ hint: StaticString, _ member: StaticString? = nil) -> Refusal {
            .error(call.error(RPCError(.invalidParams, hint: hint), in: ModelsPutMany.entries, index, member))
        }
        guard element.first == UInt8(ascii: "{") else {
            throw fault("an entry is an object with key, value, etag and tags")
        }
        var entry = ModelEntry()
        var walk = JSONWalk(element, storage: members)
        while let (name, text) = walk.nextMember() {
            if name.equals("key") {
                guard let key = JSONWalk.string(text, storage: keys), JSONWalk.isName(key, limit: WireLimits.keyBytes)
                else { throw fault("a key is a string of 1 to 512 bytes without control characters", "key") }
                entry.key = key
            } else if name.equals("value") {
                guard text.count <= ModelsStore.valueLimit else {
                    throw .error(
                        call.error(
                            RPCError(.valueTooLarge, limit: ModelsStore.valueLimit), in: ModelsPutMany.entries, index,
                            "value"))
                }
                entry.value = text
            } else if name.equals("etag") {
                guard let etag = JSONWalk.string(text, storage: etags),
                    JSONWalk.isName(etag, limit: WireLimits.etagBytes)
                else { throw fault("an etag is a string of 1 to 512 bytes without control characters", "etag") }
                entry.etag = etag
            } else if name.equals("tags") {
                var (count, areNames) = (0, text.first == UInt8(ascii: "["))
                if areNames {
                    forEachTag(text) {
                        count += 1
                        if !JSONWalk.isName($0, limit: WireLimits.tagBytes) { areNames = false }
                    }
                }
                guard areNames, count <= WireLimits.tags else {
                    throw fault("tags are at most 16 strings of 1 to 128 bytes without control characters", "tags")
                }
                entry.tags = text
            } else {
                throw .error(
                    call.error(
                        RPCError(.invalidParams, hint: "members of an entry are key, value, etag and tags"),
                        in: ModelsPutMany.entries,
                        index, member: Array(name)))
            }
        }
        guard !entry.key.isEmpty, !entry.value.isEmpty else { throw fault("an entry has a key and a value") }
        return entry
    }

    /// Calls `body` with each tag of a list; with an empty name for what is no string.
    func forEachTag(_ list: Bytes, _ body: (Bytes) -> Void) {
        var walk = JSONWalk(list, storage: tags)
        while let element = walk.nextElement() { body(JSONWalk.string(element, storage: tags) ?? Bytes()) }
    }
}

extension Call {
    fileprivate func error(_ error: RPCError, in parameter: some Parameter, _ index: Int, _ member: StaticString?)
        -> RPCError
    {
        self.error(error, in: parameter, index, member: member.map { Array(Bytes($0)) })
    }
}
