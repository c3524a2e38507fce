import Glibc
import Testing

/// Random histories of writers and live queries against a record of what was written. `KURA_HISTORIES=10000` runs so many;
/// `KURA_FIRST_HISTORY=77` begins at that one.
@Suite struct LiveModelTests {
    private static func number(_ name: String, _ fallback: Int) -> Int {
        getenv(name).flatMap { Int(String(cString: $0)) } ?? fallback
    }
    private static let histories = number("KURA_HISTORIES", 40)
    private static let first = number("KURA_FIRST_HISTORY", 0)

    @Test(arguments: 0..<4)
    func `what live queries tell is at each revision what a find would show`(_ part: Int) throws {
        var events = 0
        var leftOut = 0
        for seed in stride(from: Self.first + part, to: Self.first + Self.histories, by: 4) {
            let counts = try Self.run(seed: UInt64(seed))
            events += counts.events
            leftOut += counts.leftOut
        }
        if Self.histories >= 200 { #expect(events > 0 && leftOut > 0) }
        if Self.histories >= 1000 { print("part \(part): \(events) events, \(leftOut) values left out") }
    }

    private static func run(seed: UInt64) throws -> (events: Int, leftOut: Int) {
        var random = SplitMix(state: seed &* 0x1234_5678_9ABC_DEF1 &+ 11)
        let world = try FeedWorld(seed: seed, random: &random)
        let writer = try LiveWriter(world, names: [8, 60, 200, 200].randomElement(using: &random)!)
        for _ in 0..<Int.random(in: 0...10, using: &random) { try writer.write(20, random: &random) }
        var watchers = [try LiveWatcher(world, random: &random), try LiveWatcher(world, random: &random)]
        for _ in 0..<Int.random(in: 10...30, using: &random) {
            switch Int.random(in: 0...15, using: &random) {
            case 0...5: try writer.write(Int.random(in: 1...20, using: &random), random: &random)
            case 6, 13: try writer.clear(random: &random)
            case 7, 8:
                if watchers.count < 6 { watchers.append(try LiveWatcher(world, random: &random)) }
            case 9: watchers.randomElement(using: &random)?.peer?.isStalled.toggle()
            case 10: watchers.randomElement(using: &random)?.die()
            case 11:
                for watcher in watchers where watcher.peer == nil {
                    try watcher.watch(resuming: Int.random(in: 0...3, using: &random) > 0)
                }
            case 12 where Int.random(in: 0...2, using: &random) == 0:
                for watcher in watchers {
                    try watcher.takeEvents()
                    watcher.die()
                }
                try world.restart()
                try writer.reconnect()
            default: for _ in 0..<5 { world.turn() }
            }
            for watcher in watchers { try watcher.takeEvents() }
        }
        for watcher in watchers {
            if watcher.peer == nil { try watcher.watch(resuming: true) }
            watcher.peer?.isStalled = false
        }
        var failure: (any Error)?
        world.turns {
            do { for watcher in watchers { try watcher.takeEvents() } } catch { failure = error }
            return failure != nil || watchers.allSatisfy(\.isUpToDate)
        }
        if let failure { throw failure }
        for watcher in watchers { try watcher.expectFind() }
        return (watchers.reduce(0) { $0 + $1.events }, watchers.reduce(0) { $0 + $1.leftOut })
    }
}
