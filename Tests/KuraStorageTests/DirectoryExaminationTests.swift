import Glibc
import KuraBytes
import SQLite
import Testing

@testable import KuraCheck
@testable import KuraStorage

@Suite struct DirectoryExaminationTests {
    private func severities(_ findings: [Finding], _ check: String) -> [Finding.Severity] {
        findings.filter { $0.check == check }.map(\.severity)
    }

    @Test func `faults of SQLite are told by its version`() {
        func names(_ number: Int) -> [String] { SQLiteLibrary.faults(of: number).map(\.name) }
        #expect(names(3_040_001) == ["WAL reset", "CVE-2025-6965"])
        #expect(names(3_051_002) == ["WAL reset"] && names(3_051_003).isEmpty)
        #expect(names(3_006_023).contains("WAL reset") == false)
        let old = DirectoryExamination.lookAtSQLite(3_039_004)
        #expect(old.contains { $0.severity == .error && $0.message == "SQLite 3.39.4 is older than 3.40.0" })
        let own = DirectoryExamination.lookAtSQLite(SQLiteLibrary.number)
        #expect(
            !own.contains { $0.severity >= .warning } && own[0].message.hasPrefix("SQLite \(SQLiteLibrary.version)"))
        #expect(
            DirectoryExamination.lookAtSQLite(9_000_000) == [
                Finding(.ok, "sqlite", "SQLite 9.0.0, no known fault that concerns it")
            ])
        for finding in own where finding.severity != .ok { #expect(!finding.advice.isEmpty) }
    }

    @Test func `a clock that has been put back shows by files from the future, and one that was never set by itself`()
        throws
    {
        let fixture = TemporaryDirectory()
        let configuration = StorageConfiguration(dataDirectory: fixture.path + "/data")
        #expect(mkdir(configuration.dataDirectory, 0o700) == 0)
        let file = open(configuration.bootPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        close(file)
        let now = Clock.system.wall / 1000
        func clock(_ now: Int64) -> Finding.Severity? {
            severities(DirectoryExamination.run(configuration, now: now), "clock").first
        }
        #expect([.ok, .note].contains(clock(now)), "the kernel may not know of a time server")
        #expect(clock(now - 86_400) == .warning)
        #expect(clock(1000) == .error)
    }

    @Test func `room that is short is an error, a warning below what caches want`() throws {
        let fixture = TemporaryDirectory()
        var configuration = StorageConfiguration(dataDirectory: fixture.path + "/not-there-yet", profile: .small)
        #expect(severities(DirectoryExamination.run(configuration), "directory") == [.note])
        configuration.caches.minFreeBytes = 0
        #expect(severities(DirectoryExamination.run(configuration), "disk").first == .ok)
        configuration.caches.minFreeBytes = 1 << 49
        #expect(severities(DirectoryExamination.run(configuration), "disk").first == .warning)
        configuration.log.segmentBytes = 1 << 49
        #expect(severities(DirectoryExamination.run(configuration), "disk").first == .error)
    }

    @Test func `a link in the place of the directory is an error`() throws {
        let fixture = TemporaryDirectory()
        #expect(mkdir(fixture.path + "/data", 0o700) == 0 && symlink("data", fixture.path + "/link") == 0)
        let findings = DirectoryExamination.run(StorageConfiguration(dataDirectory: fixture.path + "/link"))
        #expect(severities(findings, "directory") == [.error])
        #expect(findings.first?.message.contains("symbolic link") == true && findings.first?.advice.isEmpty == false)
    }
}
