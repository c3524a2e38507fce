import Testing

@testable import KuraStorage

@Suite struct RoomRuleTests {
    private let rule = RoomRule(reserve: 20 << 20, overlay: 64 << 20)

    @Test func `plenty of room sets no bound`() {
        #expect(rule.overlayLimit(.init(free: 1 << 40, overlay: 0, wal: 0)) == nil)
        #expect(rule.overlayLimit(.init(free: 193 << 20, overlay: 0, wal: 0)) == nil)
        #expect(rule.overlayLimit(.init(free: 193 << 20, overlay: 0, wal: 64 << 20)) != nil)
    }

    @Test func `what is not folded never takes more than the room carries through the fold`() {
        for megabytes in 0..<200 {
            for wal in [0, 10, 64] {
                let facts = RoomRule.Facts(free: megabytes << 20, overlay: 0, wal: wal << 20)
                let limit = rule.overlayLimit(facts) ?? 64 << 20
                // In the log, in the WAL and in the tables, behind what the WAL has already.
                #expect(limit == 0 || 3 * limit + facts.wal <= facts.free)
            }
        }
    }

    @Test func `with hardly any room nothing is admitted rather than a trickle`() {
        #expect(rule.overlayLimit(.init(free: rule.margin + (150 << 10), overlay: 0, wal: 0)) == 0)
    }

    @Test func `the reserve grows with every byte behind the room for deletions, and then changes are admitted`() {
        var held = 0
        for free in stride(from: 0, through: 30 << 20, by: 64 << 10) {
            let left = free - held
            #expect(rule.missing(left, held: held) > 0 || rule.admits(left, held: held))
            held += rule.growth(left, held: held)
            #expect(free - held >= min(free, rule.deletions) || held == rule.reserve)
        }
        #expect(held == rule.reserve && rule.admits(rule.deletions, held: held))
        // There is no room that is neither used nor asked for.
        #expect(rule.missing(0, held: 0) == rule.reserve + rule.deletions)
        #expect(rule.missing(rule.deletions, held: rule.reserve) == 0)
    }

    @Test func `what a transaction brings about is carried through the fold, behind what is unfolded`() {
        for megabytes in 1..<200 {
            for overlay in [0, 1, 10, 60] {
                let facts = RoomRule.Facts(free: megabytes << 20, overlay: overlay << 20, wal: 1 << 20)
                let more = max(0, rule.transactionEnd(facts) - facts.overlay)
                // What was there before is in the log; the transaction has to come there, too.
                #expect(more == 0 || 3 * more + 2 * facts.overlay + facts.wal <= facts.free)
            }
        }
    }

    @Test func `removals have the reserve, and stay fewer than it carries`() {
        let facts = RoomRule.Facts(free: 1 << 20, overlay: 0, wal: 0)
        #expect(rule.removalPages(facts, held: 20 << 20) <= 21 << 20)
        #expect(rule.removalPages(facts, held: 20 << 20) > rule.removalPages(facts, held: 0))
        #expect(rule.removalPages(.init(free: 0, overlay: 0, wal: 0), held: 0) > 16 * RoomRule.pages)
        #expect(rule.removalsEnd(.init(free: 0, overlay: 0, wal: 0), held: 0) > 0)
    }
}
