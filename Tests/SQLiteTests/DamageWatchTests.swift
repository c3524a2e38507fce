import Glibc
@testable import SQLite
import Testing

extension SQLiteModule {
    @Suite struct DamageWatchTests {
        private let directory = TemporaryDirectory()

        /// What an observer of `observed` is told while `body` runs.
        private func told(_ observed: String, _ body: () throws -> Void) throws -> [String] {
            let paths = Guarded<[String]>([])
            let observer = DamageWatch.observe(observed) { path, _ in paths.withLock { $0.append(path) } }
            defer { withExtendedLifetime(observer) {} }
            try body()
            return paths.withLock { $0 }
        }

        private func readDamaged() throws {
            let connection = try Connection(path: directory.durable, mode: .readOnly)
            #expect(throws: SQLiteError.self) { _ = try connection.scalar("SELECT count(*) FROM sqlite_schema") }
        }

        @Test func `a file is told however its directory is named`() throws {
            write(Array("This is not a database, whatever its name says. It is text.".utf8), to: directory.durable)
            #expect(symlink(directory.path, directory.path + "/link") == 0)
            for named in [directory.path, directory.path + "/link", directory.path + "/durable/.."] {
                let paths = try told(named, readDamaged)
                #expect(Set(paths) == [named + "/durable/kura.sqlite"])
            }
            #expect(try told(directory.path + "/log", readDamaged).isEmpty)
        }

        @Test func `a file that is gone is told by whoever opens it`() throws {
            let paths = try told(directory.path) {
                #expect(throws: SQLiteError.self) { _ = try Connection(path: directory.durable, mode: .readOnly) }
            }
            #expect(paths == [directory.durable])
            let others = try told(directory.path) {
                // What is no file is none that is gone.
                #expect(throws: SQLiteError.self) { _ = try Connection(path: directory.path, mode: .readWrite) }
            }
            #expect(others.isEmpty)
        }
    }
}
