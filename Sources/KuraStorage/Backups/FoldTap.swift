import KuraBytes
import SQLite

/// What a backup hears of every slice that is folded while it walks over the tables.
///
/// The walk looks at one snapshot after the other, so what it has is as of no one revision. The tap has every change since before the
/// first of them, as the fold writes it: with its version and times, newest of each key a slice. What both have together, the greater
/// revision counting, is the tables as of the last slice that the tap has taken.
final class FoldTap: @unchecked Sendable {
    // What the fold thread and the backup's share is behind `state`.

    /// A scope as of the last slice.
    struct TappedScope: Sendable {
        var store: Store
        var name: [UInt8]
        var count: Int
        var lastRev: UInt64
        var nextRow: Int64
    }

    private struct State {
        var scopes: [UInt32: TappedScope] = [:]
        /// The scopes with the slice that is being written; they count when it is committed.
        var staged: [UInt32: TappedScope]?
        var rev: UInt64 = 0
        /// Bytes of the spool that belong to committed slices.
        var length = 0
        var isReady = false
        var isClosed = false
        var fault: BackupFault?
    }

    private let state = Guarded(State())
    private let spool: RecordSpool

    init(_ configuration: StorageConfiguration, erases: Bool) throws(BackupFault) {
        do throws(StorageFault) { spool = try RecordSpool(configuration, erases: erases) } catch {
            throw BackupFault(error)
        }
    }

    // MARK: For the fold thread

    /// Nobody listens any more.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// From now on every slice is told. Between two of them.
    func begin(_ connection: Connection, rev: UInt64) {
        var scopes: [UInt32: TappedScope] = [:]
        var fault: BackupFault?
        do throws(SQLiteError) {
            let select = try connection.prepare("SELECT id, store, name, count, lastRev, nextRow FROM scopes")
            while try select.step() {
                guard let store = Store(rawValue: UInt8(select.int64(1))) else { continue }
                scopes[UInt32(select.int64(0))] = TappedScope(
                    store: store, name: Array(select.bytes(2)), count: Int(select.int64(3)),
                    lastRev: UInt64(select.int64(4)), nextRow: select.int64(5) & BackupRecord.rowMask)
            }
        } catch { fault = .tables(.unreadable(error)) }
        state.withLock { state in
            state.scopes = scopes
            state.rev = rev
            state.isReady = true
            state.fault = fault
        }
    }

    /// The thread ends before it has begun.
    func fail(_ fault: BackupFault) {
        state.withLock { state in
            state.isReady = true
            state.fault = state.fault ?? fault
        }
    }

    /// A slice is about to be committed. What goes wrong here is the backup's fault alone.
    func note(_ slice: FoldSlice, _ newest: ContiguousArray<ItemRef>) {
        state.withLock { state in
            guard !state.isClosed, state.fault == nil else { return }
            // What a slice that was undone has left.
            spool.truncate(to: state.length)
            do throws(StorageFault) { state.staged = try record(slice, newest, state.scopes) } catch {
                state.staged = nil
                state.fault = BackupFault(error)
            }
        }
    }

    /// It is committed.
    func committed(_ rev: UInt64) {
        state.withLock { state in
            // What is committed behind `close` is of a later revision.
            guard !state.isClosed, let staged = state.staged else { return }
            state.scopes = staged
            state.staged = nil
            state.length = spool.length
            state.rev = max(state.rev, rev)
        }
    }

    private func record(
        _ slice: FoldSlice, _ newest: ContiguousArray<ItemRef>, _ known: [UInt32: TappedScope]
    ) throws(StorageFault) -> [UInt32: TappedScope] {
        var scopes = known
        for scope in slice.newScopes {
            scopes[scope.id] =
                scopes[scope.id]
                ?? TappedScope(store: scope.store, name: scope.name, count: 0, lastRev: 0, nextRow: 0)
        }
        var dropped: Set<UInt32> = []
        for event in slice.events {
            guard case .drop = event.kind else { continue }
            dropped.insert(event.scope)
            guard let scope = scopes.removeValue(forKey: event.scope) else { continue }
            try scope.name.withBytes { (name) throws(StorageFault) in
                try spool.append(BackupRecord(store: scope.store, flags: .isDrop, rev: event.rev, scope: name))
            }
        }
        for item in newest where !dropped.contains(item.pointee.scope) {
            guard let scope = scopes[item.pointee.scope] else { continue }
            var record = BackupRecord(store: item.pointee.store, rev: item.pointee.rev, scope: Bytes())
            record.version = item.pointee.version
            record.createdAt = item.pointee.createdAt
            record.updatedAt = item.pointee.updatedAt
            record.row = UInt64(item.pointee.row & BackupRecord.rowMask)
            record.key = item.key
            if item.isTombstone {
                record.flags.insert(.isDeleted)
                if item.pointee.store.isResident { record.row = 0 }
                if item.pointee.writesBody, !item.pointee.store.isResident {
                    record.value = item.value
                } else {
                    record.flags.insert(.keepsBody)
                }
            } else {
                record.value = item.value
            }
            try scope.name.withBytes { (name) throws(StorageFault) in
                record.scope = name
                try spool.append(record)
            }
        }
        for item in slice.items {
            let id = item.pointee.scope
            // Those of a collection that is dropped here are not counted, nor is what stands for the drop: its scope is gone.
            guard scopes[id] != nil else { continue }
            scopes[id]!.count += Int(item.pointee.countDelta)
            scopes[id]!.lastRev = item.pointee.rev
            scopes[id]!.nextRow = max(scopes[id]!.nextRow, item.pointee.row & BackupRecord.rowMask + 1)
        }
        return scopes
    }

    // MARK: For the backup's thread

    /// Whether slices are told.
    /// - Throws: why they will not be.
    func isReady() throws(BackupFault) -> Bool {
        let (isReady, fault) = state.withLock { ($0.isReady, $0.fault) }
        if let fault { throw fault }
        return isReady
    }

    /// The tables are as of this revision, and everything up to it has been told.
    var rev: UInt64 { state.withLock { $0.rev } }

    /// No more slices are wanted.
    /// - Returns: what everything is as of.
    func close() throws(BackupFault) -> (rev: UInt64, scopes: [TappedScope]) {
        let (rev, scopes, fault) = state.withLock { state in
            state.isClosed = true
            return (state.rev, Array(state.scopes.values), state.fault)
        }
        if let fault { throw fault }
        return (rev, scopes)
    }

    /// The records that were told, in their order. Closed before.
    func forEach(_ body: (Bytes, BackupRecord) throws(BackupFault) -> Void) throws(BackupFault) {
        let length = state.withLock { $0.length }
        try spool.forEach(upTo: length, body)
    }

    /// Takes the records away.
    func discard() {
        state.withLock { $0.isClosed = true }
        spool.discard()
    }
}
