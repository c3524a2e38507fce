import Testing

@testable import KuraServer
@testable import KuraStorage

@Suite struct ReplyBarriersTests {
    /// What the law says: a reply leaves when what it shows is synced, and so is what all before it show.
    private struct Model {
        var replies: [(end: UInt64, rev: UInt64)] = []

        func sendable(syncedRev: UInt64) -> UInt64 {
            var position: UInt64 = 0
            for reply in replies {
                guard reply.rev <= syncedRev else { break }
                position = reply.end
            }
            return position
        }
    }

    @Test(arguments: 0..<200) func `what may leave never passes a reply that waits for its sync`(seed: UInt64) {
        var random = SplitMix(state: seed)
        var barriers = ReplyBarriers()
        var model = Model()
        var end: UInt64 = 0
        var rev: UInt64 = 0
        var synced: UInt64 = 0
        for _ in 0..<200 {
            // A turn: replies that show old, new or no revisions, or wait for what its end puts into the log.
            let start = synced
            var waiting: [Int] = []
            for _ in 0..<Int.random(in: 0...5, using: &random) {
                var shown: UInt64 = 0
                switch Int.random(in: 0...3, using: &random) {
                case 0:
                    rev += 1
                    shown = rev
                case 1 where rev > 0: shown = UInt64.random(in: 0...rev, using: &random)
                case 2:
                    barriers.awaitsLog(at: end)
                    waiting.append(model.replies.count)
                default: break
                }
                if shown > start { barriers.shows(StrictRev(shown), at: end) }
                end += UInt64.random(in: 1...100, using: &random)
                model.replies.append((end, shown))
            }
            #expect(barriers.awaitsLog == !waiting.isEmpty)
            if barriers.awaitsLog {
                // It may be a part of the turn's last change, or have a revision of its own.
                if rev == start || Bool.random(using: &random) { rev += 1 }
                for index in waiting { model.replies[index].rev = max(model.replies[index].rev, rev) }
                barriers.isInLog(rev)
            }
            barriers.endTurn()
            if Bool.random(using: &random), rev > 0 { synced = UInt64.random(in: synced...rev, using: &random) }
            let allowed = barriers.sendable(syncedRev: SyncedRev(synced), end: end)
            #expect(allowed <= model.sendable(syncedRev: synced), "seed \(seed)")
            #expect(allowed <= end)
        }
        // And nothing is kept back for ever.
        #expect(barriers.sendable(syncedRev: SyncedRev(rev), end: end) == end)
        #expect(!barriers.awaitsSync)
    }

    @Test func `replies of a turn before the first that waits may leave`() {
        var barriers = ReplyBarriers()
        barriers.shows(5, at: 100)
        barriers.shows(7, at: 200)
        barriers.endTurn()
        #expect(barriers.sendable(syncedRev: 4, end: 300) == 100)
        #expect(barriers.sendable(syncedRev: 6, end: 300) == 100)
        #expect(barriers.awaitsSync)
        #expect(barriers.sendable(syncedRev: 7, end: 300) == 300)
    }

    @Test func `a later turn that shows less waits behind an earlier one that shows more`() {
        var barriers = ReplyBarriers()
        barriers.shows(9, at: 10)
        barriers.endTurn()
        barriers.shows(3, at: 20)
        barriers.endTurn()
        #expect(barriers.sendable(syncedRev: 3, end: 30) == 10)
        #expect(barriers.sendable(syncedRev: 9, end: 30) == 30)
    }

    @Test func `what is noted later of a reply that began earlier holds back all from there on`() {
        var barriers = ReplyBarriers()
        barriers.awaitsLog(at: 150)
        barriers.awaitsLog(at: 100)
        barriers.isInLog(5)
        barriers.endTurn()
        #expect(barriers.sendable(syncedRev: 4, end: 300) == 100)
        barriers.shows(6, at: 250)
        barriers.shows(7, at: 200)
        barriers.endTurn()
        #expect(barriers.sendable(syncedRev: 5, end: 300) == 200)
    }
}
