import Testing

@testable import KuraServer
@testable import KuraStorage

@Suite struct ShownRevTests {
    /// What the law says, asked of everything shown, one by one.
    private struct Model {
        var strict: [UInt64] = []
        var relaxed: [UInt64] = []

        mutating func add(_ rev: UInt64, isRelaxed: Bool) {
            if isRelaxed { relaxed.append(rev) } else { strict.append(rev) }
        }

        mutating func forget(above rev: UInt64) {
            strict.removeAll { $0 > rev }
            relaxed.removeAll { $0 > rev }
        }

        func mayLeave(given newest: StrictRev, _ synced: SyncedRev) -> Bool {
            strict.allSatisfy { min($0, newest.rev) <= synced.rev }
        }

        var all: [UInt64] { strict + relaxed }
    }

    @Test(arguments: 0..<300) func `an answer waits for what it shows and nothing else`(seed: UInt64) {
        var random = SplitMix(state: seed)
        var shown = ShownRev()
        var model = Model()
        // What was forgotten may be waited for up to here: the newest of what is left is not known.
        var bound: UInt64 = 0
        for _ in 0..<20 {
            switch Int.random(in: 0...5, using: &random) {
            case 0:
                let rev = UInt64.random(in: 0...30, using: &random)
                if model.all.contains(where: { $0 > rev }) { bound = rev }
                shown.forget(above: rev)
                model.forget(above: rev)
            case 1:
                var part = ShownRev()
                for _ in 0..<3 {
                    let (rev, isRelaxed) = (UInt64.random(in: 0...30, using: &random), Bool.random(using: &random))
                    part.add(rev, isRelaxed: isRelaxed)
                    model.add(rev, isRelaxed: isRelaxed)
                }
                shown.add(part)
            default:
                let (rev, isRelaxed) = (UInt64.random(in: 0...30, using: &random), Bool.random(using: &random))
                shown.add(rev, isRelaxed: isRelaxed)
                model.add(rev, isRelaxed: isRelaxed)
            }
            let newest = StrictRev(UInt64.random(in: 0...30, using: &random))
            let synced = SyncedRev(UInt64.random(in: 0...30, using: &random))
            let leaves = synced.covers(shown.needed(given: newest))
            #expect(!leaves || model.mayLeave(given: newest, synced), "seed \(seed)")
            if model.mayLeave(given: newest, synced), synced.has(bound) { #expect(leaves, "seed \(seed)") }
            // Nothing in an answer can be lost when all that it shows is on the disk.
            if shown.isCovered(by: synced) { #expect(model.all.allSatisfy { synced.has($0) }, "seed \(seed)") }
            if model.all.allSatisfy({ synced.has($0) }), synced.has(bound) { #expect(shown.isCovered(by: synced)) }
            let committed = UInt64.random(in: 0...30, using: &random)
            if model.all.contains(where: { $0 > committed }) {
                #expect(shown.isAbove(committed: committed), "seed \(seed)")
            } else if bound <= committed {
                #expect(!shown.isAbove(committed: committed), "seed \(seed)")
            }
        }
    }

    @Test func `an answer that shows nothing waits for nothing`() {
        #expect(ShownRev().isCovered(by: 0) && !ShownRev().isAbove(committed: 0))
        #expect(ShownRev().needed(given: 9) == 0)
    }

    @Test func `what lies above the newest strict transaction is not waited for`() {
        #expect(ShownRev(7).needed(given: 5) == 5)
        #expect(ShownRev(3).needed(given: 5) == 3)
        var shown = ShownRev()
        shown.add(7, isRelaxed: true)
        #expect(shown.needed(given: 9) == 0 && !shown.isCovered(by: 6) && shown.isAbove(committed: 6))
    }
}
