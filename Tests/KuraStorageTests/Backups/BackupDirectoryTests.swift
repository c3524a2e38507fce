import Glibc
import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct BackupDirectoryTests {
    private func entry(_ hoursAgo: Int, _ name: String? = nil) -> BackupDirectory.Entry {
        let at = Int64(1_800_001_800_000) - Int64(hoursAgo) * 3_600_000
        return BackupDirectory.Entry(name: name ?? "auto-\(hoursAgo)", bytes: 1, createdAt: at)
    }

    @Test func `the newest of each hour, day and week is kept, as many as are asked for`() {
        // Two an hour for sixty days.
        let entries = (0..<60 * 24).flatMap { hour in
            [
                entry(hour),
                BackupDirectory.Entry(name: "auto-\(hour)b", bytes: 1, createdAt: entry(hour).createdAt - 60_000),
            ]
        }
        let keep = BackupDirectory.Keep(hourly: 24, daily: 7, weekly: 4)
        let going = Set(BackupDirectory.superfluous(entries, keep).map(\.name))
        let kept = entries.filter { !going.contains($0.name) }
        // Some of the hours are the newest of their days, some days of their weeks.
        #expect(kept.count >= 24 + 5 && kept.count <= 24 + 7 + 4)
        #expect(kept.prefix(24).map(\.createdAt) == (0..<24).map { entry($0).createdAt })
        #expect(kept.allSatisfy { $0.createdAt >= entry(4 * 7 * 24 + 24).createdAt })
        // Thinning what was thinned takes nothing away.
        #expect(BackupDirectory.superfluous(kept, keep).isEmpty)
    }

    @Test func `the newest stays whatever is asked for, and what somebody named is not thinned`() {
        let entries = [entry(0), entry(1), entry(2, "mine"), entry(900)]
        let going = BackupDirectory.superfluous(entries, .init(hourly: 0, daily: 0, weekly: 0))
        #expect(going.map(\.name) == ["auto-1", "auto-900"])
    }

    @Test func `names lead nowhere else`() {
        for name in ["a", "before-upgrade_2.1", String(repeating: "x", count: 64)] {
            #expect(BackupDirectory.isName(name))
        }
        for name in ["", ".", "..", ".hidden", "a/b", "../a", "a b", "ä", "a\0", String(repeating: "x", count: 65)] {
            #expect(!BackupDirectory.isName(name), "\(name)")
        }
    }

    @Test func `selections name stores and scopes, and secrets as a whole`() throws {
        func words(_ texts: String...) -> [[UInt8]] { texts.map { Array($0.utf8) } }
        let some = try BackupSelection(words("settings", "documents/notes"))
        func has(_ store: Store, _ scope: String) -> Bool { with(scope) { some.contains(store, $0) } }
        #expect(has(.settings, "app") && has(.documents, "notes") && has(.attachments, "notes"))
        #expect(has(.configuration, "documents/notes") && has(.configuration, "settings/x"))
        #expect(!has(.documents, "note") && !has(.configuration, "documents/note") && !has(.secrets, "x"))
        #expect(!has(.requests, "app"))
        for wrong in [words("models"), words("secrets/mail"), words("documents/"), words("")] {
            #expect(throws: BackupFault.self) { try BackupSelection(wrong) }
        }
    }
}
