import Glibc
import SQLite
import Testing

@testable import KuraStorage

/// Tables with a damaged page, and no log and no snapshot to make them anew from.
@Suite struct TablesSalvageTests {
    private static let keys = 0..<300
    private static let value = "\"" + String(repeating: "v", count: 600) + "\""
    private static let newest = "\"" + String(repeating: "w", count: 600) + "\""

    /// Everything is in the tables, and the log has only what came last.
    private func fill(_ harness: BootHarness) throws {
        try harness.start { recovery, _ in
            try harness.put(recovery, Self.keys, Self.value)
            try harness.fold(recovery)
        }
        let log = harness.configuration.logDirectory
        let folded = try LogFiles.numbers(in: log)
        try harness.start { recovery, _ in try harness.put(recovery, 0..<2, Self.newest) }
        for number in folded { try Segment.remove(number, in: log) }
        try FileSystem.truncate(harness.tables + "-wal", to: 0)
    }

    private func get(_ recovery: Recovery, _ key: Int) -> (setting: String?, document: String?) {
        let setting = with("d", "\(key)") { recovery.settings.get($0, $1).item?.value.text }
        let document = try? with("c", "\(key)") { (c, k) throws(EngineError) in
            try recovery.documents.get(c, k).item?.value.text
        }
        return (setting, document)
    }

    @Test func `whatever page is damaged, all that lies elsewhere is there, and the rest is counted`() throws {
        let original = try BootHarness()
        try fill(original)
        let pages = FileSystem.size(original.tables) / 4096
        #expect(pages > 100)
        var salvaged = 0
        for page in 0..<pages {
            let harness = try BootHarness()
            try FileSystem.removeDirectory(harness.configuration.dataDirectory)
            try BootHarness.copy(original.configuration.dataDirectory, to: harness.configuration.dataDirectory)
            try harness.damage(harness.tables, at: page * 4096 + 1000, bytes: [0xA5, 0x5A, 0xC3])
            for _ in 0..<2 { try harness.meetDamage(in: .open) }
            try harness.start { recovery, boot in
                let notice = try #require(boot.recovered.first)
                var lost = (settings: 0, documents: 0)
                for key in Self.keys {
                    let (setting, document) = get(recovery, key)
                    let wanted = key < 2 ? Self.newest : Self.value
                    #expect(setting == nil || setting == wanted)
                    #expect(document == nil || document == wanted)
                    if setting == nil { lost.settings += 1 }
                    if document == nil { lost.documents += 1 }
                }
                func told(_ store: String) -> Int {
                    notice.leftOut.filter { $0.store == store }.reduce(0) { $0 + $1.count }
                }
                switch notice.origin {
                case .salvage:
                    salvaged += 1
                    // What the log has had since is there.
                    #expect((lost.settings...lost.settings + 2).contains(told("settings")), "page \(page)")
                    #expect((lost.documents...lost.documents + 2).contains(told("documents")), "page \(page)")
                    #expect(lost.settings <= 8 && lost.documents <= 8, "page \(page): \(lost)")
                    try expectNames(harness, lost.documents, told("documents"))
                case .tables: #expect(lost == (0, 0), "page \(page): nobody has asked for it")
                default: Issue.record("page \(page): \(notice)")
                }
            }
        }
        #expect(salvaged > pages / 2)
    }

