import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers what changes the model cache. None of it is in the log, so none of it is undone with a turn (`Call.keepTurn`).
extension ModelsHandlers {
    static func put(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let namespace = try call.namespace(storage)
        let (key, value) = (call[ModelsPut.key], call[ModelsPut.value])
        let tags = try tags(call, ModelsPut.tags, namespace)
        let claims = storage.caches.claims
        let hasToken = call.has(ModelsPut.token)
        let subject = hasToken || !claims.isIdle ? subject(namespace, key) : nil
        var isLate = false
        if hasToken, let subject {
            switch try call.standing(ModelsPut.token, for: subject, storage) {
            case .winner(let since): isLate = storage.models.isInvalidated(namespace, key, tags: tags, since: since)
            case .late: isLate = true
            }
        }
        try call.keepTurn()
        var outcome: ModelStored?
        // What `look` refers to is the request's: the store copies it.
        if !call.has(ModelsPut.store) || call[ModelsPut.store] {
            outcome = try call.run { () throws(EngineError) in
                try storage.models.put(
                    namespace, key, value, call.lifetime(3), etag: call[ModelsPut.etag], tags: tags,
                    ifAbsent: call[ModelsPut.ifAbsent], isStale: isLate, by: call.author(storage))
            }
            if outcome == .makingRoom { throw .waits(.turn) }
        }
        if hasToken { claims.spend(call[ModelsPut.token]) }
        // A winner that has lost its claim leaves the next one's alone.
        if let subject, !hasToken || !isLate || claims.isHolder(call[ModelsPut.token], of: subject) {
            settle(
                subject, isLate ? .stale : .fresh, value,
                etag: call[ModelsPut.etag], tags: call[ModelsPut.tags], call, storage)
        }
        out.openObject()
        out.append(.stored, outcome == .stored)
        if outcome == .stored, isLate { out.append(.stale, true) }
        if outcome != .stored { out.append(.reason, word: outcome?.reason ?? "notWanted") }
        out.closeObject()
    }

    /// The value has come: those that wait for it get it, whether it is stored or not.
    /// `etag`: empty for none. `tags`: a list's JSON text; empty for none.
    static func settle(
        _ subject: CacheClaims.Subject, _ state: ModelState, _ value: Bytes, etag: Bytes, tags: Bytes, _ call: Call,
        _ storage: isolated Storage
    ) {
        let numbers = storage.caches.claims.settle(subject)
        let isFull = call.parkedReplies.isFull
        call.tell(numbers) { out in
            // They ask again, and find it.
            guard !isFull else { return out.append(ParkedReplies.missMembers) }
            out.append(.state, word: state == .fresh ? "fresh" : "stale")
            out.append(.value, json: value)
            if !etag.isEmpty { out.append(.etag, etag) }
            out.append(.ageMs, 0)
            if !tags.isEmpty { out.append(.tags, json: tags) }
        }
    }

    /// The numbers of the tags in a list parameter, in the call's `otherScratch`.
    private static func tags(_ call: Call, _ parameter: JSONParameter, _ namespace: ModelNamespace) throws(Refusal)
        -> Bytes
    {
        call.memory.otherScratch.removeAll()
        guard call.has(parameter) else { return Bytes() }
        var walk = JSONWalk(call[parameter], storage: call.memory.walk)
        var index = 0
        while let element = walk.nextElement() {
            guard let name = JSONWalk.string(element, storage: call.memory.innerWalk),
                JSONWalk.isName(name, limit: WireLimits.tagBytes)
            else {
                throw .error(
                    call.error(
                        RPCError(
                            .invalidParams, hint: "a tag is a string of 1 to 128 bytes without control characters"),
                        in: parameter, index))
            }
            guard let tag = namespace.tag(name) else {
                throw .error(RPCError(.quotaExceeded, hint: "the namespace has too many tags", limit: 65_536))
            }
            call.memory.otherScratch.append(littleEndian: tag)
            index += 1
        }
        return call.memory.otherScratch.bytes
    }

