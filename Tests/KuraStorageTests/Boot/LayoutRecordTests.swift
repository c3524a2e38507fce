import Glibc
import SQLite
import Testing

@testable import KuraStorage

/// One damaged bit in a number of a file's header is no newer version, no older one and no other program's file.
@Suite struct LayoutRecordTests {
    private let harness: BootHarness

    init() throws { harness = try BootHarness() }

    private var record: String { LayoutRecord.path(beside: harness.tables) }

    /// Data in tables and log, with everything of the tables in their file.
    private func fill() throws {
        try harness.start { recovery, _ in
            try harness.put(recovery, 0..<20)
            try harness.fold(recovery)
            try harness.put(recovery, 20..<25)
        }
        let connection = try Connection(path: harness.tables, mode: .readWrite)
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE);")
        connection.close()
    }

    /// `offset`: 60 for `user_version`, 68 for `application_id`.
    private func numbers() throws -> [UInt8] {
        let bytes = try #require(try FileSystem.contents(harness.tables, atMost: 1 << 24))
        return Array(bytes[60..<64] + bytes[68..<72])
    }

    private func flip(_ bit: Int) throws {
        let offset = (bit / 32 == 0 ? 60 : 68) + bit % 32 / 8
        let byte = try numbers()[bit / 8]
        try harness.damage(harness.tables, at: offset, bytes: [byte ^ UInt8(1 << (bit % 8))])
    }

    @Test(arguments: [true, false])
    func `each damaged bit of both numbers is repaired and told, also in what an earlier version has left`(
        hasRecord: Bool
    ) throws {
        try fill()
        let before = try numbers()
        for bit in 0..<64 {
            if !hasRecord { try FileSystem.remove(record) }
            try flip(bit)
            try Formats.check(harness.configuration)
            let told = harness.report.count
            try harness.start { recovery, _ in
                try harness.expect(recovery, 0..<25)
                #expect(try recovery.writer.scalar("PRAGMA user_version") == Int64(Formats.tables), "bit \(bit)")
                #expect(try recovery.writer.scalar("PRAGMA application_id") == Int64(Tables.applicationID))
            }
            #expect(harness.report.dropFirst(told).contains("a byte was damaged"), "bit \(bit): \(harness.report)")
            #expect(harness.quarantined.isEmpty)
            let connection = try Connection(path: harness.tables, mode: .readWrite)
            try connection.execute("PRAGMA wal_checkpoint(TRUNCATE);")
            connection.close()
            #expect(try numbers() == before, "bit \(bit)")
            #expect(LayoutRecord.read(beside: harness.tables)?.to == Int32(Formats.tables))
        }
    }

    @Test func `a record of which any byte was damaged is not believed, and written anew`() throws {
        try fill()
        let text = try #require(try FileSystem.contents(record))
        for position in text.indices {
            for bit in 0..<8 {
                try harness.damage(record, at: position, bytes: [text[position] ^ UInt8(1 << bit)])
                #expect(LayoutRecord.read(beside: harness.tables) == nil, "byte \(position), bit \(bit)")
            }
            try harness.damage(record, at: position, bytes: [text[position]])
        }
        try harness.damage(record, at: 12, bytes: [0])
        try harness.start { recovery, _ in try harness.expect(recovery, 0..<25) }
        #expect(try FileSystem.contents(record) == text)
    }

    @Test func `what both places say is believed, and a newer layout stays refused`() throws {
        try fill()
        let newer = Int32(Formats.tables + 1)
        do {
            let connection = try Connection(path: harness.tables, mode: .readWrite)
            try connection.execute("PRAGMA user_version=\(newer); PRAGMA wal_checkpoint(TRUNCATE);")
            connection.close()
        }
        try LayoutRecord(from: newer, to: newer).write(beside: harness.tables)
        let bytes = try FileSystem.contents(harness.tables, atMost: 1 << 24)
        for record in [LayoutRecord(from: newer, to: newer), LayoutRecord(from: newer - 1, to: newer)] {
            try record.write(beside: harness.tables)
            #expect(throws: StorageFault.self) { try Formats.check(harness.configuration) }
            #expect { try harness.start { _, _ in } } throws: { "\($0)".contains("newer version (layout \(newer)") }
        }
        // Then its own header is damaged: the record keeps it from being taken for ours.
        try LayoutRecord(from: newer, to: newer).write(beside: harness.tables)
        try harness.damage(harness.tables, at: 60, bytes: [0, 0, 0, UInt8(newer - 1)])
        #expect(throws: StorageFault.self) { try Formats.check(harness.configuration) }
        try harness.damage(harness.tables, at: 60, bytes: [0, 0, 0, UInt8(newer)])
        #expect(try FileSystem.contents(harness.tables, atMost: 1 << 24) == bytes)
    }

    @Test func `a newer version that was cut short before its first step leaves what this one opens`() throws {
        try fill()
        let known = Int32(Formats.tables)
        try LayoutRecord(from: known, to: known + 1).write(beside: harness.tables)
        try Formats.check(harness.configuration)
        try harness.start { recovery, _ in try harness.expect(recovery, 0..<25) }
        #expect(LayoutRecord.read(beside: harness.tables) == LayoutRecord(from: known, to: known))
    }

    @Test func `numbers are judged by what else is there`() {
        func judge(_ version: Int32, _ record: LayoutRecord?, _ level: Int32?, isOurs: Bool = true) -> LayoutVerdict {
            .judge(version: version, isOurs: isOurs, record: record, level: level, known: 4)
        }
        let (third, fourth) = (LayoutRecord(from: 3, to: 3), LayoutRecord(from: 4, to: 4))
        #expect(judge(0, nil, 0) == .holds && judge(4, fourth, 4) == .holds && judge(2, nil, 2) == .holds)
        // While a step is under way either is right.
        #expect(
            judge(3, LayoutRecord(from: 3, to: 4), 3) == .holds && judge(4, LayoutRecord(from: 3, to: 4), 4) == .holds)
        #expect(judge(7, third, 3) == .damaged(layout: 3) && judge(1, third, 3) == .damaged(layout: 3))
        #expect(judge(5, nil, 4) == .damaged(layout: 4) && judge(0, nil, 3) == .damaged(layout: 3))
        #expect(judge(4, fourth, 4, isOurs: false) == .damaged(layout: 4))
        // Somebody has put an older file in the place.
        #expect(judge(2, fourth, 2) == .holds)
        #expect(
            judge(5, LayoutRecord(from: 5, to: 5), nil) == .newer(5)
                && judge(4, LayoutRecord(from: 5, to: 5), 4) == .newer(5))
        #expect(judge(5, nil, nil) == .unknown && judge(9, fourth, 2) == .unknown)
    }

    @Test func `one damaged byte in the number of the notices' file is no newer version`() throws {
        let notice = RecoveredNotice(at: 1, what: .caches, phase: "caches", reason: "r")
        try RecoveredFile(harness.configuration).write([notice])
        let path = harness.configuration.recoveredPath
        let text = try #require(try FileSystem.contents(path))
        for position in text.indices {
            for bit in 0..<8 {
                try harness.damage(path, at: position, bytes: [text[position] ^ UInt8(1 << bit)])
                try Formats.check(harness.configuration)
            }
            try harness.damage(path, at: position, bytes: [text[position]])
        }
    }
}
