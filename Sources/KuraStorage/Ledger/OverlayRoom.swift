/// What may be staged, as the memory and the disk have room. Whoever watches the disk sets the bounds.
struct OverlayRoom {
    /// The turn is being repeated after its commit found the disk full: nothing may be staged.
    var isRefusingChanges = false
    /// The fold cannot write for want of space: when the overlay is full, waiting would not end.
    var isFoldOutOfSpace = false
    /// The reserve has been given up for the fold: until it is back, changes would take its room.
    var isRefusingForReserve = false
    /// As the room on the disk bounds the bytes of changes that are not folded: for changes to wait behind, for a long transaction to end at, and
    /// for removals to wait behind.
    var overlayLimit = Int.max
    var transactionEnd = Int.max
    var removalsEnd = Int.max
    /// Most bytes of pages that the removals of a transaction may touch.
    var removalPages = Int.max
    /// The room does bound them.
    var isBounded = false
    /// Bytes of changes in memory, and of a turn's records, at most.
    private let most, mostOfTurn: Int

    init(_ configuration: StorageConfiguration) {
        (most, mostOfTurn) = (configuration.fold.overlayBytes, configuration.turnBytes)
    }

    func isFull(_ overlay: Int) -> Bool { overlay >= min(most, overlayLimit) }

    /// Removals wait behind these bytes.
    func isFullForRemovals(_ overlay: Int) -> Bool { overlay >= min(most, removalsEnd) }

    /// Whether a transaction has room for a change.
    /// - Parameters:
    ///   - takesAway: it removes something.
    ///   - bytes: of what it brings.
    ///   - pages: bytes of the pages that it touches.
    ///   - transaction: it is a change of this one.
    ///   - isFirst: it is the transaction's first one.
    ///   - overlay: bytes of changes that are not folded.
    ///   - records: bytes of the turn's records.
    /// - Throws: `.noSpace`, `.busy`, `.tooLargeForRoom`.
    func admit(
        takesAway: Bool, bytes: Int, pages: Int, to transaction: OpenTransaction, isFirst: Bool, overlay: Int,
        records: Int
    ) throws(EngineError) {
        if isRefusingChanges || isRefusingForReserve && !takesAway { throw .noSpace }
        if transaction.isAmending { return }
        // A transaction is folded at once: what it touches has to find room.
        let touched = transaction.pages + pages
        if takesAway {
            if touched > removalPages { throw .tooLargeForRoom(items: removalPages / pages) }
        } else {
            let more = bytes + touched / RoomRule.factor
            if overlay + more > transactionEnd, overlay - transaction.overlay + more > RoomRule.leastSlice {
                throw .tooLargeForRoom(items: nil)
            }
        }
        // Asked once a transaction: one that is larger than the bound gets through when there is room at all.
        guard isFirst else { return }
        if takesAway ? isFullForRemovals(overlay) : isFull(overlay) { throw isFoldOutOfSpace ? .noSpace : .busy }
        if records > mostOfTurn { throw .busy }
    }
}
