import KuraBytes
import Testing

@testable import KuraStorage

/// The ledger's parts, each by itself.
@Suite struct LedgerPartsTests {
    // MARK: Revisions

    @Test func `revisions that are taken back are given out again`() {
        var revisions = LedgerRevisions(7)
        let given = [revisions.next(isStrict: true), revisions.next(isStrict: false)]
        #expect(given == [8, 9])
        #expect(revisions.isAhead)
        #expect((revisions.strict, revisions.committed) == (8, 7))
        revisions.takeBack()
        #expect(!revisions.isAhead)
        #expect((revisions.newest, revisions.strict) == (7, 7))
        let again = revisions.next(isStrict: false)
        #expect(again == 8)
        revisions.commit()
        #expect((revisions.committed, revisions.committedStrict) == (8, 7))
    }

    @Test func `what a start finds in the log is on the disk, and older than what follows`() {
        var revisions = LedgerRevisions(3)
        revisions.replay(5)
        revisions.replay(4)
        #expect((revisions.newest, revisions.committed, revisions.folded) == (5, 5, 3))
        #expect(revisions.synced == 5 && revisions.strict == 5 && revisions.committedStrict == 5)
        revisions.fold(4)
        revisions.fold(2)
        #expect(revisions.folded == 4)
    }

    // MARK: The transaction

    @Test func `only the outermost transaction ends, and each author has what is between`() {
        var transaction = OpenTransaction()
        #expect(!transaction.isOpen)
        let outer = transaction.begin(by: .daemon(takesAway: true), staged: 4, overlay: 100)
        #expect(transaction.author.takesAway)
        let inner = transaction.begin(by: .daemon(takesAway: false), staged: 6, overlay: 200)
        #expect(!transaction.author.takesAway)
        let isOutermost = [transaction.end(inner)]
        #expect(isOutermost == [false])
        #expect(transaction.author.takesAway && transaction.isOpen)
        #expect((transaction.start, transaction.overlay) == (4, 100))
        _ = transaction.end(outer)
        #expect(!transaction.isOpen)
    }

    @Test func `a transaction is strict with one strict change, and the next begins anew`() {
        var transaction = OpenTransaction()
        let outer = transaction.begin(by: .daemon, staged: 0, overlay: 0)
        transaction.note(pages: 10, flushSeconds: 30)
        #expect(!transaction.isStrict)
        transaction.note(pages: 5, flushSeconds: nil)
        transaction.note(pages: 0, flushSeconds: 20)
        #expect(transaction.isStrict)
        #expect((transaction.pages, transaction.flushSeconds) == (15, 20))
        _ = transaction.end(outer)
        _ = transaction.begin(by: .daemon, staged: 3, overlay: 0)
        #expect(!transaction.isStrict)
        #expect((transaction.pages, transaction.flushSeconds, transaction.start) == (0, .max, 3))
    }

    @Test func `the shortest time to flush is told once`() {
        var transaction = OpenTransaction()
        let none = transaction.takeFlushSeconds()
        #expect(none == nil)
        for seconds: Int32 in [30, 5, 60] {
            let outer = transaction.begin(by: .daemon, staged: 0, overlay: 0)
            transaction.note(pages: 0, flushSeconds: seconds)
            _ = transaction.end(outer)
            transaction.endRelaxed()
        }
        let taken = [transaction.takeFlushSeconds(), transaction.takeFlushSeconds()]
        #expect(taken == [5, nil])
    }

    // MARK: Room

    private func room() -> OverlayRoom {
        var configuration = StorageConfiguration.tiny("/nowhere")
        (configuration.fold.overlayBytes, configuration.turnBytes) = (1 << 20, 1 << 16)
        return OverlayRoom(configuration)
    }

    /// What a change is answered; nil when it is admitted.
    private func answer(
        _ room: OverlayRoom, takesAway: Bool = false, bytes: Int = 100, isAmending: Bool = false, isFirst: Bool = true,
        overlay: Int = 0, records: Int = 0
    ) -> EngineError? {
        var transaction = OpenTransaction()
        _ = transaction.begin(by: .daemon, staged: 0, overlay: overlay)
        transaction.isAmending = isAmending
        do throws(EngineError) {
            try room.admit(
                takesAway: takesAway, bytes: bytes, pages: RoomRule.pages, to: transaction, isFirst: isFirst,
                overlay: overlay, records: records)
            return nil
        } catch { return error }
    }

