import Glibc
import KuraBytes
import KuraJSON
import SQLite

/// The revision counter and everything that hangs on it: changes staged in the turn, their commit to the log, the overlay
/// of what is not folded yet, and the slices for the fold thread.
///
/// The rooms share it and stage their changes here; it belongs to the loop. A turn goes so:
///
/// 1. Requests are checked and their changes staged: at once visible to the requests behind them, each undoable.
/// 2. `commit` appends them to the log as one row. When that fails for want of space, every staged change is taken back.
/// 3. A sync is asked for; replies that show a revision above `syncedRev` wait for it.
package final class Ledger {
    let configuration: StorageConfiguration
    var clock: Clock { configuration.clock }
    /// Who has what written.
    let bill = WriteBill()
    let table: ItemTable
    package let scopes: ScopeTable
    var cache: DocumentCache

    /// What stores have of their own in it.
    private(set) var parts: [any LedgerPart] = []
    var revisions: LedgerRevisions
    var room: OverlayRoom

    // MARK: The turn

    /// The time of the turn's changes, milliseconds since 1970.
    var now: Int64
    /// The same on a clock that never goes back while the daemon runs: what has expired stays so, and what is to expire does.
    var steadyNow: Int64 { steadyClock.time(now) }
    private var steadyClock: SteadyClock
    private struct Staged {
        var old: ItemRef?
        var new: ItemRef
        var scopeRev: UInt64
        /// nil for drops, which are on no bill.
        var billed: WriteBill.Entry?

        /// What the log may have the new value as a patch of: the old one, when the segment that is written has it.
        /// `after`: the newest revision when that took over.
        func base(after: UInt64) -> RecordPatches.Base? {
            guard let old, !old.isTombstone, old.pointee.rev > after,
                new.pointee.version % RecordPatches.longest(new.value.count) != 0, new.pointee.version < .max
            else { return nil }
            return RecordPatches.Base(rev: old.pointee.rev, value: old.value)
        }
    }
    private var staged: ContiguousArray<Staged> = []
    private var records = RecordBuffer()
    private var transaction = OpenTransaction()
    var overlay = Overlay()
    private(set) var counts = LedgerCounts()

    init(configuration: StorageConfiguration, scopes: ScopeTable, rev: UInt64) {
        self.configuration = configuration
        now = configuration.clock.wall
        steadyClock = SteadyClock(configuration.clock)
        self.scopes = scopes
        // A document takes some 512 bytes in memory.
        table = ItemTable(rows: configuration.cacheBytes / 512)
        revisions = LedgerRevisions(rev)
        room = OverlayRoom(configuration)
        cache = DocumentCache(limit: configuration.cacheBytes)
        parts = Store.allCases.compactMap { $0.parts.makePart?(self) }
    }

    /// Newest revision given out, staged ones included.
    var rev: UInt64 { revisions.newest }
    /// Newest revision in the log.
    var committedRev: UInt64 { revisions.committed }
    /// The tables are as of this revision.
    package var foldedRev: UInt64 { revisions.folded }
    /// Revision of the newest drop of a scope.
    var dropRev: UInt64 { scopes.dropRev }

    var isOverlayFull: Bool { room.isFull(overlay.bytes) }
    /// Whether a bulk of changes may come: the last quarter of the overlay is for everybody else.
    var admitsBulk: Bool { overlay.bytes < configuration.fold.overlayBytes / 4 * 3 }
    /// There are changes that no slice has taken yet.
    var hasUnfolded: Bool { !overlay.queue.isEmpty }

    /// The part of that kind.
    func part<Part: LedgerPart>(_: Part.Type) -> Part {
        for part in parts { if let part = part as? Part { return part } }
        preconditionFailure("no store has such a part")
    }

    // MARK: Staging

    struct Mark {
        fileprivate var staged: Int
        fileprivate var records: Int
        /// Whose the transaction around it is.
        fileprivate var outer: Author
    }

    /// Begins a transaction: the changes staged until `end` share one revision, and are the author's. One within another joins it.
    func begin(by author: Author) -> Mark {
        let outer = transaction.begin(by: author, staged: staged.count, overlay: overlay.bytes)
        return Mark(staged: staged.count, records: records.count, outer: outer)
    }

    /// Ends the transaction; its changes are the turn's now.
    /// - Returns: its revision, or nil when nothing was staged.
    func end(_ mark: Mark) -> UInt64? {
        let isOutermost = transaction.end(mark.outer)
        guard staged.count > mark.staged else { return nil }
        guard isOutermost else { return rev + 1 }
        let rev = revisions.next(isStrict: transaction.isStrict)
        if !transaction.isStrict {
            transaction.endRelaxed()
        } else if transaction.flushSeconds < .max {
            // What shares a revision with a strict change is as strict.
            for change in staged[transaction.start...] { change.new.pointee.flags.remove(.relaxed) }
        }
        return rev
    }

    /// Whether a change of the scope is acknowledged before it is synced, when all others of its transaction are.
    func isRelaxed(_ scope: Scope) -> Bool { scope.durability.isRelaxed(revisions.synced) }

    /// Shortest time to flush among the relaxed transactions that have been committed since this was asked last.
    func takeFlushSeconds() -> Int32? { transaction.takeFlushSeconds() }

    /// Stages changes of the daemon's own as a part of the turn's last transaction, or of one of their own when the turn has none. They find
    /// room also where those of clients would have to wait.
    func amend<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
        let joins = revisions.isAhead
        if joins { revisions.reopen() }
        transaction.isAmending = true
        defer { transaction.isAmending = false }
        // It is about what the turn has changed, and finds room as that has.
        let mark = begin(by: .daemon(takesAway: joins))
        do throws(Failure) { try body() } catch {
            abandon(mark)
            if joins { revisions.close() }
            throw error
        }
        // Nothing staged: the turn's last transaction is what it was.
        if end(mark) == nil, joins { revisions.close() }
    }

    /// Ends the transaction and takes back what it staged.
    func abandon(_ mark: Mark) {
        _ = transaction.end(mark.outer)
        undo(to: mark.staged, records: mark.records, reusingIDs: true)
    }

    /// Takes back what was staged since there were so many changes, and bytes of records.
    /// `reusingIDs`: nobody can have seen the numbers of scopes that came to be since.
    private func undo(to count: Int, records bytes: Int, reusingIDs: Bool) {
        while staged.count > count { unstage(staged.removeLast(), reusingIDs: reusingIDs) }
        records.truncate(to: bytes)
    }

    /// Stages one change: the log's record, the item in memory, the scope's numbers.
    /// `old`: the item that the table has under this key now, tombstones included.
    /// `members`: in which the new value differs from the old one.
    /// `wasPresent`: whether the key had a value.
    /// `shape`: fills in what the room keeps in the item.
    /// Throws: `.busy` when the overlay or the turn is full, `.noSpace`, `.duplicate` when the transaction has changed the
    /// item already, unless `mayRepeat`; then the last change of it counts.
    func stage(
        _ scope: Scope, key: Bytes, value: Bytes, members: ChangedMembers? = nil, isTombstone: Bool,
        carrying body: Bytes? = nil, old: ItemRef?,
        oldBytes: Int, newBytes: Int, mayRepeat: Bool = false, shape: (ItemRef) -> Void
    ) throws(EngineError) {
        if !mayRepeat { try checkOnce(old) }
        let pages = scope.pagesOfChange
        assert(transaction.isOpen, "a change is a transaction's")
        try checkRoom(isTombstone, (body ?? value).count, pages)
        let wasPresent = old.map { !$0.isTombstone } ?? false
        let countDelta: Int8 = (isTombstone ? 0 : 1) - (wasPresent ? 1 : 0)
        if transaction.author.isBound {
            try scope.admit(
                bytes: newBytes - oldBytes, items: scope.countedItems(countDelta, key), for: transaction.author.accounts
            )
        }
        // After every check: what is refused makes no scope.
        guard scopes.enter(scope) else { throw .quotaExceeded(limit: ScopeTable.limit) }
        let new = ItemRef.make(key: key, value: body ?? value)
        new.pointee.rev = rev + 1
        new.pointee.scope = scope.id
        new.pointee.store = scope.store
        new.pointee.updatedAt = now
        new.pointee.createdAt = now
        new.pointee.version = 1
        new.pointee.hash = old?.pointee.hash ?? table.hash(scope: scope.id, key: key)
        new.pointee.flags = [.dirty]
        let isRelaxed = isRelaxed(scope)
        if isRelaxed { new.pointee.flags.insert(.relaxed) }
        transaction.note(pages: pages, flushSeconds: isRelaxed ? scope.durability.flushSeconds : nil)
        new.pointee.isDeleted = isTombstone
        new.pointee.countDelta = countDelta
        new.pointee.bytesDelta = Int32(newBytes - oldBytes)
        shape(new)

        let billed = scope.withName { name in
            let billed = bill.note(
                scope.store.described.billed, scope: name, key: key, bytes: key.count + value.count,
                isNamed: scope.store.isPublic, by: transaction.author.payer)
            transaction.author.name.withBytes { writer in
                records.append(
                    LogRecord(
                        store: scope.store, isTombstone: isTombstone, isCreation: !wasPresent && !isTombstone,
                        rev: rev + 1, scope: name, key: key, writer: scope.store.isSealed ? Bytes() : writer,
                        members: members, value: value))
            }
            return billed
        }
        staged.append(Staged(old: old, new: new, scopeRev: scope.lastRev, billed: billed))
        enter(new, over: old, scope)
    }

    /// `isTombstone`: something goes. `bytes`: of what comes.
    private func checkRoom(_ isTombstone: Bool, _ bytes: Int, _ pages: Int) throws(EngineError) {
        try room.admit(
            takesAway: isTombstone || transaction.author.takesAway, bytes: bytes, pages: pages, to: transaction,
            isFirst: staged.count == transaction.start, overlay: overlay.bytes, records: records.count)
    }

    /// Whether the turn has room for the last value of what is being deleted; else nothing is kept of it.
    func carries(_ bytes: Int) -> Bool {
        !room.isRefusingForReserve && overlay.bytes + bytes <= room.transactionEnd
    }

    /// Whether the transaction may remove so many items more, behind `zeroed` bytes of others that are overwritten.
    func mayRemove(_ items: Int, zeroed: Int) -> Bool {
        transaction.pages + items * RoomRule.pages + zeroed <= room.removalPages
    }

    /// Stages the dropping of a collection: its name is free at once.
    func stageDrop(_ scope: Scope) throws(EngineError) {
        try checkRoom(true, 0, RoomRule.pages)
        transaction.note(pages: 0, flushSeconds: nil)
        let marker = makeDrop(scope, rev: rev + 1, at: now)
        scope.withName { name in
            transaction.author.name.withBytes { writer in
                records.append(
                    LogRecord(
                        store: scope.store, isTombstone: true, rev: rev + 1, scope: name, key: Bytes(),
                        writer: scope.store.isSealed ? Bytes() : writer, value: Bytes()))
            }
        }
        staged.append(Staged(old: nil, new: marker, scopeRev: scopes.dropRev, billed: nil))
        enter(drop: marker, scope)
    }

    func makeDrop(_ scope: Scope, rev: UInt64, at: Int64) -> ItemRef {
        let marker = ItemRef.make(key: Bytes(), value: Bytes())
        marker.pointee.rev = rev
        marker.pointee.scope = scope.id
        marker.pointee.store = scope.store
        marker.pointee.updatedAt = at
        marker.pointee.isDeleted = true
        marker.pointee.flags = [.dirty, .drop]
        return marker
    }

    func enter(drop marker: ItemRef, _ scope: Scope) {
        scopes.drop(scope, rev: marker.pointee.rev)
        overlay.append(
            FoldSlice.Event(rev: marker.pointee.rev, store: scope.store, scope: scope.id, kind: .drop), with: marker)
        overlay.append(marker)
    }

    /// A write that changed nothing was answered.
    func countNoOp(_ store: BilledStore, by author: Author) {
        counts.noteNoOp()
        bill.noteNoOp(store, by: author.payer)
    }

    func enter(_ new: ItemRef, over old: ItemRef?, _ scope: Scope) {
        if let old {
            old.pointee.supersededBy = new.pointee.rev
            if !scope.store.isResident, old.pointee.flags.contains(.linked) { cache.remove(old) }
            table.replace(old, with: new)
        } else {
            table.insert(new)
        }
        scope.count += Int(new.pointee.countDelta)
        scope.bytes += Int(new.pointee.bytesDelta)
        if !scope.accounts.isEmpty {
            scope.noteInAccounts(
                bytes: Int(new.pointee.bytesDelta), items: scope.countedItems(new.pointee.countDelta, new.key))
        }
        scope.news.noteChange(new.pointee.rev)
        scope.lastRev = new.pointee.rev
        if scope.store.isResident {
            scope.members.replace(old, with: new)
            if scope.store.has(.configures) { note(configuration: new, scope) }
        }
        new.retain()  // for the fold queue
        overlay.append(new)
    }

    private func unstage(_ change: Staged, reusingIDs: Bool) {
        let new = change.new
        let scope = scopes[new.pointee.scope]
        if let billed = change.billed { bill.takeBack(billed) }
        overlay.takeBack(new)
        guard !new.pointee.flags.contains(.drop) else {
            takeBackEvent(of: new)
            scopes.undrop(scope, rev: change.scopeRev)
            new.release()
            return
        }
        scope.count -= Int(new.pointee.countDelta)
        scope.bytes -= Int(new.pointee.bytesDelta)
        if !scope.accounts.isEmpty {
            scope.noteInAccounts(
                bytes: -Int(new.pointee.bytesDelta), items: -scope.countedItems(new.pointee.countDelta, new.key))
        }
        scope.lastRev = change.scopeRev
        if let old = change.old {
            old.pointee.supersededBy = 0
            table.replace(new, with: old)
            if !scope.store.isResident, !old.isDirty { cache.add(old) }
        } else {
            table.remove(new)
        }
        if scope.store.isResident { scope.members.replace(new, with: change.old) }
        if new.pointee.flags.contains(.claiming) { for part in parts { part.forget(new) } }
        if scope.store.has(.configures) {
            takeBackEvent(of: new)
            noteConfiguration(scope)
        }
        if scope.lastRev == 0 {
            scope.news.takeBackChange()
            if scope.store.has(.configures) { forgetConfiguration(scope, reusingID: reusingIDs) }
            scopes.remove(vacant: scope, reusingID: reusingIDs)
        }
        new.release()
        new.release()
    }

    // MARK: Committing

    enum Outcome {
        case nothing
        /// Appended, not synced.
        case committed
        /// Nothing was appended, and every change of the turn is taken back.
        case noSpace
        /// Whether the changes survive is not known.
        case unknown(StorageFault)
    }

    /// `syncedRev`: up to there the log is on the disk.
    func commit(to log: Log, syncedRev: SyncedRev) -> Outcome {
        guard !staged.isEmpty else { return .nothing }
        do throws(StorageFault) {
            log.makeRoom(for: records.count)
            let logged = try records.patched { (number, _, take) throws(StorageFault) in
                try take(staged[number].base(after: log.activeAfter))
            }
            try log.append(rev: rev, at: now, records: records.bytes, logged: logged, syncedRev: syncedRev.rev)
        } catch {
            guard error.isFull else { return .unknown(error) }
            // Walks may have begun over what is taken back.
            undo(to: 0, records: 0, reusingIDs: false)
            revisions.takeBack()
            _ = transaction.takeFlushSeconds()
            return .noSpace
        }
        revisions.commit()
        counts.note(commit: staged.count)
        for change in staged {
            guard let old = change.old else { continue }
            overlay.supersede(old, by: change.new, isKept: keepsHistory(change.new.pointee.scope))
            old.release()
        }
        staged.removeAll(keepingCapacity: true)
        records.truncate(to: 0)
        return .committed
    }

    // MARK: Folding

    /// Whether the tables get each change of a document of this collection.
    func keepsHistory(_ collection: UInt32) -> Bool { scopes.known(collection)?.collection.history != nil }

    /// Cuts a slice of everything that is synced; nil when there is nothing to fold.
    ///
    /// Only what is synced is folded: otherwise the tables could show, after a crash of the process and then of the power,
    /// what the log has lost.
    func cutSlice(syncedRev: SyncedRev, log: Log?) -> FoldSlice? {
        let end = overlay.count(synced: syncedRev)
        guard end > 0 || log?.hasNews == true || awaitsSlice else { return nil }
        let slice = FoldSlice()
        overlay.move(end, to: slice)
        for part in parts { part.cut(slice, self) }
        slice.newScopes = scopes.takeNew(upTo: slice.rev).map { scope in
            scope.rows.mayExist = true
            return FoldSlice.NewScope(id: scope.id, store: scope.store, name: scope.name)
        }
        if let log {
            slice.closed = log.takeUnrecorded()
            slice.retired = log.takeRetired()
            slice.compactedRev = log.compactedRev
        }
        return slice
    }

    /// The slice is in the tables: up to `budget` of its changes leave the overlay. Settings stay in memory, documents
    /// become the cache's.
    /// - Returns: whether all of them have.
    func settle(_ slice: FoldSlice, budget: Int) -> Bool {
        let end = min(slice.settled + budget, slice.items.count)
        for position in slice.settled..<end { settle(slice.items[position]) }
        slice.settled = end
        guard end == slice.items.count else { return false }
        revisions.fold(slice.rev)
        return true
    }

    private func settle(_ item: ItemRef) {
        overlay.leave(item)
        if item.pointee.flags.contains(.claiming) { for part in parts { part.forget(item) } }
        guard !item.pointee.flags.contains(.drop) else {
            if let scope = scopes.known(item.pointee.scope) { scopes.forget(dropped: scope) }
            item.release()
            return
        }
        item.pointee.flags.remove(.dirty)
        if item.pointee.supersededBy == 0 {
            if !item.pointee.store.isResident {
                cache.add(item)
            } else if item.isTombstone {
                let scope = scopes[item.pointee.scope]
                scope.members.forget(tombstone: item)
                table.remove(item)
                item.release()
            }
        }
        item.release()
    }
}
