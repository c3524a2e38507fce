import Glibc
import SQLite
import Testing

extension SQLiteModule {
    @Suite struct FaultPointsTests {
        private func hits(_ count: Int, _ point: FaultPoint, role: FileRole? = nil) -> [FaultAction?] {
            (0..<count).map { _ in FaultPoints.hit(point, role: role) }
        }

        @Test func `nothing strikes while nothing is armed`() {
            CountingScope.run(CountingScope()) {
                FaultPoints.disarm()
                for point in FaultPoint.allCases { #expect(FaultPoints.hit(point) == nil) }
            }
        }

        @Test func `a fault strikes at its hit only, or from it on`() throws {
            try CountingScope.run(CountingScope()) {
                defer { FaultPoints.disarm() }
                try FaultPoints.arm("log.commit:fail,log.sync:skip:3,fold.commit:full:2+")
                #expect(hits(3, .logCommit) == [.fail, nil, nil])
                #expect(hits(4, .logSync) == [nil, nil, .skip, nil])
                #expect(hits(4, .foldCommit) == [nil, .full, .full, .full])
                #expect(FaultPoints.hit(.logAppend) == nil)
                try FaultPoints.arm("")
                #expect(FaultPoints.hit(.foldCommit) == nil)
            }
        }

        @Test func `a fault that is added counts from then on, and is taken away alone`() throws {
            try CountingScope.run(CountingScope()) {
                defer { FaultPoints.disarm() }
                try FaultPoints.arm("log.commit:fail:3")
                _ = hits(2, .logCommit)
                FaultPoints.add("log.sync:fail", number: 1)
                FaultPoints.add("log.sync:full:1+", number: 2)
                #expect(hits(2, .logSync) == [.fail, .full])
                FaultPoints.withdraw(2)
                #expect(hits(2, .logSync) == [nil, nil])
                #expect(FaultPoints.hit(.logCommit) == .fail)
            }
        }

        @Test func `a role's fault counts the hits of that role only`() throws {
            try CountingScope.run(CountingScope()) {
                defer { FaultPoints.disarm() }
                try FaultPoints.arm("vfs.write@durable:full:2")
                #expect(hits(3, .vfsWrite, role: .log) == [nil, nil, nil])
                #expect(hits(3, .vfsWrite, role: .durable) == [nil, .full, nil])
            }
        }

        @Test(arguments: [
            "log.comit:fail", "log.commit", "log.commit:fial", "log.commit:skip", "vfs.write:skip", "log.commit:fail:0",
            "log.commit:fail:-1", "log.commit:fail:+", "log.commit:fail:1:2", "log.commit@log:fail",
            "vfs.write@disk:fail",
            "log.commit:trap=", "log.commit:trap=-1", "log.commit:trapped", "log.commit:sleep", "log.commit:sleep=",
            "log.commit:sleep=-1", "log.sync:fail,nonsense", "log.commit:pause", "log.commit:pause=here",
        ])
        func `a specification that is not understood is refused and changes nothing`(_ text: String) throws {
            try CountingScope.run(CountingScope()) {
                defer { FaultPoints.disarm() }
                try FaultPoints.arm("log.retire:fail:1+")
                #expect(throws: FaultPoints.ParseError.self) { try FaultPoints.arm(text) }
                #expect(FaultPoints.hit(.logRetire) == .fail)
            }
        }

        @Test func `sleep delays the point and goes on`() throws {
            try CountingScope.run(CountingScope()) {
                defer { FaultPoints.disarm() }
                try FaultPoints.arm("fold.slice:sleep=60")
                let clock = ContinuousClock()
                let first = clock.measure { #expect(FaultPoints.hit(.foldSlice) == nil) }
                #expect(first >= .milliseconds(60))
            }
        }

        @Test func `pause makes its file, and goes on when that is removed`() throws {
            let directory = try TemporaryDirectory.make("kura-pause")
            defer { FileTree.remove(directory) }
            let file = directory + "/here"
            try onThreads(2) { thread in
                guard thread == 0 else {
                    try waitFor("the other is at the point") { access(file, F_OK) == 0 }
                    unlink(file)
                    return
                }
                try CountingScope.run(CountingScope()) {
                    defer { FaultPoints.disarm() }
                    try FaultPoints.arm("fold.slice:pause=\(file):2")
                    #expect(FaultPoints.hit(.foldSlice) == nil && access(file, F_OK) != 0)
                    #expect(FaultPoints.hit(.foldSlice) == nil && access(file, F_OK) != 0)
                }
            }
        }

        @Test func `kill ends the process at the point`() async throws {
            await #expect(processExitsWith: .signal(SIGKILL)) {
                try FaultPoints.arm("recover.copy:kill:2")
                _ = FaultPoints.hit(.recoverCopy)
                _ = FaultPoints.hit(.recoverCopy)
                exit(0)
            }
            await #expect(processExitsWith: .exitCode(7)) {
                try FaultPoints.arm("recover.copy:kill:2")
                _ = FaultPoints.hit(.recoverCopy)
                exit(7)
            }
        }
    }
}
