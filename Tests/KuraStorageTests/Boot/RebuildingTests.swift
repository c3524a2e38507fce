import Glibc
import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

/// Real damage to tables and log, and what is saved of them.
@Suite struct RebuildingTests {
    private let harness: BootHarness

    init() throws { harness = try BootHarness() }

    /// 40 changes in the tables, 20 more in the log only; the log has all of them.
    @discardableResult
    private func fill() throws -> String {
        try harness.start { recovery, _ in
            try harness.put(recovery, 0..<20)
            try harness.fold(recovery)
            try harness.put(recovery, 20..<30)
            return recovery.epoch
        }
    }

    enum Damage: String, CaseIterable {
        case firstPageZeroed, firstPageFlipped, zeroed, truncated, halved, missing, settingsPage, foreign
    }

    private func apply(_ damage: Damage) throws {
        let path = harness.tables
        let size = FileSystem.size(path)
        switch damage {
        case .firstPageZeroed: try harness.damage(path, at: 0, bytes: [UInt8](repeating: 0, count: 4096))
        case .firstPageFlipped: try harness.damage(path, at: 100, bytes: [UInt8](repeating: 0xA5, count: 300))
        case .zeroed: try harness.damage(path, at: 0, bytes: [UInt8](repeating: 0, count: size))
        case .truncated: try FileSystem.truncate(path, to: 0)
        case .halved: try FileSystem.truncate(path, to: size / 2 / 4096 * 4096)
        case .missing: try FileSystem.remove(path)
        case .settingsPage:
            let root = try Connection(path: path, mode: .readOnly)
                .scalar("SELECT rootpage FROM sqlite_schema WHERE name = 'settings'")
            let page = Int(try #require(root))
            try harness.damage(path, at: (page - 1) * 4096, bytes: [UInt8](repeating: 0x5A, count: 4096))
        case .foreign:
            // Another program's; with our tables in it the header alone would be repaired.
            for end in ["", "-wal", "-shm"] { try FileSystem.remove(path + end) }
            let other = try Connection(path: path, mode: .readWriteCreate)
            try other.setPersistWAL(true)
            try other.execute("PRAGMA journal_mode=WAL; PRAGMA application_id=16909060; CREATE TABLE theirs(x);")
            other.close()
        }
        // The WAL is checkpointed, and would bring what is in it back.
        if damage != .missing { try FileSystem.truncate(path + "-wal", to: 0) }
    }

    @Test(arguments: Damage.allCases)
    func `tables that are damaged are built anew from the log when that goes back to the first revision`(
        damage: Damage
    ) throws {
        let epoch = try fill()
        try apply(damage)
        let damaged = try harness.tablesFiles(harness.configuration.durableDirectory)
        harness.fail()
        #expect(harness.quarantined.isEmpty)
        harness.fail()
        #expect(harness.quarantined.isEmpty)
        #expect(try harness.tablesFiles(harness.configuration.durableDirectory) == damaged, "nothing was changed")
        try harness.start { recovery, boot in
            try harness.expect(recovery, 0..<30)
            #expect(recovery.ledger.rev == 60 && recovery.epoch != epoch)
            let notice = try #require(boot.recovered.first)
            #expect(notice.origin == .nothing && notice.savedRev == 60 && notice.newestRev == 60)
            try harness.fold(recovery)
        }
        let aside = harness.configuration.quarantineDirectory + "/" + harness.quarantined[0] + "/durable"
        #expect(try harness.tablesFiles(aside) == damaged)
        try harness.start { recovery, _ in try harness.expect(recovery, 0..<30) }
    }

    /// The log's first segments go, as retention lets them go.
    private func forgetBeginning() throws {
        let log = harness.configuration.logDirectory
        let numbers = try FileSystem.names(in: log).compactMap(LogFiles.number(ofFile:)).sorted()
        try #require(numbers.count > 1)
        try Segment.remove(numbers[0], in: log)
    }

    /// The same as `fill`, with what is folded in a segment of its own, which has been let go.
    private func fillCompacted() throws {
        try harness.start { recovery, _ in
            try harness.put(recovery, 0..<20)
            try harness.fold(recovery)
        }
        try harness.start { recovery, _ in try harness.put(recovery, 20..<30) }
        try forgetBeginning()
    }

    @Test
    func `without a snapshot and without the log's beginning the start is empty, says so, and reuses no revision`()
        throws
    {
        try fillCompacted()
        try apply(.zeroed)
        for _ in 0..<2 { harness.fail() }
        try harness.start { recovery, boot in
            #expect(recovery.settings.count == 0)
            let notice = try #require(boot.recovered.first)
            #expect(notice.origin == .nothing && notice.savedRev == 0 && notice.newestRev == 60)
            #expect(recovery.ledger.rev > 60)
            #expect(harness.report.contains("EMPTY") && harness.report.contains("1 TO 60 ARE ONLY IN THE QUARANTINE"))
            try harness.put(recovery, 0..<2, "new")
        }
        try harness.start { recovery, _ in try harness.expect(recovery, 0..<2, "new") }
    }

    @Test func `a snapshot is restored, and the log's changes behind it are added`() throws {
        try harness.start { recovery, _ in
            try harness.put(recovery, 0..<20)
            try harness.fold(recovery)
        }
        let kept = harness.directory.path + "/snapshot"
        try FileSystem.copy(harness.tables, to: kept)
        try harness.start { recovery, _ in
            try harness.put(recovery, 20..<25)
            try harness.fold(recovery)
        }
        try harness.start { recovery, _ in try harness.put(recovery, 25..<30) }
        try forgetBeginning()
        try apply(.firstPageZeroed)
        harness.configuration.snapshots = SnapshotSource { _ throws(StorageFault) in
            .init(name: "daily", rev: 40) { configuration throws(StorageFault) in
                try FileSystem.copy(kept, to: configuration.tablesPath)
            }
        }
        for _ in 0..<2 { harness.fail() }
        try harness.start { recovery, boot in
            try harness.expect(recovery, 0..<30)
            let notice = try #require(boot.recovered.first)
            #expect(notice.origin == .snapshot && notice.snapshot == "daily")
            #expect(notice.savedRev == 60 && notice.newestRev == 60)
        }
    }

    @Test func `a snapshot that says another revision, or does not hold, is passed over`() throws {
        try fill()
        let kept = harness.directory.path + "/snapshot"
        try FileSystem.copy(harness.tables, to: kept)
        try apply(.firstPageZeroed)
        harness.configuration.snapshots = SnapshotSource { _ throws(StorageFault) in
            .init(name: "daily", rev: 39) { configuration throws(StorageFault) in
                try FileSystem.copy(kept, to: configuration.tablesPath)
            }
        }
        for _ in 0..<2 { harness.fail() }
        try harness.start { recovery, boot in
            try harness.expect(recovery, 0..<30)
            #expect(boot.recovered.first?.origin == .nothing)
            #expect(harness.report.contains("a snapshot could not be restored"))
        }
    }

    @Test func `a log with a hole gives what is before and behind it, and says what is lost`() throws {
        try fillCompacted()
        let log = harness.configuration.logDirectory
        let number = try #require(try LogFiles.numbers(in: log).last)
        // The rows of 50 to 53 are gone; those behind say that they had been synced.
        do {
            let whole = try Segment(opening: number, in: log)
            let other = try Segment(creating: 90, in: log, capacity: 1 << 16, recycled: nil)
            try whole.rows(after: 0) { (row) throws(StorageFault) in
                guard row.rev < 50 || row.rev > 54 else { return }
                try other.append(
                    previous: row.previous, rev: row.rev, at: row.at, records: row.records, synced: row.rev - 1)
            }
        }
        try Segment.remove(number, in: log)
        try harness.start { recovery, boot in
            try harness.expect(recovery, 0..<24)
            try harness.expect(recovery, 27..<30)
            let notice = try #require(boot.recovered.first)
            #expect(notice.what == .log && notice.origin == .tables && notice.savedRev == 48 && notice.newestRev == 60)
            #expect(notice.missing == [.init(fromRev: 49, toRev: 54)])
            #expect(recovery.ledger.rev == 60, "revisions that were given out do not come back")
            #expect(harness.report.contains("revisions 49 to 54"))
        }
        try harness.start { _, boot in #expect(boot.recovered.count == 1) }
    }

    @Test func `a log with a hole is added to a snapshot as well`() throws {
        try harness.start { recovery, _ in
            try harness.put(recovery, 0..<20)
            try harness.fold(recovery)
        }
        let kept = harness.directory.path + "/snapshot"
        try FileSystem.copy(harness.tables, to: kept)
        try harness.start { recovery, _ in try harness.put(recovery, 20..<30) }
        let number = try #require(try LogFiles.numbers(in: harness.configuration.logDirectory).last)
        let path = Segment.path(harness.configuration.logDirectory, number)
        let segment = try Segment(opening: number, in: harness.configuration.logDirectory)
        try TestDisk.flip(path, at: (SegmentFormat.firstRow + segment.used) / 2)
        let damages = try Segment(opening: number, in: harness.configuration.logDirectory).damages
        try #require(damages.count == 1)
        try apply(.firstPageZeroed)
        harness.configuration.snapshots = SnapshotSource { _ throws(StorageFault) in
            .init(name: "daily", rev: 40) { configuration throws(StorageFault) in
                try FileSystem.copy(kept, to: configuration.tablesPath)
            }
        }
        for _ in 0..<2 { harness.fail() }
        try harness.start { recovery, boot in
            try harness.expect(recovery, 0..<20)
            try harness.expect(recovery, 29..<30)
            let notice = try #require(boot.recovered.first)
            #expect(notice.what == .durable && notice.origin == .snapshot && notice.savedRev == 60)
            #expect(notice.missing.allSatisfy { $0.fromRev == $0.toRev } && notice.missing.count <= 1)
        }
    }

    @Test func `a segment whose file is zeroed costs its own changes`() throws {
        try fillCompacted()
        let log = harness.configuration.logDirectory
        let number = try #require(try LogFiles.numbers(in: log).last)
        let path = Segment.path(log, number)
        try harness.damage(path, at: 0, bytes: [UInt8](repeating: 0, count: FileSystem.size(path)))
        // The harness has no log thread, which writes what was acknowledged.
        do {
            let connection = try Connection(path: harness.tables, mode: .readOnly)
            let epoch = try connection.prepare("SELECT value FROM meta WHERE name = 'epoch'")
            #expect(try epoch.step())
            _ = try AcknowledgedNote(harness.configuration.acknowledgedPath, epoch: epoch.text(0), rev: 60)
        }
        try harness.start { recovery, boot in
            try harness.expect(recovery, 0..<20)
            let notice = try #require(boot.recovered.first)
            #expect(notice.savedRev == 40 && notice.what == .log && notice.missing == [.init(fromRev: 41, toRev: 60)])
            #expect(recovery.ledger.rev > 60)
        }
    }

    // MARK: Kills

    @Test func `a kill behind any move leaves something that the next start finishes`() throws {
        for moved in 0...20 {
            let harness = try BootHarness()
            try harness.start { recovery, _ in
                try harness.put(recovery, 0..<20)
                try harness.fold(recovery)
                try harness.put(recovery, 20..<30)
            }
            // What a start leaves that was killed there.
            var notice = RecoveredNotice(at: nowMilliseconds(), what: .durable, phase: "open", reason: "it was killed")
            (notice.step, notice.quarantine) = (.moving, "aside")
            try RecoveredFile(harness.configuration).write([notice])
            let aside = harness.configuration.quarantineDirectory + "/aside"
            for path in [harness.configuration.quarantineDirectory, aside, aside + "/durable", aside + "/log"] {
                try FileSystem.makeDirectory(path)
            }
            let log = harness.configuration.logDirectory
            let moves =
                ["", "-wal", "-shm"].filter { FileSystem.exists(harness.tables + $0) }
                .map { (harness.tables + $0, aside + "/durable/kura.sqlite" + $0) }
                + (try FileSystem.names(in: log).sorted().map { (log + "/" + $0, aside + "/log/" + $0) })
            for (from, to) in moves.prefix(moved) { try FileSystem.rename(from, to) }
            try harness.start { recovery, boot in
                try harness.expect(recovery, 0..<30)
                #expect(boot.recovered.first?.origin == .tables && boot.recovered.count == 1)
            }
            #expect(harness.quarantined == ["aside"], "\(moved)")
            if moved > moves.count {
                #expect(moved > 4, "every file is one")
                return
            }
        }
    }

    @Test func `starts that fail with what was saved leave more and more out, and come through`() throws {
        try fill()
        for _ in 0..<2 { try harness.meetDamage(in: .open) }
        // Damage is met again and again, in the phase that takes the log in.
        var rungs: [RecoveredNotice.Rung] = []
        for _ in 0..<5 {
            try harness.meetDamage(in: .log)
            rungs.append(try rung())
        }
        #expect(rungs == [.withoutTables, .withoutLog, .nothing, .nothing, .nothing])
        #expect(harness.quarantined.count == 1)
        try harness.start { recovery, boot in
            #expect(recovery.settings.count == 0 && boot.recovered.first?.savedRev == 0)
        }
    }

    private func rung() throws -> RecoveredNotice.Rung {
        try #require(try RecoveredFile(harness.configuration).read().first).attempt.rung
    }

    @Test(arguments: BootPhase.allCases)
    func `a recovery that is killed in a phase, however often, is begun again and saves everything`(
        phase: BootPhase
    ) throws {
        try fill()
        for _ in 0..<2 { try harness.meetDamage(in: .open) }
        for _ in 0..<20 {
            try harness.die(in: phase)
            #expect(try rung() == .all)
        }
        try harness.start { recovery, boot in
            try harness.expect(recovery, 0..<30)
            #expect(boot.recovered.count == 1 && boot.recovered.first?.origin == .tables)
        }
        #expect(harness.quarantined.count == 1)
    }

    @Test func `what was saved and then held is the data, whatever comes`() throws {
        try fill()
        for _ in 0..<2 { try harness.meetDamage(in: .open) }
        try harness.start(serves: false) { recovery, _ in try harness.put(recovery, 30..<35) }
        for _ in 0..<3 { try harness.start { recovery, _ in try harness.expect(recovery, 0..<35) } }
        #expect(harness.quarantined.count == 1)
    }

    @Test func `a recovered_json that is damaged is set aside and told of`() throws {
        try fill()
        TestFiles.write("{\"format\":1,\"notices\":[{\"what\":", to: harness.configuration.recoveredPath)
        try harness.start { recovery, _ in try harness.expect(recovery, 0..<30) }
        #expect(FileSystem.exists(harness.configuration.recoveredPath + ".damaged"))
        #expect(harness.report.contains("recovered.json is damaged"))
    }

    @Test func `what is set aside is named by its time`() {
        #expect(Quarantine.name(at: 0) == "1970-01-01T00-00-00Z")
        #expect(Quarantine.name(at: 1_709_251_199_999) == "2024-02-29T23-59-59Z")
        #expect(Quarantine.name(at: 1_795_325_701_120) == "2026-11-22T05-35-01Z")
        #expect(Quarantine.name(at: 4_102_444_800_000) == "2100-01-01T00-00-00Z")
    }

    @Test func `what the quarantine has is listed, with when and why`() throws {
        try fill()
        for _ in 0..<2 { try harness.meetDamage(in: .open) }
        try harness.start { _, _ in }
        let quarantine = harness.configuration.quarantineDirectory
        TestFiles.write("12345", to: quarantine + "/000007.sqlite-wal")
        TestFiles.write("1", to: quarantine + "/blob-00-1")
        let entries = try Quarantine.entries(harness.configuration)
        #expect(entries.map(\.name) == (harness.quarantined))
        let whole = try #require(entries.first { $0.name.hasSuffix("Z") })
        #expect(whole.reason.contains("phase open") && whole.bytes > 4096 && whole.files > 3)
        #expect(abs(whole.at - nowMilliseconds()) < 60_000)
        #expect(entries.first { $0.name == "000007.sqlite-wal" }?.bytes == 5)
        #expect(entries.allSatisfy { !$0.reason.isEmpty })
    }
}

enum TestFiles {
    static func write(_ text: String, to path: String) {
        guard let descriptor = try? FileSystem.open(path, O_WRONLY | O_CREAT | O_TRUNC) else { return }
        defer { close(descriptor) }
        _ = Array(text.utf8).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}

/// Only root can mount a small disk.
@Suite(.enabled(if: SmallDisk.isAvailable)) struct FullDiskBootTests {
    @Test func `a full disk moves nothing, and what is left of the room is not needed to know that`() throws {
        let disk = try SmallDisk(mebibytes: 16)
        let harness = try BootHarness(data: disk.data)
        try harness.start { recovery, _ in
            try harness.put(recovery, 0..<20)
            try harness.fold(recovery)
            try harness.put(recovery, 20..<30)
        }
        for _ in 0..<2 { try harness.meetDamage(in: .open) }
        disk.fill()
        for _ in 0..<4 {
            #expect { try harness.start { _, _ in } } throws: { ($0 as? StorageFault)?.isFull == true }
            #expect(harness.quarantined.isEmpty && FileSystem.exists(harness.tables))
        }
        // Room for a notice, and none for copies.
        let filler = disk.data + "/../filler"
        try FileSystem.truncate(filler, to: FileSystem.size(filler) - 256 << 10)
        #expect { try harness.start { _, _ in } } throws: { ($0 as? StorageFault)?.isFull == true }
        #expect(harness.quarantined.isEmpty && FileSystem.exists(harness.tables))
        disk.release()
        try harness.start { recovery, boot in
            try harness.expect(recovery, 0..<30)
            #expect(boot.recovered.count == 1)
        }
    }
}
