import Glibc
import KuraBytes
import SQLite
import Testing

@testable import KuraCheck
@testable import KuraStorage

@Suite struct BootTests {
    private let harness: BootHarness

    init() throws { harness = try BootHarness() }

    private var record: BootRecord? { BootFile(harness.configuration).read() }

    @Test func `a note's text is one line of JSON, whatever is in it, and reads back`() {
        var note = ByteBuffer()
        note.append("{\"format\":1")
        note.append(note: "reason", "a \"b\" \\ c\nd\u{1}é")
        note.append("}")
        #expect(String(note.bytes) == #"{"format":1,"reason":"a \"b\" \\ c d é"}"#)
        #expect(NoteReader(note.bytes)?.text("reason") == #"a "b" \ c d é"#)
    }

    @Test func `what is written to boot_json is read back, whatever the reason says`() throws {
        var record = BootRecord()
        record.phase = .migrate
        (record.attempts, record.durableFailures, record.cacheFailures) = (3, 2, 1)
        (record.openingCache, record.readingCaches, record.isUnclean) = ("blobs.sqlite", ["models", "blobs"], true)
        (record.failure.phase, record.failure.reason) = ("log", "a \"quoted\" \\ reason, ünïcödé 蔵")
        var file = BootFile(harness.configuration)
        try file.write(record)
        #expect(self.record == record)
        record.failure.reason = String(repeating: "\"蔵", count: 2000)
        try file.writeDurably(record)
        try file.write(record)
        let found = try #require(self.record)
        #expect(record.failure.reason.hasPrefix(found.failure.reason) && found.failure.reason.utf8.count > 100)
        #expect(FileSystem.size(harness.configuration.bootPath) == BootRecord.bytes)
    }

    @Test func `a byte of boot_json that changes has the file count as none`() throws {
        var record = BootRecord()
        (record.phase, record.attempts, record.damagedFile) = (.open, 2, "log/000001.log")
        (record.failure.phase, record.failure.reason) = ("log", "a \"reason\"")
        var file = BootFile(harness.configuration)
        try file.write(record)
        let whole = try #require(try FileSystem.contents(harness.configuration.bootPath, atMost: BootRecord.bytes))
        for offset in whole.indices {
            for bit in [1, 2, 8] as [UInt8] {
                var changed = whole
                changed[offset] ^= bit
                let found = changed.withBytes { BootRecord($0) }
                // Without the checksum's name it is one of an earlier version, and nothing else of it has changed.
                #expect(found == nil || found == record, "byte \(offset)")
            }
        }
        // As an earlier version has left it.
        let text = String(decoding: whole, as: UTF8.self).replacing(/,"check":\d+/, with: "")
        #expect(Array(text.utf8).withBytes { BootRecord($0) } == record)
    }

    @Test(arguments: [
        "", "{", "{}", "[]", "null", "{\"format\":2,\"phase\":\"open\"}", "{\"format\":1,\"phase\":\"nowhere\"}",
        "{\"format\":1,\"phase\":\"open\",\"durableFailures\":", "\u{0}\u{0}\u{0}",
        "{\"format\":1,\"phase\":\"ended\",\"durableFailures\":-9223372036854775808,\"attempts\":99999999999999999999}",
    ])
    func `a boot_json of any other text counts as none`(text: String) throws {
        try harness.start { recovery, _ in try harness.put(recovery, 0..<3) }
        let descriptor = try FileSystem.open(harness.configuration.bootPath, O_WRONLY | O_TRUNC)
        _ = Array(text.utf8).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
        try harness.start { recovery, boot in
            try harness.expect(recovery, 0..<3)
            #expect(boot.recovered.isEmpty)
        }
        #expect(harness.quarantined.isEmpty)
    }

    @Test func `pages that a power cut has torn under a scrub are put back, and told of`() throws {
        try harness.start { recovery, _ in
            try harness.put(recovery, 0..<20)
            try harness.fold(recovery)
        }
        let tables = try #require(try FileSystem.contents(harness.tables, atMost: 1 << 24))
        let numbers = 2...tables.count / 4096
        try ScrubJournal(tables: harness.tables).write(
            numbers.map { (number: $0, bytes: Array(tables[($0 - 1) * 4096..<$0 * 4096])) })
        for number in numbers {
            try harness.damage(harness.tables, at: number * 4096 - 512, bytes: [UInt8](repeating: 0xEE, count: 512))
        }
        try harness.start { recovery, _ in try harness.expect(recovery, 0..<20) }
        #expect(harness.report.contains("\(numbers.count) pages whose overwriting was cut off have been put back"))
        #expect(harness.quarantined.isEmpty)
    }

