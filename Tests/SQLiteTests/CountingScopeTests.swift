import SQLite
import Testing

extension SQLiteModule {
    @Suite struct CountingScopeTests {
        @Test func `what is written in a scope is counted there and nowhere else`() throws {
            let directory = TemporaryDirectory()
            let (outer, inner) = (CountingScope(), CountingScope())
            var inside = WriteCounts()
            var outside = WriteCounts()
            CountingScope.run(outer) {
                CountingScope.run(inner) {
                    do {
                        #expect(CountingScope.current === inner)
                        let segment = try Connection.segment(directory.log)
                        try segment.execute("CREATE TABLE t(a)")
                        inside = CountingVFS.snapshot()
                    } catch { Issue.record(error) }
                }
                #expect(CountingScope.current === outer)
                outside = CountingVFS.snapshot()
            }
            #expect(CountingScope.current == nil)
            #expect(inside[.log, .wal].writes > 0 && inside[.log].creates > 0)
            #expect(outside == WriteCounts())
        }

        @Test func `faults strike where they are armed alone, and are not used up elsewhere`() throws {
            try CountingScope.run(CountingScope()) {
                try FaultPoints.arm("log.commit:fail:2")
                CountingScope.run(CountingScope()) {
                    for _ in 0..<4 { #expect(FaultPoints.hit(.logCommit) == nil) }
                }
                #expect(FaultPoints.hit(.logCommit) == nil)
                #expect(FaultPoints.hit(.logCommit) == .fail)
            }
        }
    }
}
