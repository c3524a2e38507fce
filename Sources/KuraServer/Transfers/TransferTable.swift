import KuraBytes
import KuraStorage

/// The transfers that are under way, and whose documents the turn takes in: those of one import or deletion a turn, by turns, so that what
/// they cost the others is bounded. Belongs to the loop.
struct TransferTable {
    /// What a transfer has for the turn.
    enum Offer {
        /// An import's batch.
        case batch(ImportBatch, ImportWork)
        /// A deletion's slice.
        case slice([MatchedDocument], DocumentsDeletion)
    }

    private(set) var all: [Transfer] = []
    /// The one that was asked last whether it has something for the turn.
    private var lastAsked = 0
    private var lastTicket: UInt64 = 0
    /// The transfer whose batch or slice is in the turn, and its revision.
    private var staged: (transfer: Transfer, rev: UInt64)?

    var isEmpty: Bool { all.isEmpty }
    var count: Int { all.count }

    /// Bytes of memory that they take.
    var footprint: Int { all.reduce(0) { $0 + $1.channel.footprint } }

    /// A number that no other transfer has: a request waits with it in its place.
    mutating func nextTicket() -> UInt64 {
        lastTicket += 1
        return lastTicket
    }

    mutating func insert(_ transfer: Transfer) { all.append(transfer) }

    /// One whose outcome is there.
    mutating func remove(_ transfer: Transfer) {
        transfer.join()
        all.removeAll { $0 === transfer }
    }

    // MARK: In a turn

    /// Something may be taken into the turn.
    var hasOffer: Bool {
        all.contains { $0.channel.readyBatch != nil || ($0.work as? DocumentsDeletion)?.isOffered == true }
    }

    /// Asks one after the other, beginning behind the one whose turn it was last. A slice that is taken has to be judged.
    mutating func takeOffer() -> (transfer: Transfer, offer: Offer)? {
        staged = nil
        for _ in all.indices {
            lastAsked = (lastAsked + 1) % all.count
            let transfer = all[lastAsked]
            if let work = transfer.work as? DocumentsDeletion, let slice = work.takeSlice() {
                return (transfer, .slice(slice, work))
            }
            if let work = transfer.work as? ImportWork, let batch = transfer.channel.readyBatch {
                return (transfer, .batch(batch, work))
            }
        }
        return nil
    }

    /// What the transfer offered is in the turn, with the revision.
    mutating func stage(_ transfer: Transfer, rev: UInt64) { staged = (transfer, rev) }

    /// The turn is over: tells the transfer whose documents were in it what became of them.
    mutating func judgeStaged(isStored: Bool) {
        guard let (transfer, rev) = staged.take() else { return }
        if let work = transfer.work as? DocumentsDeletion {
            work.judge(isStored ? .stored(rev: rev, work.staged) : .failed(.engine(.noSpace)))
        } else {
            transfer.channel.judge(isStored ? .stored(rev: rev) : .failed(.engine(.noSpace)))
        }
    }

    // MARK: Ending

    /// Nobody is there any more to hear of those of a connection.
    func cancel(of token: UInt64) {
        for transfer in all where transfer.token == token { transfer.cancel() }
    }

    /// Those that can end early are to end.
    func cancelAll() {
        for transfer in all { transfer.cancel() }
    }

    /// Nothing of theirs is stored any more.
    func failAll() {
        for transfer in all {
            transfer.cancel()
            transfer.channel.judge(.failed(.engine(.cancelled)))
            (transfer.work as? DocumentsDeletion)?.judge(.failed(.engine(.cancelled)))
        }
    }
}