    @Test func `a boot_json that cannot be written keeps nobody from starting`() throws {
        #expect(mkdir(harness.configuration.bootPath, 0o700) == 0)
        for _ in 0..<4 { try harness.start { _, _ in } }
        #expect(harness.report.contains("is not counted"))
        #expect(harness.quarantined.isEmpty)
    }

    @Test func `phases are told as they come, and an end takes them back`() throws {
        try harness.start { _, boot in
            #expect(record?.phase == .serving && record?.attempts == 0)
        }
        #expect(record?.phase == .ended)
        try harness.die(in: .open)
        #expect(record?.phase == .open && record?.attempts == 1)
        try harness.die(in: .log)
        #expect(record?.phase == .log && record?.attempts == 2 && record?.durableFailures == 0)
        #expect(record?.failure.phase == "")
    }

    @Test(arguments: BootPhase.allCases) func `a process that is killed in any phase moves nothing, however often`(
        phase: BootPhase
    ) throws {
        let epoch = try harness.start { recovery, _ in
            try harness.put(recovery, 0..<20)
            try harness.fold(recovery)
            try harness.put(recovery, 20..<30)
            return recovery.epoch
        }
        for _ in 0..<20 { try harness.die(in: phase) }
        try harness.start { recovery, boot in
            try harness.expect(recovery, 0..<30)
            #expect(boot.recovered.isEmpty && recovery.epoch == epoch)
            #expect(harness.report.contains("that counts as nothing") == phase.isDurable)
        }
        #expect(harness.quarantined.isEmpty)
    }

    @Test func `a process that is killed now here and now there moves nothing either`() throws {
        try harness.start { recovery, _ in try harness.put(recovery, 0..<3) }
        for phase in BootPhase.allCases + BootPhase.allCases.reversed() { try harness.die(in: phase) }
        let findings = DirectoryExamination.run(harness.configuration).filter { $0.check == "starts" }
        #expect(findings.allSatisfy { $0.severity == .ok }, "the last has come no further than the lock")
        try harness.die(in: .log)
        let told = try #require(DirectoryExamination.run(harness.configuration).first { $0.check == "starts" })
        #expect(told.severity == .warning && told.message.contains("the last came to phase log"))
        try harness.start { recovery, boot in
            try harness.expect(recovery, 0..<3)
            #expect(boot.recovered.isEmpty)
        }
        #expect(harness.quarantined.isEmpty)
    }

    @Test(arguments: ["removed", "emptied", "overwritten"])
    func `doctor says that the daemon does not start without its tables, before two starts and behind each`(
        how: String
    ) throws {
        func severity(_ check: String) -> Finding.Severity? {
            DirectoryExamination.run(harness.configuration).first { $0.check == check }?.severity
        }
        try harness.start { recovery, _ in
            try harness.put(recovery, 0..<20)
            try harness.fold(recovery)
        }
        #expect(severity("tables") == nil && severity("starts") == .ok)
        for end in ["-wal", "-shm"] { try FileSystem.remove(harness.tables + end) }
        switch how {
        case "removed": try FileSystem.remove(harness.tables)
        case "emptied": try FileSystem.truncate(harness.tables, to: 0)
        default: try harness.damage(harness.tables, at: 0, bytes: [UInt8](repeating: 0x5A, count: 4096))
        }
        #expect(severity("tables") == .error && severity("starts") == .ok)
        for _ in 0..<2 {
            harness.fail()
            #expect(severity("tables") == .error && severity("starts") == .error)
        }
        try harness.start { recovery, _ in try harness.expect(recovery, 0..<20) }
        #expect(severity("tables") == nil && severity("starts") == .ok && severity("recovery") == .recovered)
    }

