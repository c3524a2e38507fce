import Foundation
import Glibc
import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

/// What is between the cells of pages.
@Suite struct PageScrubTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.path + "/durable/t.sqlite" }

    /// A value that is found by its own beginning.
    private static func value(_ number: Int, _ bytes: Int) -> [UInt8] {
        let text = Array("value\(number)z\(number &* 7919)q".utf8)
        return (0..<bytes).map { text[$0 % text.count] }
    }

    private struct World {
        var connection: Connection
        var live: [Int: [UInt8]] = [:]
        var gone: [[UInt8]] = []
    }

    /// A tree whose rows come, grow, shrink and go at random, as heads do.
    private func churn(_ table: String, rounds: Int, isSealed: Bool = false) throws -> World {
        try FileSystem.makeDirectories(directory.path + "/durable")
        let connection = try Connection(path: path, mode: .readWriteCreate)
        if isSealed { try connection.reserveForSeals() }
        try connection.execute(
            """
            PRAGMA page_size=4096; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; PRAGMA secure_delete=ON; PRAGMA synchronous=OFF;
            CREATE TABLE settings(key INTEGER PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
            CREATE TABLE documents(key INTEGER PRIMARY KEY, value BLOB NOT NULL);
            """)
        var world = World(connection: connection)
        var random = SystemRandomNumberGenerator()
        let put = try connection.prepare("INSERT OR REPLACE INTO \(table)(key, value) VALUES(?1, ?2)")
        let delete = try connection.prepare("DELETE FROM \(table) WHERE key = ?1")
        for number in 0..<rounds {
            let key = Int.random(in: 0..<rounds / 6, using: &random)
            if let old = world.live[key] { world.gone.append(old) }
            if Int.random(in: 0..<4, using: &random) == 0 {
                try delete.bind(1, Int64(key))
                try delete.run()
                world.live[key] = nil
            } else {
                let value = Self.value(number, Int.random(in: 30..<900, using: &random))
                try put.bind(1, Int64(key))
                try put.bind(2, copying: value)
                try put.run()
                world.live[key] = value
            }
        }
        _ = try connection.checkpoint(.truncate)
        return world
    }

    private func remains(_ world: World) throws -> Int {
        var contents = ByteBuffer()
        try world.connection.readFile(
            Int(try world.connection.scalar("PRAGMA page_count")! * 4096), at: 0, into: &contents)
        // Each value begins with what no other has: each place that may be a beginning is looked up once.
        let starts = Set(world.gone.map { Array($0.prefix(20)) })
        var found: Set<[UInt8]> = []
        var position = 0
        while let place = contents.bytes.firstIndex(of: UInt8(ascii: "v"), from: position) {
            guard contents.count - place >= 20 else { break }
            let text = Array(contents.bytes.extracting(place..<place + 20))
            if starts.contains(text) { found.insert(text) }
            position = place + 1
        }
        return found.count
    }

    @Test(arguments: ["settings", "documents"])
    func `copies of removed rows that secure_delete has left are gone, and every row is still there`(
        table: String
    ) throws {
        var world = try churn(table, rounds: 6000)
        // What it is for: without it some would be found, if not by one history then by another.
        for _ in 0..<4 where try remains(world) == 0 {
            world.connection.close()
            for end in ["", "-wal", "-shm"] { unlink(path + end) }
            world = try churn(table, rounds: 6000)
        }
        #expect(try remains(world) > 0)
        var scrub = try PageScrub(world.connection)
        if table == "settings" { try scrub.scrub(table: "settings") } else { try scrub.scrub(table: "documents") }
        #expect(scrub.zeroed > 0)
        #expect(try remains(world) == 0)
        world.connection.releaseMemory()
        #expect(
            try world.connection.scalar("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'") == 1
        )
        #expect(try world.connection.scalar("SELECT count(*) FROM \(table)") == Int64(world.live.count))
        let select = try world.connection.prepare("SELECT key, value FROM \(table)")
        while try select.step() { #expect(world.live[Int(select.int64(0))] == Array(select.bytes(1))) }
        // Nothing comes back with what is written next.
        var again = try PageScrub(world.connection)
        try again.scrub(table: table == "settings" ? "settings" : "documents")
        #expect(again.zeroed == 0)
    }

    @Test func `the tables' scrub leaves nothing between the cells of pages, nor in the WAL`() throws {
        var world = try churn("settings", rounds: 6000)
        for _ in 0..<4 where try remains(world) == 0 {
            world.connection.close()
            for end in ["", "-wal", "-shm"] { unlink(path + end) }
            world = try churn("settings", rounds: 6000)
        }
        #expect(try remains(world) > 0)
        let connection = world.connection
        try connection.execute("CREATE TABLE scopes(id INTEGER PRIMARY KEY, store INTEGER NOT NULL)")
        let wal = try TablesWAL(
            connection, tables: path, foldedRev: 0, pace: FoldPace(checkpointBytes: .max), .system)
        let scrub = TableScrub(connection, tables: path, wal)
        scrub.ask()
        while scrub.isDue { try scrub.work(.system) }
        #expect(try remains(world) == 0)
        #expect(FileSystem.size(path + "-wal") == 0)
        #expect(try connection.scalar("SELECT count(*) FROM settings") == Int64(world.live.count))
    }

    @Test(arguments: ["settings", "documents"])
    func `in pieces, with writes between them, nothing is left either`(table: StaticString) throws {
        var world = try churn("\(table)", rounds: 3000)
        let put = try world.connection.prepare("INSERT OR REPLACE INTO \(table)(key, value) VALUES(?1, ?2)")
        let delete = try world.connection.prepare("DELETE FROM \(table) WHERE key = ?1")
        var random = SystemRandomNumberGenerator()
        var scrub = try PageScrub(world.connection)
        var pieces = 0
        var written = 0
        repeat {
            // A leaf a piece, and for a while changes that move rows from page to page.
            try scrub.begin(until: Clock.system.deadline(after: 0))
            try scrub.scrub(table: table)
            world.connection.releaseMemory()
            pieces += 1
            guard pieces < 200 else { continue }
            for number in 0..<5 {
                let key = Int.random(in: 0..<1000, using: &random)
                if let old = world.live[key] { world.gone.append(old) }
                if number % 2 == 0 {
                    try delete.bind(1, Int64(key))
                    try delete.run()
                    world.live[key] = nil
                } else {
                    let value = Self.value(1_000_000 + pieces * 10 + number, Int.random(in: 30..<900, using: &random))
                    try put.bind(1, Int64(key))
                    try put.bind(2, copying: value)
                    try put.run()
                    world.live[key] = value
                }
            }
            let pages = try TableScrub.pages(in: path + "-wal", size: 4096)
            written += pages.count
            scrub.forget(pages)
            _ = try world.connection.checkpoint(.truncate)
        } while scrub.isPaused || pieces < 200
        #expect(pieces > 200 && written > 200)
        #expect(try remains(world) == 0)
        world.connection.releaseMemory()
        #expect(
            try world.connection.scalar("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'") == 1
        )
        #expect(try world.connection.scalar("SELECT count(*) FROM \(table)") == Int64(world.live.count))
    }

    /// A power cut tears a page that is being overwritten, behind so many bytes.
    @Test(arguments: [512, 2048, 4088])
    func `a page that is torn while it is overwritten is put back by the next start`(behind bytes: Int) throws {
        var world = try churn("documents", rounds: 6000, isSealed: true)
        for _ in 0..<8 where try remains(world) == 0 {
            world.connection.close()
            for end in ["", "-wal", "-shm"] { unlink(path + end) }
            world = try churn("documents", rounds: 6000, isSealed: true)
        }
        func pages() throws -> [[UInt8]] {
            var contents = ByteBuffer()
            let count = Int(try world.connection.scalar("PRAGMA page_count") ?? 0)
            try world.connection.readFile(count * 4096, at: 0, into: &contents)
            return (0..<count).map { Array(contents.bytes[$0 * 4096..<($0 + 1) * 4096]) }
        }
        let journal = ScrubJournal(tables: path)
        let before = try pages()
        var scrub = try PageScrub(world.connection, journal: journal)
        try scrub.scrub(table: "documents")
        #expect(!FileSystem.exists(path + "-scrub"), "nothing of it is left when all is synced")
        let after = try pages()
        let changed = before.indices.filter { before[$0] != after[$0] }
        let torn = try #require(
            changed.first { before[$0][..<bytes] != after[$0][..<bytes] && before[$0][bytes...] != after[$0][bytes...] }
        )
        world.connection.close()

        // As it is when the cut comes: the journal is whole, one page half written, the others not at all.
        try journal.write(changed.map { (number: $0 + 1, bytes: after[$0]) })
        let file = try FileSystem.open(path, O_RDWR)
        defer { close(file) }
        for page in changed {
            let bytes = page == torn ? after[page][..<bytes] + before[page][bytes...] : before[page][...]
            try Array(bytes).withBytes { (bytes) throws(StorageFault) in
                try FileSystem.write(file, bytes, at: page * 4096, path: path)
            }
        }
        #expect(try journal.replay() == 1)
        #expect(!FileSystem.exists(path + "-scrub"))
        let connection = try Connection(path: path, mode: .readWrite)
        #expect(try connection.scalar("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'") == 1)
        #expect(try connection.scalar("SELECT count(*) FROM documents") == Int64(world.live.count))
    }

    @Test func `pages lie in the journal while they are overwritten`() throws {
        try CountingScope.run(CountingScope()) {
            let world = try churn("documents", rounds: 6000, isSealed: true)
            defer { FaultPoints.disarm() }
            var scrub = try PageScrub(world.connection, journal: ScrubJournal(tables: path))
            try FaultPoints.arm("vfs.write@durable:fail:1")
            #expect(throws: SQLiteError.self) { try scrub.scrub(table: "documents") }
            #expect(FileSystem.size(path + "-scrub") > 4096)
            try scrub.scrub(table: "documents")
            #expect(try remains(world) == 0)
            #expect(!FileSystem.exists(path + "-scrub"))
        }
    }

    @Test func `a journal that a power cut has torn changes nothing, and goes`() throws {
        let world = try churn("documents", rounds: 600, isSealed: true)
        world.connection.close()
        let journal = ScrubJournal(tables: path)
        try journal.write([(number: 2, bytes: [UInt8](repeating: 7, count: 4096))])
        try #require(truncate(path + "-scrub", 3000) == 0)
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(try journal.replay() == 0)
        #expect(!FileSystem.exists(path + "-scrub"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }

    @Test func `around some rows only their pages are looked at`() throws {
        let world = try churn("documents", rounds: 6000)
        var all = try PageScrub(world.connection)
        try all.scrub(table: "documents")
        var some = try PageScrub(world.connection)
        try some.scrub(table: "documents", rows: [10...20])
        #expect(some.looked > 2 && some.looked < all.looked / 4, "\(some.looked) of \(all.looked)")
        var none = try PageScrub(world.connection)
        try none.scrub(table: "documents", rows: [])
        #expect(none.looked == 1)
    }

    @Test func `what is no page of a tree is left alone`() {
        func layout(_ change: (inout [UInt8]) -> Void) -> PageLayout? {
            var page = [UInt8](repeating: 0, count: 512)
            page[0] = 13
            (page[3], page[4]) = (0, 1)
            (page[5], page[6]) = (1, 0x80)
            (page[8], page[9]) = (1, 0x80)
            change(&page)
            return page.withBytes { PageLayout($0, isFirst: false) }
        }
        #expect(layout { _ in }?.unused == [10..<0x180])
        #expect(layout { $0[0] = 0 } == nil)
        // More cells than there is room for, cells outside of their part, blocks that go back or beyond the end.
        #expect(layout { $0[3] = 1 } == nil)
        #expect(layout { $0[8] = 0 } == nil)
        #expect(layout { $0[5] = 3 } == nil)
        #expect(layout { ($0[1], $0[2]) = (0, 20) } == nil)
        #expect(
            layout {
                ($0[1], $0[2]) = (1, 0x90); ($0[0x192], $0[0x193]) = (1, 0)
            } == nil)
        #expect(
            layout {
                ($0[1], $0[2]) = (1, 0x90); ($0[0x192], $0[0x193]) = (0, 8)
            }?.unused.last == 0x194..<0x198)
        #expect(
            layout {
                ($0[1], $0[2]) = (1, 0x90); ($0[0x190], $0[0x191]) = (1, 0x90); $0[0x193] = 8
            } == nil)
    }
}
