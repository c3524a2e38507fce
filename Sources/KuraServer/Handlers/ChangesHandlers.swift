import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers `changes.*`.
extension ChangesHandlers {
    static func list(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let rev = try revision(call, ChangesList.afterRev, epoch: ChangesList.epoch, storage)
        let limits = ChangePage.Limits(
            items: Int(call[ChangesList.limit] ?? 1000), bytes: min(1 << 20, call.server.limits.replyBytes),
            scanned: 4 << 20)
        try answer(call, after: rev, try selector(call, from: 2), limits, &out, storage)
    }

    private static func answer(
        _ call: Call, after rev: UInt64, _ selector: ChangeSelector, _ limits: ChangePage.Limits,
        _ out: inout ByteBuffer,
        _ storage: isolated Storage
    ) throws(Refusal) {
        let page = call.changes.page
        defer { page.clear() }
        try call.run { () throws(ChangesError) in
            try storage.fill(page, after: rev, selector.filter, limits, values: selector.details.contains(.values))
        }
        call.shows(page.rev)
        call.memory.scratch.removeAll()
        call.memory.scratch.append(changes: page, selector.details)
        out.append(
            changes: call.memory.scratch.bytes, lost: page.lost, rev: page.rev,
            hasMore: page.rev < storage.syncedRev.rev)
    }

    static func watch(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let selector = try selector(call, from: 0, withCaches: true)
        guard !selector.filter.isOfCaches else { return try watchCaches(selector, call, &out, storage) }
        let isResuming = call.has(ChangesWatch.afterRev)
        let rev =
            isResuming ? try revision(call, ChangesWatch.afterRev, epoch: ChangesWatch.epoch, storage) : storage.rev
        if !isResuming { try check(epoch: ChangesWatch.epoch, call, storage) }
        try checkKept(rev, call, storage)
        guard let connection = call.connection else { return }
        try admit(connection, call)
        let number = call.changes.subscribe(connection, selector, after: rev, at: call.clock.monotonic)
        out.append(subscription: number, rev: rev, epoch: storage.start.epoch)
        call.shows(rev)
    }

    static func unwatch(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let number = call[ChangesUnwatch.subscription] ?? 0
        let position = call.connection?.feed.position(of: Int(number))
        if let connection = call.connection, let position { call.changes.unsubscribe(connection, at: position) }
        out.openObject()
        out.append(.ended, position != nil)
        out.closeObject()
    }

    static func wait(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let rev = try revision(call, ChangesWait.afterRev, epoch: ChangesWait.epoch, storage)
        let selector = try selector(call, from: 2)
        guard let connection = call.connection, call.reader.hasID else { return }
        // Replies of a batch leave together: none of them can come later.
        if connection.state.batch != nil {
            try answer(call, after: rev, selector, RenderedPages.limits, &out, storage)
            return
        }
        try checkKept(rev, call, storage)
        try admit(connection, call)
        let deadline = call.clock.deadline(milliseconds: Int(call[ChangesWait.timeoutMs] ?? 30_000)).at
        call.changes.wait(
            connection,
            ChangeWait(
                id: Array(call.reader.replyID), selector: selector, after: rev, cursor: rev, deadline: deadline,
                namesStores: call.has(ChangesWait.stores)))
        call.attempt.deferReply()
    }

    // MARK: Parameters

    /// - Throws: `tooManySubscriptions`; `overloaded` when there is no memory for another.
    static func admit(_ connection: Connection, _ call: Call) throws(Refusal) {
        if let bound = call.changes.boundReached(connection) {
            let hint: StaticString? =
                bound.isShare ? "the last subscriptions are for users who have few: this one has its share" : nil
            throw .error(RPCError(.tooManySubscriptions, hint: hint, limit: bound.limit))
        }
        guard call.server.buffers.isTight else { return }
        call.server.buffers.refused += 1
        throw .error(RPCError(.overloaded, hint: BufferBudget.hint, limit: call.server.buffers.limit))
    }

    /// - Throws: `compacted` when it is known already that changes after `rev` are gone.
    private static func checkKept(_ rev: UInt64, _ call: Call, _ storage: isolated Storage) throws(Refusal) {
        guard rev >= storage.oldestRev else {
            throw Refusal(ChangesError.compacted(oldestRev: storage.oldestRev), call: call)
        }
    }

    /// The revision to go on from.
    /// - Throws: `epochChanged`; `invalidParams` for one that is not there yet.
    static func revision(
        _ call: Call, _ parameter: NumberParameter, epoch: TextParameter, _ storage: isolated Storage
    ) throws(Refusal) -> UInt64 {
        try check(epoch: epoch, call, storage)
        return try revision(call, parameter, storage)
    }

    /// - Throws: `invalidParams` for a revision that is not there yet.
    static func revision(
        _ call: Call, _ parameter: NumberParameter, _ storage: isolated Storage
    ) throws(Refusal) -> UInt64 {
        let rev = UInt64(call[parameter] ?? 0)
        guard rev <= storage.rev else {
            call.shows(storage.rev)
            throw .error(
                RPCError(
                    .invalidParams, hint: "no change has this revision yet: it comes from another history",
                    parameter: call.name(parameter), currentRev: storage.rev))
        }
        return rev
    }

    static func check(epoch: TextParameter, _ call: Call, _ storage: isolated Storage) throws(Refusal) {
        guard call.has(epoch), !call[epoch].elementsEqual(storage.start.epoch.utf8) else { return }
        throw .error(RPCError(.epochChanged))
    }

    /// The filter's five parameters, from the position of `stores` on.
    /// `withCaches`: they may be named in place of stores.
    private static func selector(
        _ call: Call, from first: Int, withCaches: Bool = false
    ) throws(Refusal) -> ChangeSelector {
        var filter = ChangeFilter()
        if call.reader.has(first) {
            var stores: [Store] = []
            var caches: CacheSources = []
            var index = 0
            var walk = JSONWalk(call.reader.json(first), storage: call.memory.walk)
            while let element = walk.nextElement() {
                let name = JSONWalk.string(element, storage: call.memory.innerWalk)
                if let store = name.flatMap({ Store(wireName: $0) }) {
                    stores.append(store)
                } else if withCaches, let cache = name.flatMap({ CacheSources(wireName: $0) }) {
                    caches.insert(cache)
                } else {
                    throw .error(
                        RPCError(
                            .invalidParams,
                            hint: withCaches ? Method.Store.feedAndCachesHint : Method.Store.feedHint,
                            parameter: call.reader.name(first), index: index))
                }
                index += 1
            }
            guard stores.isEmpty != caches.isEmpty else {
                let hint = stores.isEmpty ? "at least one store" : Method.Store.cachesHint
                throw .error(RPCError(.invalidParams, hint: hint, parameter: call.reader.name(first)))
            }
            filter = caches.isEmpty ? ChangeFilter(stores: stores) : ChangeFilter(caches: caches)
        }
        if call.reader.has(first + 1) { filter.scope = Array(call.reader.string(first + 1)) }
        filter.visible = call.connection?.permissions?.visible
        filter.prefix = Array(call.reader.string(first + 2))
        var details: ChangeDetails = []
        if call.reader.boolean(first + 3) { details.insert(.values) }
        if call.reader.boolean(first + 4) { details.insert(.members) }
        return call.changes.selector(filter, details)
    }
}
