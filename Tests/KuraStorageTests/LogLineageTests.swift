import KuraBytes
import SQLite
import Testing

@testable import KuraCheck
@testable import KuraStorage

/// Logs and tables that do not belong together, and those that do although their names differ.
@Suite struct LogLineageTests {
    private let own: BootHarness
    private let other: BootHarness

    init() throws { (own, other) = (try BootHarness(), try BootHarness()) }

    private var log: String { own.configuration.logDirectory }

    private func newest(_ harness: BootHarness) throws -> String {
        let log = harness.configuration.logDirectory
        let number = try LogFiles.numbers(in: log).filter { try Segment(opening: $0, in: log).lastRev > 0 }.last
        return Segment.path(log, try #require(number))
    }

    /// Both have changes in the tables and more in the log; the other one has more of them.
    private func fill() throws {
        for (harness, keys) in [(own, 10), (other, 30)] {
            try harness.start { recovery, _ in
                try harness.put(recovery, 0..<3)
                try harness.fold(recovery)
                try harness.put(recovery, 3..<keys)
            }
            try harness.die(in: .serving)
        }
    }

    enum Mixture: CaseIterable {
        case segmentAdded, segmentReplaced, logReplaced, tablesReplaced
    }

    private func mix(_ mixture: Mixture) throws {
        switch mixture {
        case .segmentAdded: try FileSystem.copy(try newest(other), to: Segment.path(log, 9))
        case .segmentReplaced: try FileSystem.copy(try newest(other), to: try newest(own))
        case .logReplaced:
            try FileSystem.removeDirectory(log)
            try BootHarness.copy(other.configuration.logDirectory, to: log)
        case .tablesReplaced:
            try FileSystem.removeDirectory(own.configuration.durableDirectory)
            try BootHarness.copy(other.configuration.durableDirectory, to: own.configuration.durableDirectory)
        }
    }

    @Test(arguments: Mixture.allCases)
    func `what another directory has written is refused, told before, and nothing is changed`(mixture: Mixture) throws {
        try fill()
        #expect(LogLineage.refusal(own.configuration) == nil)
        try mix(mixture)
        let before = try BootHarness.contents(log)
        let told = DirectoryExamination.run(own.configuration).filter { $0.check == "log" && $0.severity == .error }
        #expect(told.count == 1 && told.first?.message.contains("mv ") == true)
        for _ in 0..<3 {
            let fault = #expect(throws: StorageFault.self) { try own.start { _, _ in } }
            guard case .foreign(let why) = fault else {
                Issue.record("\(String(describing: fault))")
                return
            }
            #expect(why == told.first?.message && why.contains("Nothing was changed"))
        }
        #expect(try BootHarness.contents(log) == before && own.quarantined.isEmpty)
    }

    @Test func `a segment that is added after a clean stop is refused, and what it says helps`() throws {
        try fill()
        try own.start { _, _ in }
        try FileSystem.copy(try newest(other), to: Segment.path(log, 9))
        own.fail()
        try FileSystem.rename(Segment.path(log, 9), own.configuration.dataDirectory + "/aside")
        try own.start { recovery, boot in
            try own.expect(recovery, 0..<10)
            #expect(boot.recovered.isEmpty)
        }
    }

    /// Has the next start begin a new history, and puts keys in it.
    private func beginHistory(_ keys: Range<Int>) throws -> String {
        try own.die(in: .serving)
        try FileSystem.remove(own.configuration.acknowledgedPath)
        return try own.start { recovery, _ in
            try own.put(recovery, keys)
            return recovery.epoch
        }
    }

    @Test func `changes of several histories, one after the other, are taken in`() throws {
        try fill()
        var epochs = [try beginHistory(10..<12), try beginHistory(12..<14)]
        // Nothing is changed in one, and in the next there is.
        epochs += [try beginHistory(14..<14), try beginHistory(14..<16)]
        #expect(Set(epochs).count == 4)
        try own.die(in: .serving)
        #expect(LogLineage.refusal(own.configuration) == nil)
        try own.start { recovery, _ in
            try own.expect(recovery, 0..<16)
            #expect(recovery.epoch == epochs.last)
        }
        // What has had recoveries is no less strict.
        try FileSystem.copy(try newest(other), to: Segment.path(log, 90))
        own.fail()
    }

    @Test func `older tables go on in the newest history of the log`() throws {
        try fill()
        let durable = own.configuration.durableDirectory
        try BootHarness.copy(durable, to: own.directory.path + "/old")
        let epoch = try beginHistory(10..<12)
        try FileSystem.removeDirectory(durable)
        try BootHarness.copy(own.directory.path + "/old", to: durable)
        #expect(LogLineage.refusal(own.configuration) == nil)
        for keys in [12..<13, 13..<14] {
            try own.start { recovery, _ in
                #expect(recovery.epoch == epoch)
                try own.put(recovery, keys)
            }
            try own.die(in: .serving)
        }
        try own.start { recovery, _ in try own.expect(recovery, 0..<14) }
    }

    @Test func `tables that were made anew of the log alone name it as what they come of`() throws {
        try own.start { recovery, _ in try own.put(recovery, 0..<10) }
        try FileSystem.truncate(own.tables, to: 0)
        try FileSystem.truncate(own.tables + "-wal", to: 0)
        for _ in 0..<2 { own.fail() }
        for _ in 0..<2 {
            try own.start { recovery, _ in try own.expect(recovery, 0..<10) }
            try own.die(in: .serving)
        }
        try FileSystem.remove(own.configuration.recoveredPath)
        try own.start { recovery, _ in try own.expect(recovery, 0..<10) }
    }

    @Test func `a recovery takes nothing of another history`() throws {
        try fill()
        try FileSystem.copy(try newest(other), to: Segment.path(log, 9))
        for _ in 0..<2 { try own.meetDamage(in: .log) }
        try own.start { recovery, boot in
            try own.expect(recovery, 0..<10)
            #expect(recovery.ledger.rev == 20 && boot.recovered.first?.origin == .tables)
        }
        #expect(own.report.contains("segment 9 of the log is of another history"))
    }

    // MARK: Judging

    private func lineage(_ history: LogHistory, _ ancestors: [String: UInt64] = [:], isUnnoted: Bool = false) throws
        -> LogLineage
    {
        let tables = try Tables.openWriter(own.directory.path + "/judged.sqlite", cacheKibibytes: 1024)
        defer { tables.close() }
        try history.write(in: tables, having: ancestors)
        try tables.execute("INSERT OR REPLACE INTO meta VALUES('foldedRev', 10)")
        if isUnnoted { try tables.execute("DELETE FROM meta WHERE name = 'ancestors'") }
        return try LogLineage(in: tables)
    }

    private func member(_ epoch: String, of parent: String = "", began: UInt64 = 0, _ revs: ClosedRange<UInt64>)
        -> LogLineage.Member
    {
        LogLineage.Member(
            number: 1, history: LogHistory(epoch: epoch, parent: parent, began: began),
            previousRev: revs.lowerBound - 1,
            lastRev: revs.upperBound)
    }

    private func admits(_ lineage: LogLineage, _ members: LogLineage.Member...) -> Bool {
        (try? lineage.judge(members, own.configuration)) != nil
    }

    @Test func `an ancestor's changes belong to the tables up to where its history was left`() throws {
        let lineage = try lineage(LogHistory(epoch: "b", parent: "a", began: 20), ["x": 5])
        #expect(admits(lineage, member("a", 1...20), member("b", of: "a", began: 20, 21...30), member("x", 1...5)))
        #expect(!admits(lineage, member("a", 1...21)))
        #expect(!admits(lineage, member("x", 1...6)))
        #expect(!admits(lineage, member("y", 1...2)))
        #expect(!admits(lineage, member("c", of: "a", began: 20, 21...22)), "another restore of the same backup")
    }

    @Test func `what goes on from the tables belongs to them, unless they have gone another way`() throws {
        let lineage = try lineage(LogHistory(epoch: "a"))
        let (next, last) = (member("b", of: "a", began: 12, 13...14), member("c", of: "b", began: 14, 15...16))
        #expect(admits(lineage, member("a", 1...12), next, last))
        #expect(try lineage.judge([last, next], own.configuration).newest.epoch == "c")
        #expect(!admits(lineage, member("a", 1...13), next))
        #expect(!admits(lineage, member("b", of: "a", began: 9, 10...14)))
        #expect(!admits(lineage, last))
    }

    @Test func `tables of an earlier version that have come of another history take what is there`() throws {
        let restored = try lineage(LogHistory(epoch: "b", parent: "a", began: 12), isUnnoted: true)
        #expect(admits(restored, member("x", 1...12)))
        let first = try lineage(LogHistory(epoch: "b"), isUnnoted: true)
        #expect(!admits(first, member("x", 1...12)))
        var listed = member("x", 1...12)
        listed.isListed = true
        #expect(admits(first, listed))
    }
}
