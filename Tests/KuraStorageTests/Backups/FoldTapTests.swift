import Testing

@testable import KuraStorage

/// What a backup hears of the fold, and where that ends.
@Suite struct FoldTapTests {
    /// What the tap tells of a slice that is written between `note` and `committed`, with `between` in their midst.
    private func told(_ between: (FoldTap) throws -> Void) throws -> (rev: UInt64, records: Int, inSlice: UInt64) {
        let harness = try BootHarness()
        return try harness.start { recovery, _ in
            try harness.put(recovery, 0..<3)
            let slice = try #require(
                recovery.ledger.cutSlice(syncedRev: SyncedRev(recovery.ledger.rev), log: recovery.log))
            let tap = try FoldTap(harness.configuration, erases: false)
            defer { tap.discard() }
            tap.begin(recovery.writer, rev: 0)
            tap.note(slice, slice.newest)
            try between(tap)
            tap.committed(slice.rev)
            var count = 0
            _ = try tap.close()
            try tap.forEach { (_, _) throws(BackupFault) in count += 1 }
            return (tap.rev, count, slice.rev)
        }
    }

    @Test func `a slice that is committed before the close is told`() throws {
        let told = try told { _ in }
        #expect(told.rev == told.inSlice && told.records == 6)
    }

    @Test func `a slice that is committed behind the close is not, though it was noted before`() throws {
        let told = try told { tap in
            let (rev, scopes) = try tap.close()
            #expect(rev == 0 && scopes.isEmpty)
        }
        #expect(told.rev == 0 && told.records == 0)
    }

    @Test func `a slice that is noted behind the close is not told either`() throws {
        let harness = try BootHarness()
        try harness.start { recovery, _ in
            try harness.put(recovery, 0..<3)
            let slice = try #require(
                recovery.ledger.cutSlice(syncedRev: SyncedRev(recovery.ledger.rev), log: recovery.log))
            let tap = try FoldTap(harness.configuration, erases: false)
            defer { tap.discard() }
            tap.begin(recovery.writer, rev: 0)
            _ = try tap.close()
            tap.note(slice, slice.newest)
            tap.committed(slice.rev)
            try tap.forEach { (_, _) throws(BackupFault) in Issue.record("told") }
            #expect(tap.rev == 0)
        }
    }
}
