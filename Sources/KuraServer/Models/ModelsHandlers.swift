import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers `models.*`.
extension ModelsHandlers {
    // MARK: Reading

    static func get(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try get(call, reading: nil, &out, storage)
    }

    /// `reading`: what the request has had read; views point into it.
    private static func get(
        _ call: Call, reading: ModelRead?, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        // Without `waitMs` replies keep their order: it is not answered ahead of what waits.
        if call.attempt.isAhead, call.connection?.state.lines.isUnordered != true, !call.has(ModelsGet.waitMs) {
            throw .waits(.turn)
        }
        let found = storage.models.namespace(call[ModelsGet.namespace])
        let maxAge = call.milliseconds(ModelsGet.maxAgeSeconds)
        guard let view = try look(found, call[ModelsGet.key], maxAge, reading, call, storage) else {
            throw call.wait(for: storage.readModels(found!, [Array(call[ModelsGet.key])])) {
                (call, read: ModelRead, _, out, storage) throws(Refusal) in
                try get(call, reading: read, &out, storage)
            }
        }
        if view.state != .fresh, call[ModelsGet.claim] {
            return try claim(view, found, call, &out, storage)
        }
        out.openObject()
        out.append(view, of: found)
        out.closeObject()
    }

    /// Looks a key up.
    /// - Returns: nil when its value has to be read first.
    private static func look(
        _ namespace: ModelNamespace?, _ key: Bytes, _ maxAge: Int64?, _ reading: ModelRead?, _ call: Call,
        _ storage: isolated Storage
    ) throws(Refusal) -> ModelView? {
        guard let namespace else {
            guard storage.models.isReady else { throw .waits(.answer(storage.awaitModels())) }
            return .miss
        }
        switch storage.models.get(namespace, key, maxAge: maxAge, reading: reading) {
        case .entry(let view):
            try call.refuseUnlessRoom(for: view.value.count)
            return view
        case .cold:
            // Read once more, it would fail once more, as fast as it can.
            guard reading?.isUnavailable != true else {
                throw .error(
                    RPCError(
                        .overloaded, hint: "it cannot be read now: too many files are open, or memory is short"))
            }
            return nil
        case .unknown: throw .waits(.answer(storage.awaitModels()))
        }
    }

    static func getMany(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try getMany(call, reading: nil, &out, storage)
    }

    private static func getMany(
        _ call: Call, reading: ModelRead?, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        let namespace = storage.models.namespace(call[ModelsGetMany.namespace])
        let maxAge = call.milliseconds(ModelsGetMany.maxAgeSeconds)
        let start = out.count
        var cold: [[UInt8]] = []
        out.openObject()
        out.openList(.entries)
        call.memory.scratch.removeAll()
        var isFirst = true
        try call.forEachName(of: ModelsGetMany.keys, limit: WireLimits.getManyItems) { (key) throws(Refusal) in
            guard let view = try look(namespace, key, maxAge, reading, call, storage) else {
                cold.append(Array(key))
                return
            }
            guard view.state != .miss else {
                call.memory.scratch.append(element: key)
                return
            }
            guard isFirst || out.count - start + view.value.count <= call.server.limits.replyBytes else {
                throw .error(RPCError(.replyTooLarge, limit: call.server.limits.replyBytes))
            }
            isFirst = false
            out.openObject()
            out.append(.key, key)
            out.append(view, of: namespace)
            out.closeObject()
        }
        // All that is not in memory is read together, and then everything looked up: it may be another by then.
        if let namespace, !cold.isEmpty {
            throw call.wait(for: storage.readModels(namespace, cold)) {
                (call, read: ModelRead, _, out, storage) throws(Refusal) in
                try getMany(call, reading: read, &out, storage)
            }
        }
        out.closeList()
        out.openList(.missing)
        out.append(call.memory.scratch.bytes)
        out.closeList()
        out.closeObject()
    }

    static func list(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard storage.models.isLoaded else { throw .waits(.answer(storage.awaitModels())) }
        var after = 0
        let page = try call.page(cursor: ModelsList.cursor, of: ModelsList.namespace)
        if let cursor = page.after {
            guard cursor.count == 4 else { throw call.refuseCursor(ModelsList.cursor) }
            after = cursor.withBytes { Int(UInt32(littleEndian: $0.loadUnaligned(as: UInt32.self))) }
        }
        out.openObject()
        out.openList(.entries)
        var next: UInt32?
        if let namespace = storage.models.namespace(call[ModelsList.namespace]) {
            next = storage.models.list(namespace, after: after, limit: Int(call[ModelsList.limit] ?? 100)) {
                key, view, bytes in
                out.openObject()
                out.append(.key, key)
                out.append(.state, word: view.state == .fresh ? "fresh" : "stale")
                out.append(.ageMs, view.age)
                out.append(.bytes, bytes)
                out.closeObject()
            }
        }
        out.closeList()
        if let next {
            var cursor = ByteBuffer(capacity: 4)
            cursor.append(littleEndian: next)
            page.append(cursor: cursor.bytes, to: &out)
        }
        out.closeObject()
    }
}

extension Call {
    /// A parameter in seconds as milliseconds.
    func milliseconds(_ parameter: NumberParameter) -> Int64? { self[parameter].map { $0 * 1000 } }
}

extension ByteBuffer {
    /// The members that tell of an entry.
    mutating func append(_ view: ModelView, of namespace: ModelNamespace?) {
        guard view.state != .miss else {
            append(.state, word: "miss")
            return append(.ageMs, 0)
        }
        // Two literals, each of a known length.
        if view.state == .fresh { append(.state, word: "fresh") } else { append(.state, word: "stale") }
        append(.value, json: view.value)
        if !view.etag.isEmpty { append(.etag, view.etag) }
        append(.ageMs, view.age)
        guard !view.tags.isEmpty, let namespace else { return }
        openList(.tags)
        var position = 0
        while position < view.tags.count {
            append(element: namespace.tagName(view.tags.loadUnaligned(fromByteOffset: position, as: UInt32.self)))
            position += 4
        }
        closeList()
    }

    /// An object of one member.
    mutating func append(only member: FlagMember, _ value: Bool) {
        openObject()
        append(member, value)
        closeObject()
    }

    mutating func append(only member: NumberMember, _ value: Int) {
        openObject()
        append(member, value)
        closeObject()
    }
}
