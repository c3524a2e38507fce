import Glibc
import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

/// Caches' files become smaller by themselves, and when somebody asks for it.
@Suite struct CacheShrinkingTests {
    private let directory = TemporaryDirectory()
    private let time = ManualTime()
    private var configuration: StorageConfiguration {
        var configuration = StorageConfiguration.tiny(directory.path)
        configuration.clock = Clock(time)
        return configuration
    }
    private let layout = CacheFile.Layout(version: 7, sql: "CREATE TABLE t(n INTEGER PRIMARY KEY, text TEXT);")

    /// What a test has done on the thread.
    private final class Work: CacheJob, @unchecked Sendable {
        let body: (CacheFiles) throws(SQLiteError) -> Void
        init(_ body: @escaping (CacheFiles) throws(SQLiteError) -> Void) { self.body = body }
        func run(_ files: CacheFiles) throws(SQLiteError) { try body(files) }
    }

    private func thread() throws -> CacheThread {
        let configuration = configuration
        try FileSystem.makeDirectory(configuration.cacheDirectory)
        let layout = layout
        let thread = CacheThread(
            name: "kura-test", isBackground: true,
            makeFiles: { CacheFiles(configuration, layout: layout, isReader: false, isDoubtful: false) }, wake: {})
        try thread.begin()
        return thread
    }

    private func path(_ name: String) -> String {
        StorageConfiguration.tiny(directory.path).cacheDirectory + "/" + name
    }

    /// Has a file filled with rows of two kilobytes, of which one in so many stays.
    private func fill(_ thread: CacheThread, _ name: String, rows: Int = 3000, keeping part: Int) {
        thread.submit(
            Work { (files) throws(SQLiteError) in
                try files.file(name).connection.execute(
                    """
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
                    INSERT INTO t SELECT i, printf('%d %s', i, hex(zeroblob(900))) FROM n;
                    DELETE FROM t WHERE n % \(part) > 0;
                    """)
            })
    }

    private func wait(_ what: String, until holds: () -> Bool) {
        let deadline = monotonicNanoseconds() + 60_000_000_000
        var isSo = holds()
        while !isSo, monotonicNanoseconds() < deadline {
            usleep(20_000)
            isSo = holds()
        }
        #expect(isSo, "\(what)")
    }

    private func rows(_ name: String) throws -> Int64? {
        try Connection(path: path(name), mode: .readOnly)
            .scalar("SELECT count(*) FROM t WHERE text = printf('%d %s', n, hex(zeroblob(900)))")
    }

    @Test func `a file that is mostly free becomes smaller by itself, and jobs go on meanwhile`() throws {
        let thread = try thread()
        defer { thread.stop() }
        fill(thread, "a.sqlite", keeping: 100)
        wait("filled") { (thread.takeDone() ?? []).count == 1 }
        #expect(Compaction.size(path("a.sqlite")) > 6 << 20)
        // 30 rows, a page each at most, 256 pages that may stay, and the tree.
        wait("smaller") {
            time.advance(by: 1_000_000_000)
            return Compaction.size(path("a.sqlite")) < 300 * FreePages.pageSize
        }
        #expect(FileSystem.size(path("a.sqlite") + "-wal") == 0)
        #expect(try rows("a.sqlite") == 30)
        fill(thread, "b.sqlite", rows: 10, keeping: 1)
        wait("goes on") { (thread.takeDone() ?? []).contains { $0.error == nil } }
        #expect(try rows("b.sqlite") == 10)
    }

    @Test func `a compaction leaves no page free in any file, and tells sizes before and after`() throws {
        let thread = try thread()
        defer { thread.stop() }
        fill(thread, "a.sqlite", rows: 1500, keeping: 3)
        fill(thread, "b.sqlite", rows: 200, keeping: 4)
        let compaction = Compaction(parts: 1)
        #expect(!compaction.isThrough && !compaction.wait(until: Clock.system.deadline(milliseconds: 0)))
        thread.submit(CacheCompaction(compaction))
        wait("through") { compaction.wait(until: Clock.system.deadline(milliseconds: 10)) }
        #expect(compaction.failure == nil)
        let files = compaction.files
        #expect(files.map(\.name) == ["cache/a.sqlite", "cache/b.sqlite"])
        for file in files {
            #expect(file.after < file.before && file.after == Compaction.size(directory.path + "/" + file.name))
        }
        let (done, total) = compaction.progress
        #expect(done == total && total > 1 << 20)
        for name in ["a.sqlite", "b.sqlite"] {
            #expect(try Connection(path: path(name), mode: .readOnly).scalar("PRAGMA freelist_count") == 0)
        }
        #expect(try rows("a.sqlite") == 500 && rows("b.sqlite") == 50)
    }

    @Test func `small files are left out of a compaction that is about large ones`() throws {
        let thread = try thread()
        defer { thread.stop() }
        fill(thread, "a.sqlite", rows: 1500, keeping: 3)
        fill(thread, "b.sqlite", rows: 200, keeping: 4)
        let compaction = Compaction(parts: 1, minimumBytes: 2 << 20, isIdle: true)
        thread.submit(CacheCompaction(compaction))
        // The look that the rows are due to have, whenever they came, is where it begins.
        wait("through") {
            time.advance(by: 1_000_000_000)
            return compaction.wait(until: Clock.system.deadline(milliseconds: 10))
        }
        #expect(compaction.files.map(\.name) == ["cache/a.sqlite"])
        #expect(try Connection(path: path("b.sqlite"), mode: .readOnly).scalar("PRAGMA freelist_count") ?? 0 > 0)
    }

    @Test func `what nobody waits for any more, and what the end comes before, ends`() throws {
        let thread = try thread()
        fill(thread, "a.sqlite", keeping: 100)
        let (cancelled, late) = (Compaction(parts: 1), Compaction(parts: 1))
        cancelled.cancel()
        thread.submit(CacheCompaction(cancelled))
        thread.submit(CacheCompaction(late))
        thread.stop()
        #expect(cancelled.isThrough && late.isThrough)
    }
}