    /// Lost documents are named, unless it is their index that is damaged, and then none is lost.
    private func expectNames(_ harness: BootHarness, _ lost: Int, _ told: Int) throws {
        let directory = harness.configuration.quarantineDirectory + "/" + harness.quarantined[0]
        let text = try FileSystem.contents(directory + "/salvaged/missing.jsonl", atMost: 1 << 20) ?? []
        let lines = text.split(separator: UInt8(ascii: "\n"))
        #expect(
            (lost...told).contains(lines.count) && lines.allSatisfy { $0.starts(with: "{\"collection\":\"c\"".utf8) })
    }

    @Test func `what is lost is told where the table of the scopes, which counts it, is damaged too`() throws {
        let original = try BootHarness()
        try fill(original)
        let connection = try Connection(path: original.tables, mode: .readOnly)
        let scopes = Int(
            try #require(try connection.scalar("SELECT rootpage FROM sqlite_schema WHERE name = 'scopes'")))
        let roots = Int(try connection.scalar("SELECT max(rootpage) FROM sqlite_schema") ?? 0)
        connection.close()
        var told = (settings: 0, documents: 0)
        for page in stride(from: roots, to: FileSystem.size(original.tables) / 4096, by: 7) {
            let harness = try BootHarness()
            try FileSystem.removeDirectory(harness.configuration.dataDirectory)
            try BootHarness.copy(original.configuration.dataDirectory, to: harness.configuration.dataDirectory)
            for place in [scopes - 1, page] {
                try harness.damage(harness.tables, at: place * 4096 + 1000, bytes: [0xA5, 0x5A, 0xC3])
            }
            for _ in 0..<2 { try harness.meetDamage(in: .open) }
            try harness.start { recovery, boot in
                let notice = try #require(boot.recovered.first)
                #expect(notice.origin == .salvage, "page \(page): \(notice)")
                let kept = Self.keys.map { get(recovery, $0) }
                let settings = kept.filter { $0.setting == nil }.count
                let documents = kept.filter { $0.document == nil }.count
                func count(_ store: String) -> Int? { notice.leftOut.first { $0.store == store }?.count }
                // The index of the ids counts documents; of settings so many pages are told.
                #expect((documents...documents + 2).contains(count("documents") ?? 0), "page \(page)")
                // Nothing tells these from secrets.
                #expect(settings == 0 || count("settings or secrets") == 1, "page \(page): \(notice.leftOut)")
                #expect(count("settings") == nil && count("secrets") == nil, "page \(page): \(notice.leftOut)")
                if settings > 0 { told.settings += 1 }
                if documents > 0 { told.documents += 1 }
            }
        }
        #expect(told.settings > 0 && told.documents > 0)
    }

    @Test func `names of scopes that are damaged together with their index come from the log`() throws {
        let harness = try BootHarness()
        try fill(harness)
        try harness.start { recovery, _ in try harness.fold(recovery) }
        try FileSystem.truncate(harness.tables + "-wal", to: 0)
        for name in ["scopes", "sqlite_autoindex_scopes_1"] {
            let connection = try Connection(path: harness.tables, mode: .readOnly)
            defer { connection.close() }
            let root = try #require(
                try connection.scalar("SELECT rootpage FROM sqlite_schema WHERE name = '\(name)'"))
            try harness.damage(harness.tables, at: (Int(root) - 1) * 4096 + 1000, bytes: [0xA5, 0x5A, 0xC3])
        }
        for _ in 0..<2 { try harness.meetDamage(in: .open) }
        try harness.start { recovery, boot in
            let notice = try #require(boot.recovered.first)
            #expect(notice.origin == .salvage && notice.leftOut.isEmpty, "\(notice)")
            for key in Self.keys {
                let (setting, document) = get(recovery, key)
                let wanted = key < 2 ? Self.newest : Self.value
                #expect(setting == wanted && document == wanted, "\(key)")
            }
        }
    }

    @Test func `what lies on many damaged pages is lost, and nothing else`() throws {
        let harness = try BootHarness()
        try fill(harness)
        let roots =
            try Connection(path: harness.tables, mode: .readOnly)
            .scalar("SELECT max(rootpage) FROM sqlite_schema") ?? 0
        var random = SplitMix(state: 11)
        let pages = Int(roots) + 1..<FileSystem.size(harness.tables) / 4096
        for page in Set((0..<20).map { _ in Int.random(in: pages, using: &random) }) {
            try harness.damage(harness.tables, at: page * 4096 + 7, bytes: [0xA5, 0x5A, 0xC3])
        }
        for _ in 0..<2 { try harness.meetDamage(in: .open) }
        try harness.start { recovery, boot in
            let notice = try #require(boot.recovered.first)
            #expect(notice.origin == .salvage && notice.savedRev == notice.newestRev)
            let kept = Self.keys.map { get(recovery, $0) }
            let told = notice.leftOut.reduce(0) { $0 + $1.count }
            let lost = kept.filter { $0.setting == nil }.count + kept.filter { $0.document == nil }.count
            #expect((lost...lost + 4).contains(told) && lost > 0 && lost < 200)
            try harness.put(recovery, Self.keys, Self.newest)
            try harness.fold(recovery)
        }
        try harness.start { recovery, _ in try harness.expect(recovery, Self.keys, Self.newest) }
    }
}