    private func isBusy(_ error: EngineError?) -> Bool { if case .busy = error { true } else { false } }
    private func isNoSpace(_ error: EngineError?) -> Bool { if case .noSpace = error { true } else { false } }
    private func isTooLarge(_ error: EngineError?) -> Bool {
        if case .tooLargeForRoom = error { true } else { false }
    }

    @Test func `a full overlay has a transaction's first change wait, and no other`() {
        var room = room()
        #expect(answer(room, overlay: (1 << 20) - 1) == nil)
        #expect(isBusy(answer(room, overlay: 1 << 20)))
        #expect(answer(room, isFirst: false, overlay: 1 << 20) == nil)
        #expect(answer(room, isAmending: true, overlay: 1 << 20) == nil)
        #expect(isBusy(answer(room, records: 1 << 16 + 1)))
        room.isFoldOutOfSpace = true
        #expect(isNoSpace(answer(room, overlay: 1 << 20)))
    }

    @Test func `without the reserve only removals find room, and without any nothing does`() {
        var room = room()
        room.isRefusingForReserve = true
        #expect(isNoSpace(answer(room)))
        #expect(answer(room, takesAway: true) == nil)
        room.isRefusingChanges = true
        #expect(isNoSpace(answer(room, takesAway: true)))
        #expect(isNoSpace(answer(room, isAmending: true)))
    }

    @Test func `what the disk bounds is refused by what it is too large for`() {
        var room = room()
        (room.overlayLimit, room.removalsEnd) = (1000, 5000)
        #expect(isBusy(answer(room, overlay: 1000)))
        #expect(answer(room, takesAway: true, overlay: 4999) == nil)
        #expect(isBusy(answer(room, takesAway: true, overlay: 5000)))
        room.removalPages = RoomRule.pages - 1
        #expect(isTooLarge(answer(room, takesAway: true)))
        room.transactionEnd = 2000
        #expect(isTooLarge(answer(room, bytes: RoomRule.leastSlice + 1)))
        // So small a slice is always folded.
        #expect(answer(room, bytes: 1000) == nil)
    }

    // MARK: The overlay

    private func item(_ rev: UInt64) -> ItemRef {
        let item = ItemRef.make(key: Bytes("key"), value: Bytes("value"))
        item.pointee.rev = rev
        return item
    }

    @Test func `a slice takes what is synced with what it means, and its bytes stay until it is in the tables`() {
        var overlay = Overlay()
        let items = (1...4).map { item(UInt64($0)) }
        defer { for item in items { item.release() } }
        for item in items {
            overlay.append(item)
            overlay.append(FoldSlice.Event(rev: item.pointee.rev, store: .documents, scope: 9, kind: .drop), with: item)
        }
        let bytes = overlay.bytes
        #expect(overlay.count(synced: 0) == 0 && overlay.count(synced: 2) == 2 && overlay.count(synced: 9) == 4)
        let slice = FoldSlice()
        overlay.move(2, to: slice)
        #expect((slice.rev, slice.items.count, slice.events.count) == (2, 2, 2))
        #expect((overlay.queue.count, overlay.events.count, overlay.items, overlay.bytes) == (2, 2, 4, bytes))
        for item in slice.items { overlay.leave(item) }
        #expect(overlay.items == 2 && overlay.bytes < bytes && overlay.peak == bytes)
    }

    @Test func `what is taken back is gone with what it meant`() {
        var overlay = Overlay()
        let (first, second) = (item(1), item(2))
        defer { for item in [first, second] { item.release() } }
        overlay.append(first)
        overlay.append(second)
        overlay.append(
            FoldSlice.Event(rev: 2, store: .documents, scope: 3, kind: .drop), with: second, isFirst: true)
        let other = overlay.takeBackEvent(of: first)
        #expect(other == nil)
        overlay.takeBack(second)
        let event = overlay.takeBackEvent(of: second)
        #expect(event?.isFirst == true)
        #expect(overlay.events.isEmpty && overlay.queue.count == 1 && overlay.items == 1)
    }
}
