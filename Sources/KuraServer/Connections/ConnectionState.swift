import KuraBytes
import KuraStorage

/// What a connection decides in a turn, apart from any I/O. A copy of it from the turn's beginning undoes the turn.
struct ConnectionState {
    /// The batch that is under way: where its next member stands in the line at `lower..<upper`.
    struct Batch {
        var lower: Int
        var upper: Int
        var offset: Int
        var left: Int
        /// A member's reply has been written, so the bracket is open.
        var hasOutput = false
        /// Position in the output where it began. Nothing from there on leaves before the batch is complete, so that a
        /// failed sync can still replace the whole of it.
        var outputPosition: UInt64
    }

    /// A long reply that is made over several turns: what it has so far stands at the output's end, and nothing of it leaves before
    /// it is complete.
    struct Gathering {
        /// Position in the output where the reply begins.
        var outputPosition: UInt64
        /// Revision when it was begun: everything in it is as of then.
        var rev: UInt64
        /// Bytes of the reply before its first element.
        var opened = 0
        /// Times that it was begun anew, because something had changed meanwhile.
        var restarts = 0
        /// What it was made by besides the elements; another one makes it begin anew.
        var basis: AnyObject?
        /// Elements of the request's list that are done with.
        var done = 0
        /// Nothing has been found yet.
        var isFirst = true
        /// Text that follows the list.
        var aside: [UInt8] = []
        var shown = ShownRev()
    }

    var lines: LineOrder
    /// The request that is answered next, when it has been begun already.
    var begun: BegunRequest?
    var batch: Batch?
    var gathering: Gathering?
    var barriers = ReplyBarriers()

    init(lines: LineOrder) { self.lines = lines }

    init(lineLimit: Int) { self.init(lines: LineOrder(limit: lineLimit)) }

    /// Nothing is under way, and no reply is held back: all else is as at the beginning.
    var hasOnlyLines: Bool { begun == nil && batch == nil && gathering == nil && barriers.isEmpty }

    /// A reply has been begun and is not complete: nothing may come between.
    var isComposing: Bool { batch != nil || gathering != nil }

    /// Where in the output the reply stands that is not complete.
    var composingFrom: UInt64? { batch?.outputPosition ?? gathering?.outputPosition }

    /// How far the output may leave, given what is synced and how long it is.
    @inline(__always)
    mutating func sendable(syncedRev: SyncedRev, end: UInt64) -> UInt64 {
        barriers.sendable(syncedRev: syncedRev, end: min(end, composingFrom ?? end))
    }

    /// No reply that is under way will be completed, and none that has been made is held back any more.
    mutating func abandonReplies() {
        begun = nil
        batch = nil
        gathering = nil
        barriers = ReplyBarriers()
    }
}