    @Test(arguments: BootPhase.allCases.filter(\.isDurable))
    func `after two that meet damage in a phase of tables or log these are set aside and taken up from a copy`(
        phase: BootPhase
    ) throws {
        let epoch = try harness.start { recovery, _ in
            try harness.put(recovery, 0..<20)
            try harness.fold(recovery)
            try harness.put(recovery, 20..<30)
            return recovery.epoch
        }
        try harness.meetDamage(in: phase)
        // Kills in between neither count nor have the damage forgotten.
        for _ in 0..<20 { try harness.die(in: phase) }
        try harness.meetDamage(in: phase)
        #expect(harness.quarantined.isEmpty)
        let before = try BootHarness.contents(harness.configuration.dataDirectory)
        try harness.start { recovery, boot in
            try harness.expect(recovery, 0..<30)
            #expect(recovery.epoch != epoch)
            #expect(recovery.ledger.rev == 60, "nothing is missing, so the counter goes on")
            let notice = try #require(boot.recovered.first)
            #expect(boot.recovered.count == 1 && notice.what == .durable && notice.origin == .tables)
            #expect(notice.savedRev == 60 && notice.newestRev == 60)
            #expect(harness.quarantined == [notice.quarantine])
            #expect(harness.report.contains("everything up to revision 60 is there"))
            try harness.put(recovery, 30..<31)
        }
        // Every byte of what there was lies in the quarantine.
        let aside = try BootHarness.contents(harness.configuration.quarantineDirectory + "/" + harness.quarantined[0])
        for (name, bytes) in before where name.hasPrefix("log/") || name.hasPrefix("durable/kura.sqlite") {
            if name.hasSuffix("spare") { continue }
            #expect(aside[name] == bytes, "\(name)")
        }
        // And the recovered goes on.
        try harness.start { recovery, boot in
            try harness.expect(recovery, 0..<31)
            #expect(try boot.acknowledge() == 1)
            #expect(boot.recovered.isEmpty)
        }
        try harness.start { _, boot in #expect(boot.recovered.isEmpty) }
        #expect(harness.quarantined.count == 1)
    }

    @Test func `a start that comes to serve makes those before it forgotten`() throws {
        try harness.start { recovery, _ in try harness.put(recovery, 0..<3) }
        for _ in 0..<4 {
            try harness.meetDamage(in: .open)
            try harness.start { recovery, _ in try harness.expect(recovery, 0..<3) }
        }
        #expect(harness.quarantined.isEmpty)
    }

    @Test func `a full disk, rights and other daemons count as nothing`() throws {
        try harness.start { recovery, _ in try harness.put(recovery, 0..<3) }
        let faults: [StorageFault] = [
            .system(errno: ENOSPC, call: "write", path: ""), .system(errno: EACCES, call: "open", path: ""),
            .system(errno: ENOMEM, call: "mmap", path: ""), .inUse(pid: nil, path: ""), .refused("no"),
            .database(SQLiteError(extendedCode: 13, systemErrno: ENOSPC, message: ""), file: ""),
            .database(SQLiteError(extendedCode: 7, message: ""), file: ""),
            .database(SQLiteError(extendedCode: 14, systemErrno: EMFILE, message: ""), file: ""),
            .database(SQLiteError(extendedCode: 8, message: ""), file: ""),
            .database(SQLiteError(extendedCode: 5, message: ""), file: ""),
            .database(SQLiteError(extendedCode: 778, systemErrno: EIO, message: ""), file: ""),
        ]
        for fault in faults {
            for _ in 0..<3 {
                let boot = Boot(harness.configuration) { _ in }
                try boot.begin()
                try boot.enter(.open)
                boot.failed(fault)
            }
            #expect(record?.durableFailures == 0, "\(fault)")
        }
        try harness.start { recovery, boot in
            try harness.expect(recovery, 0..<3)
            #expect(boot.recovered.isEmpty)
        }
        #expect(harness.quarantined.isEmpty)
        for fault: StorageFault in [
            .damagedLog, .damaged(""), .hole(after: 1, next: 3),
            .database(SQLiteError(extendedCode: 11, message: ""), file: ""),
            .database(SQLiteError(extendedCode: 26, message: ""), file: ""),
            .database(SQLiteError(extendedCode: 266, systemErrno: EIO, message: ""), file: ""),
            .database(SQLiteError(extendedCode: 522, message: ""), file: ""),
        ] { #expect(fault.isDamage, "\(fault)") }
    }

    @Test func `a read that has failed is no damage while everything can be read, however often`() throws {
        try harness.start { recovery, _ in try harness.put(recovery, 0..<3) }
        let failed = StorageFault.database(
            SQLiteError(extendedCode: 266, systemErrno: EIO, message: ""), file: harness.tables)
        for _ in 0..<3 {
            let boot = Boot(harness.configuration) { _ in }
            try boot.begin()
            try boot.enter(.tables)
            boot.failed(failed)
            #expect(record?.durableFailures == 0)
        }
        try harness.start { recovery, _ in try harness.expect(recovery, 0..<3) }
        #expect(harness.quarantined.isEmpty)
    }

    @Test func `a page that a check could not read is no damage that it has found`() {
        let failed = TablesCheck.failedRead("Tree 4 page 9: unable to get the page. error code=266")
        #expect(failed?.extendedCode == 266 && failed?.systemErrno == EIO)
        #expect(TablesCheck.failedRead("Tree 4 page 9: unable to get the page. error code=7")?.isWant == true)
        for text in [
            "ok", "Tree 4 page 9: unable to get the page. error code=11", "Freelist: size is 3 but should be 4",
        ] {
            #expect(TablesCheck.failedRead(text) == nil)
        }
    }

    @Test func `blocks are lost that can never be read, where others can`() {
        func areLost(_ canRead: (Int, Int) -> Bool) -> Bool {
            var reads = 0
            return LostBlocks.areLost(0..<20) { block in
                reads += 1
                return canRead(block, reads)
            }
        }
        #expect(areLost { block, _ in block != 7 })
        #expect(!areLost { _, _ in true })
        // The disk is away, or was for a moment.
        #expect(!areLost { _, _ in false })
        #expect(!areLost { _, read in read > 30 })
        #expect(!areLost { _, read in !(5...12).contains(read) })
    }

    @Test func `an unclean stop is known until a start has come to serve`() throws {
        try harness.start { _, boot in #expect(!boot.isUnclean) }
        try harness.start(serves: false) { _, boot in
            boot.serves()
        }
        // Killed while it served; the next one fails for another reason.
        let boot = Boot(harness.configuration) { _ in }
        try boot.begin()
        #expect(boot.isUnclean)
        boot.failed(.inUse(pid: nil, path: ""))
        try harness.start { _, boot in #expect(!boot.isUnclean) }
        try harness.start { _, boot in #expect(!boot.isUnclean) }
    }

    // MARK: What was acknowledged

    @Test func `a note of what was acknowledged that is gone after a kill is told, and begins a new history`() throws {
        let epoch = try harness.start { recovery, _ in
            try harness.put(recovery, 0..<5)
            return recovery.epoch
        }
        // After an end nobody needs it.
        try FileSystem.remove(harness.configuration.acknowledgedPath)
        try harness.start { recovery, boot in #expect(boot.recovered.isEmpty && recovery.epoch == epoch) }
        try harness.die(in: .serving)
        try FileSystem.remove(harness.configuration.acknowledgedPath)
        try harness.start { recovery, boot in
            try harness.expect(recovery, 0..<5)
            #expect(recovery.epoch != epoch)
            let notice = try #require(boot.recovered.first)
            #expect(notice.what == .log && notice.missing.isEmpty && notice.reason.contains("acknowledged"))
            #expect(harness.report.contains("MAY HAVE LOST"))
        }
        try harness.start { _, boot in #expect(boot.recovered.count == 1) }
    }

    private func remove(_ paths: String...) throws {
        for path in paths {
            if FileSystem.isDirectory(path) {
                try FileSystem.removeDirectory(path)
            } else {
                try FileSystem.remove(path)
            }
        }
        for path in [harness.configuration.logDirectory, harness.configuration.durableDirectory] {
            try FileSystem.makeDirectory(path)
        }
    }

    @Test func `a log that is gone with the note has no revision given out twice, and nothing lies in a quarantine`()
        throws
    {
        let configuration = harness.configuration
        try harness.start { recovery, _ in
            try harness.put(recovery, 0..<3)
            try harness.fold(recovery)
            try harness.put(recovery, 3..<5)
        }
        try harness.die(in: .serving)
        try remove(configuration.logDirectory, configuration.acknowledgedPath)
        let told = try #require(try Boot.unknownEnd(configuration))
        let rev = try harness.start { recovery, boot in
            try harness.expect(recovery, 0..<3)
            #expect(recovery.hasRaisedRevision && recovery.ledger.rev == 6 + RelaxedDurability.step)
            let notice = try #require(boot.recovered.first)
            #expect(notice.reason == told && told.contains("log/") && notice.quarantine.isEmpty)
            #expect(!notice.line.contains("quarantine") && harness.quarantined.isEmpty)
            return recovery.ledger.rev
        }
        // Nothing is relaxed, so no other kill raises it.
        try harness.die(in: .serving)
        try harness.start { recovery, boot in
            #expect(!recovery.hasRaisedRevision && recovery.ledger.rev == rev && boot.recovered.count == 1)
        }
    }

    @Test(arguments: [true, false]) func `where a daemon has served, a directory that lacks everything is no new one`(
        hasServed: Bool
    ) throws {
        let configuration = harness.configuration
        try harness.start { recovery, _ in try harness.put(recovery, 0..<5) }
        try harness.die(in: .serving)
        try remove(
            configuration.durableDirectory, configuration.logDirectory, configuration.acknowledgedPath,
            configuration.bootPath)
        if hasServed { TestFiles.write("", to: configuration.billPath) }
        #expect((try Boot.unknownEnd(configuration) != nil) == hasServed)
        // Whatever becomes of the first start.
        if hasServed { try harness.die(in: .log) }
        for _ in 0..<2 {
            try harness.start { recovery, boot in
                #expect(boot.recovered.count == (hasServed ? 1 : 0))
                #expect(boot.recovered.allSatisfy { $0.reason.contains("durable/kura.sqlite") })
                #expect(recovery.ledger.rev == (hasServed ? RelaxedDurability.step : 0))
            }
        }
    }

    @Test func `what a start says of damaged tables names what helps, and whoever looks before says it too`() throws {
        try harness.start { recovery, _ in
            try harness.put(recovery, 0..<40)
            try harness.fold(recovery)
        }
        try harness.die(in: .serving)
        func told(_ check: String) -> [Finding] {
            DirectoryExamination.run(harness.configuration).filter { $0.check == check && $0.severity == .error }
        }
        #expect(told("tables").isEmpty && told("log").isEmpty)
        try FileSystem.remove(harness.configuration.acknowledgedPath)
        #expect(told("log").count == 1)
        let path = harness.tables
        try FileSystem.truncate(path, to: FileSystem.size(path) / 2 / 4096 * 4096)
        try FileSystem.truncate(path + "-wal", to: 0)
        let fault = #expect(throws: StorageFault.self) { try harness.start { _, _ in } }
        let reason = try #require(told("tables").first?.message)
        #expect(fault?.description == reason + ". Nothing was changed")
        #expect(harness.report.contains("put back what is damaged") && harness.report.contains("after 2 such starts"))
    }

    @Test func `tables with a damaged page are told before the start that refuses them`() throws {
        try harness.start { recovery, _ in
            try harness.put(recovery, 0..<40)
            try harness.fold(recovery)
        }
        try harness.die(in: .serving)
        let root = try Connection(path: harness.tables, mode: .readOnly)
            .scalar("SELECT rootpage FROM sqlite_schema WHERE name = 'settings'")
        let page = Int(try #require(root))
        try harness.damage(harness.tables, at: (page - 1) * 4096, bytes: [UInt8](repeating: 0x5A, count: 4096))
        try FileSystem.truncate(harness.tables + "-wal", to: 0)
        #expect(
            DirectoryExamination.run(harness.configuration).contains { $0.check == "tables" && $0.severity == .error })
        harness.fail()
    }

    @Test func `a disk that is mounted read-only names what helps`() {
        #expect(StorageFault.system(errno: EROFS, call: "open", path: "/x/lock").help.contains("remount,rw"))
        #expect(StorageFault.system(errno: EIO, call: "open", path: "/x/lock").help.isEmpty)
    }

    /// `isTriedBefore`: a start under this kernel has ended before it came to the log.
    @Test(arguments: [(true, false), (false, false), (false, true)])
    func `a hole is damage when the kernel still runs that the log was written to`(
        isOfThisKernel: Bool, isTriedBefore: Bool
    ) throws {
        try harness.start { recovery, _ in try harness.put(recovery, 0..<10) }
        let log = harness.configuration.logDirectory
        let number = try #require(try LogFiles.numbers(in: log).last)
        do {
            let whole = try Segment(opening: number, in: log)
            let other = try Segment(creating: 90, in: log, capacity: 1 << 16, recycled: nil)
            try whole.rows(after: 0) { (row) throws(StorageFault) in
                guard row.rev < 11 || row.rev > 12 else { return }
                try other.append(previous: row.previous, rev: row.rev, at: row.at, records: row.records, synced: 0)
            }
        }
        try Segment.remove(number, in: log)
        try harness.die(in: .serving)
        if !isOfThisKernel {
            let path = harness.configuration.bootPath
            let text = String(decoding: try FileSystem.contents(path, atMost: 2000) ?? [], as: UTF8.self)
            TestFiles.write(
                text.replacing(Kernel.boot, with: "another").replacing(/,"check":\d+/, with: ""), to: path)
        }
        if isTriedBefore { try harness.die(in: .tables) }
        try harness.start { recovery, boot in
            try harness.expect(recovery, 0..<5)
            #expect(boot.recovered.first?.missing == (isOfThisKernel ? [.init(fromRev: 11, toRev: 12)] : nil))
            if isOfThisKernel { try harness.expect(recovery, 6..<10) }
            #expect(recovery.ledger.rev == (isOfThisKernel ? 20 : 10))
        }
    }

    // MARK: Caches

    @Test(arguments: [false, true])
    func `a cache that kills have met while it was opened or read stays, also after a trap`(hasTrapped: Bool) throws {
        let path = harness.configuration.cacheDirectory + "/cache.sqlite"
        close(try FileSystem.open(path, O_RDWR | O_CREAT))
        for number in 0..<8 {
            let boot = Boot(harness.configuration) { _ in }
            try boot.begin()
            boot.serves()
            if number % 2 == 1 { boot.opens(cache: "cache.sqlite") } else { boot.reads([.models]) }
            // Once while it is only read, which takes two.
            if hasTrapped, number == 0 { try harness.noteTrap() }
        }
        try harness.start { _, boot in
            #expect(!boot.recovered.contains { $0.what == .caches } && FileSystem.exists(path), "\(boot.recovered)")
        }
    }

    @Test func `a trap at what lasts drops no cache`() throws {
        let path = harness.configuration.cacheDirectory + "/cache.sqlite"
        close(try FileSystem.open(path, O_RDWR | O_CREAT))
        let boot = Boot(harness.configuration) { _ in }
        try boot.begin()
        boot.serves()
        boot.opens(cache: "cache.sqlite")
        try harness.noteTrap(at: .folding)
        try harness.start { _, boot in
            #expect(!boot.recovered.contains { $0.what == .caches } && FileSystem.exists(path), "\(boot.recovered)")
        }
    }

    @Test func `the cache that traps while it is opened goes, and no other`() throws {
        for name in ["cache.sqlite", "blobs.sqlite", "cache.sqlite-wal"] {
            close(try FileSystem.open(harness.configuration.cacheDirectory + "/" + name, O_RDWR | O_CREAT))
        }
        try harness.die(in: .serving)
        let boot = Boot(harness.configuration) { _ in }
        try boot.begin()
        boot.serves()
        boot.opens(cache: "cache.sqlite")
        try harness.noteTrap()
        try harness.start { _, boot in
            #expect(boot.recovered.map(\.files) == [["cache.sqlite"]])
            #expect(boot.recovered.first?.what == .caches)
        }
        #expect(try FileSystem.names(in: harness.configuration.cacheDirectory) == ["blobs.sqlite"])
        #expect(harness.report.contains("caches were dropped"))
        #expect(harness.quarantined.isEmpty)
    }

    @Test(arguments: [1, 3]) func `a cache goes after as many traps as are configured, one more while it is read`(
        attempts: Int
    ) throws {
        harness.configuration.boot.attempts = attempts
        let path = harness.configuration.cacheDirectory + "/cache.sqlite"
        for isOpening in [true, false] {
            close(try FileSystem.open(path, O_RDWR | O_CREAT))
            for number in 1...10 {
                let boot = Boot(harness.configuration) { _ in }
                try boot.begin()
                let limit = attempts + (isOpening ? 0 : 1)
                #expect(FileSystem.exists(path) == (number <= limit), "\(number)")
                if number > limit { break }
                boot.serves()
                if isOpening { boot.opens(cache: "cache.sqlite") } else { boot.reads([.models]) }
                try harness.noteTrap()
            }
            try harness.start { _, boot in boot.reads([]) }
        }
    }
}