    static func touch(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let namespace = try call.namespace(storage)
        let key = call[ModelsTouch.key]
        try call.awaitLoading(storage)
        let claims = storage.caches.claims
        let hasToken = call.has(ModelsTouch.token)
        let subject = hasToken || !claims.isIdle ? subject(namespace, key) : nil
        var isLate = false
        if hasToken, let subject {
            switch try call.standing(ModelsTouch.token, for: subject, storage) {
            case .winner(let since): isLate = storage.models.isInvalidated(namespace, key, tags: Bytes(), since: since)
            case .late: isLate = true
            }
        }
        try call.keepTurn()
        let isTouched = storage.models.touch(
            namespace, key, call.lifetime(2), etag: call.has(ModelsTouch.etag) ? call[ModelsTouch.etag] : nil,
            isStale: isLate)
        if hasToken { claims.spend(call[ModelsTouch.token]) }
        if isTouched, let subject, !isLate || claims.isHolder(call[ModelsTouch.token], of: subject) {
            call.tell(claims.settle(subject)) { append(nothingOf: key, namespace, &$0, call, storage) }
        } else if !isTouched, hasToken, let subject, claims.isHolder(call[ModelsTouch.token], of: subject),
            let news = claims.giveUp(subject, since: storage.models.moment, now: call.clock.monotonic)
        {
            tell(news, call, storage)
        }
        out.openObject()
        out.append(.touched, isTouched)
        if isTouched, isLate { out.append(.stale, true) }
        out.closeObject()
    }

    static func delete(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.awaitLoading(storage)
        try call.keepTurn()
        var isDeleted = false
        if let namespace = storage.models.namespace(call[ModelsDelete.namespace]) {
            isDeleted = delete(call[ModelsDelete.key], in: namespace, isLogical: call[ModelsDelete.logical], storage)
        }
        out.append(only: .deleted, isDeleted)
    }

    /// - Returns: whether there was something to be seen.
    static func delete(
        _ key: Bytes, in namespace: ModelNamespace, isLogical: Bool, _ storage: isolated Storage
    ) -> Bool {
        // What is being fetched may be older than this.
        if !storage.caches.claims.isIdle { storage.caches.claims.outdate(subject(namespace, key)) }
        return isLogical ? storage.models.deleteLogically(namespace, key) : storage.models.delete(namespace, key)
    }

    static func invalidate(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard storage.models.isReady else { throw .waits(.answer(storage.awaitModels())) }
        guard !call.has(ModelsInvalidate.prefix) || !call.has(ModelsInvalidate.tag) else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "one of prefix and tag, or none", parameter: call.name(ModelsInvalidate.tag)))
        }
        try call.keepTurn()
        guard let namespace = storage.models.namespace(call[ModelsInvalidate.namespace]) else {
            return out.append(only: .invalidated, false)
        }
        let mode: ModelsStore.Invalidation = call[ModelsInvalidate.mode].equals("drop") ? .drop : .stale
        if call.has(ModelsInvalidate.prefix) {
            storage.models.invalidate(namespace, prefix: call[ModelsInvalidate.prefix], mode)
        } else if call.has(ModelsInvalidate.tag) {
            storage.models.invalidate(namespace, tag: call[ModelsInvalidate.tag], mode)
        } else {
            storage.models.invalidate(namespace, mode)
        }
        out.append(only: .invalidated, true)
    }
}

extension Call {
    /// The namespace that the first parameter names, made if need be.
    func namespace(_ storage: isolated Storage) throws(Refusal) -> ModelNamespace {
        guard storage.models.isReady else { throw .waits(.answer(storage.awaitModels())) }
        if let known = storage.models.namespace(self[InModels.namespace]) { return known }
        return try run { () throws(EngineError) in
            try storage.models.makeNamespace(self[InModels.namespace], for: connection?.client.admission.accounts ?? [])
        }
    }

    /// Three parameters from `first` on.
    func lifetime(_ first: Int) -> ModelLifetime {
        ModelLifetime(
            ttl: reader.integer(first), stale: reader.integer(first + 1), staleIfError: reader.integer(first + 2))
    }

    /// What is to be changed may still be in a file that is being read.
    func awaitLoading(_ storage: isolated Storage) throws(Refusal) {
        guard storage.models.isLoaded else { throw .waits(.answer(storage.awaitModels())) }
    }
}
