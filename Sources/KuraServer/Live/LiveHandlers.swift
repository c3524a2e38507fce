import JSONSchema
import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// Answers `documents.watch` and `documents.unwatch`.
extension DocumentsHandlers {
    static func watch(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let selector = try call.selector(DocumentsWatch.where)
        let sort = try call.sortFields(DocumentsWatch.sort)
        let limit = call[DocumentsWatch.limit].map { Int($0) }
        let since =
            call.has(DocumentsWatch.afterRev)
            ? try ChangesHandlers.revision(call, DocumentsWatch.afterRev, epoch: DocumentsWatch.epoch, storage) : nil
        if since == nil { try ChangesHandlers.check(epoch: DocumentsWatch.epoch, call, storage) }
        guard let connection = call.connection else { return }
        try ChangesHandlers.admit(connection, call)
        do throws(StorageFault) { try call.changes.live.matcher.begin() } catch {
            throw .error(RPCError(.overloaded, hint: "the system makes no thread for it"))
        }
        let collection = call.changes.live.collection(call[DocumentsWatch.collection])
        let shape = collection.shape(selector, sort: Array(call[DocumentsWatch.sort]), sort)
        let snapshot = try call.liveSnapshot(
            try call.run { () throws(QueryError) in try selector.copy() }, shape, limit: limit, since: since ?? 0,
            storage)
        guard !snapshot.isEmpty else {
            return begin(call, connection, shape, snapshot, since: since, &out, storage)
        }
        throw call.wait(for: storage.submit(snapshot)) {
            (call, snapshot: LiveSnapshot, error, out, storage) throws(Refusal) in
            // An index that has gone since the query was planned: it is planned anew.
            if error == .indexGone { return try watch(call, &out, storage) }
            try call.check(error)
            guard let connection = call.connection else { return }
            try ChangesHandlers.admit(connection, call)
            begin(call, connection, shape, snapshot, since: since, &out, storage)
        }
    }

    private static func begin(
        _ call: Call, _ connection: Connection, _ shape: LiveShape, _ snapshot: LiveSnapshot, since: UInt64?,
        _ out: inout ByteBuffer, _ storage: isolated Storage
    ) {
        let collection = call.changes.live.collection(call[DocumentsWatch.collection])
        let live = call.changes.watch(connection) { number in
            LiveSubscription(number: number, collection, shape, snapshot, since: since, at: call.clock.monotonic)
        }
        out.append(subscription: live.number, rev: snapshot.exactFrom, epoch: storage.start.epoch)
        call.shows(snapshot.exactFrom)
    }

    static func unwatch(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let number = call[DocumentsUnwatch.subscription] ?? 0
        let position = call.connection?.feed.live.firstIndex { $0.number == number }
        if let connection = call.connection, let position { call.changes.unwatch(connection, at: position) }
        out.openObject()
        out.append(.ended, position != nil)
        out.closeObject()
    }
}

extension Selector {
    /// One like it that another thread may ask: patterns are asked by one at a time.
    func copy() throws(QueryError) -> Selector {
        guard usesPatterns else { return self }
        do throws(SelectorError) {
            return try text.withBytes { (text) throws(SelectorError) in
                try Selector(StoredValue(text)) { (pattern) throws(TextPatternError) in try BoundedPattern(pattern) }
            }
        } catch { throw .patternTooComplex(at: error.pointer) }
    }
}

extension Call {
    /// - Throws: `indexNeeded`.
    fileprivate func liveSnapshot(
        _ selector: Selector, _ shape: LiveShape, limit: Int?, since: UInt64, _ storage: isolated Storage
    ) throws(Refusal) -> LiveSnapshot {
        let control = try queryControl(DocumentsWatch.timeoutMs)
        do throws(QueryError) {
            return try storage.documents.liveSnapshot(
                self[DocumentsWatch.collection], selector, shape, limit: limit, since: since,
                limits: server.limits.liveQueries,
                control: control, allowsScan: self[DocumentsWatch.allowScan])
        } catch { throw refusal(ofQuery: error) }
    }
}
