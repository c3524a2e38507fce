import Glibc
import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

/// What becomes of bytes that change in a cache's file while nobody looks.
@Suite struct CacheSealTests {
    private let directory = TemporaryDirectory()
    private let configuration: StorageConfiguration
    private let layout = CacheFile.Layout(
        version: Caches.layoutVersion, unsealed: 1, sql: ModelsStore.tables + "\n" + BlobsStore.tables)
    private var path: String { configuration.cacheDirectory + "/" + CacheFiles.main }
    private static let pageSize = 4096

    init() throws {
        configuration = .tiny(directory.path)
        try FileSystem.makeDirectory(configuration.cacheDirectory)
    }

    private func open(isDoubtful: Bool = false) throws -> CacheFile {
        try CacheFile.openForWriting(path, layout, isDoubtful: isDoubtful, configuration)
    }

    /// Values of three kilobytes: a page each, and two of them longer than that.
    private func fill(_ count: Int = 12) throws {
        let file = try open()
        defer { file.close() }
        let statements = try ModelStatements(file.connection)
        for number in 0..<count {
            let value = self.value(number)
            try with("\(number)", "etag", value) { (key, etag, value) throws(SQLiteError) in
                try statements.put(namespace: 1, key, [1, 0, 0, 0, 0, 0], etag, Bytes(), value)
            }
        }
    }

    private func value(_ number: Int) -> String {
        String(repeating: "value-\(number).", count: number % 6 == 5 ? 2000 : 300)
    }

    private func overwrite(at offset: Int, _ bytes: [UInt8]) throws {
        let file = try FileSystem.open(path, O_RDWR)
        defer { close(file) }
        try bytes.withBytes { (bytes) throws(StorageFault) in
            try FileSystem.write(file, bytes, at: offset, path: path)
        }
    }

    /// Every row of the file; nil when damage was met.
    private func rows() throws -> [String]? {
        do throws(SQLiteError) {
            let file = try CacheFile.openForReading(path)
            defer { file.close() }
            let select = try file.connection.prepare(
                """
                SELECT hex(key) || ' ' || hex(etag) || ' ' || bytes FROM model_heads UNION ALL
                SELECT hex(key) || ' ' || hex(value) FROM model_values
                """)
            var found: [String] = []
            while try select.step() { found.append(select.text(0)) }
            return found
        } catch {
            #expect(error.isCorrupt, "\(error)")
            return nil
        }
    }

    @Test func `a byte that changes in a cache's file is damage to whoever reads its page, and never another value`()
        throws
    {
        try fill()
        let whole = try #require(try FileSystem.contents(path, atMost: 1 << 20))
        let rows = try #require(try self.rows())
        #expect(rows.count == 24)
        var damaged = 0
        for page in 0..<whole.count / Self.pageSize {
            for place in [1500, 4000, 4090] {
                let offset = page * Self.pageSize + place
                try overwrite(at: offset, [whole[offset] ^ 0x10])
                let found = try self.rows()
                #expect(found == nil || found == rows, "byte \(offset)")
                if found == nil { damaged += 1 }
                // A start after a kill reads every page that has anything.
                let file = try open(isDoubtful: true)
                #expect(found != nil || file.replacesDamaged && file.isNew, "byte \(offset)")
                file.close()
                CacheFile.remove(path)
                try overwriteAll(whole)
            }
        }
        // Each value has a page at least.
        #expect(damaged >= 3 * 12)
        #expect(try self.rows() == rows)
    }

    private func overwriteAll(_ bytes: [UInt8]) throws {
        close(try FileSystem.open(path, O_RDWR | O_CREAT))
        try overwrite(at: 0, bytes)
    }

    @Test func `a damaged header is told, whatever it says`() throws {
        try fill()
        let whole = try #require(try FileSystem.contents(path, atMost: 1 << 20))
        // Its name, the room for seals, the version of its tables, whose it is.
        for offset in [0, 20, 63, 71] {
            try overwrite(at: offset, [whole[offset] ^ 1])
            let file = try open()
            #expect(file.replacesDamaged && file.isNew, "byte \(offset)")
            file.close()
            CacheFile.remove(path)
            try overwriteAll(whole)
        }
    }

    @Test func `a file of the version without seals is read and written as it is`() throws {
        let earlier = try Connection(path: path, mode: .readWriteCreate)
        try earlier.execute(
            """
            PRAGMA page_size=4096; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; BEGIN; \(layout.sql)
            PRAGMA application_id=\(CacheFile.applicationID); PRAGMA user_version=1; COMMIT;
            """)
        earlier.close()
        try fill()
        for isDoubtful in [true, false] {
            let file = try open(isDoubtful: isDoubtful)
            #expect(!file.isNew && !file.replacesDamaged)
            #expect(try file.connection.scalar("PRAGMA user_version") == 1)
            file.close()
        }
        #expect(try rows()?.count == 24)
    }

    @Test func `a file of a newer version is dropped without a word`() throws {
        try fill()
        let newer = try Connection(path: path, mode: .readWrite)
        try newer.execute("PRAGMA user_version=\(Caches.layoutVersion + 1)")
        newer.close()
        let file = try open(isDoubtful: true)
        defer { file.close() }
        #expect(file.isNew && !file.replacesDamaged)
    }

    @Test func `a file that a kill has left without its tables begins anew without a word`() throws {
        let steps = ["PRAGMA page_size=4096", "PRAGMA auto_vacuum=INCREMENTAL", "PRAGMA journal_mode=WAL"]
        for count in 0...steps.count {
            let begun = try Connection(path: path, mode: .readWriteCreate)
            for step in steps.prefix(count) { try begun.execute(step) }
            begun.close()
            let file = try open(isDoubtful: true)
            #expect(file.isNew && !file.replacesDamaged)
            file.close()
            CacheFile.remove(path)
        }
    }

    @Test func `a value whose page is damaged is gone, and the file is told of once`() throws {
        try fill()
        let contents = try #require(try FileSystem.contents(path, atMost: 1 << 20))
        // In its midst, on a page that has nothing else. It comes last, so that nobody passes it on the way to the first.
        let places = contents.ranges(of: Array("value-9.".utf8))
        try overwrite(at: places[places.count / 2].lowerBound, [UInt8(ascii: "\"")])
        let files = CacheFiles(configuration, layout: layout, isReader: true, isDoubtful: false)
        defer { files.closeAll() }
        func read(_ number: Int) -> ModelRead {
            let read = ModelRead(
                ticket: 1, namespace: 1, wanted: [(Array("\(number)".utf8), 1)], file: CacheFiles.main)
            try? read.run(files)
            return read
        }
        for time in 0..<3 {
            guard case .gone? = read(9).answer(1) else {
                Issue.record("the damaged value was read")
                return
            }
            files.dropDamaged()
            #expect(files.takeDamaged() == (time == 0 ? [CacheFiles.main] : []))
        }
        // What lies on other pages can be read until the writer has come to drop it.
        let other = read(0)
        guard case .value(let whole)? = other.answer(1) else {
            Issue.record("another value was not read")
            return
        }
        #expect(String(whole) == value(0))
        // The same in the next file of that name is told again.
        files.beginAnew(CacheFiles.main)
        _ = read(9)
        #expect(files.takeDamaged() == [CacheFiles.main])
    }
}
