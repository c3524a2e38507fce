import Testing

@testable import KuraStorage

/// What is said of the stores fits together.
@Suite struct StoreTests {
    @Test func `a part belongs to a store that is no part, and is treated as that one is`() {
        for store in Store.allCases where store.isPart {
            #expect(!store.owner.isPart)
            #expect("\(store.described.scopeWord)" == "\(store.owner.described.scopeWord)")
            #expect(store.described.billed == store.owner.described.billed)
            #expect(store.isSealed == store.owner.isSealed)
            #expect(store.has(.backedUp) == store.owner.has(.backedUp))
        }
    }

    @Test func `no two have a name in common, and each has the byte of the log that it always had`() {
        #expect(Set(Store.allCases.map(\.roomName)).count == Store.allCases.count)
        let numbers = Store.allCases.map { "\($0.rawValue) \($0.described.name)" }
        #expect(
            numbers.starts(with: [
                "1 settings", "2 documents", "3 requests", "4 configuration", "5 attachments", "6 secrets",
                "7 secretVersions",
            ]))
    }

    @Test func `what is sealed is not named, and what is named is published`() {
        for store in Store.allCases {
            #expect(!(store.isSealed && store.isPublic))
            #expect(!store.isPublic || store.has(.published))
        }
    }

    @Test func `a backup's counts are told by name and read again`() {
        var counts = BackupManifest.Counts()
        counts.add(.settings, 3)
        counts.add(.settings, 0)
        counts.add(.documents, 2)
        counts.add(.documents, 5)
        counts[.secrets] = 4
        counts[.attachments] = 1
        let told = counts.named().filter { $0.1 > 0 }.map { "\($0.0) \($0.1)" }
        #expect(
            told == ["domains 1", "settings 3", "collections 2", "documents 7", "secrets 4", "attachments 1"])
        var read = BackupManifest.Counts()
        for (name, number) in counts.named() { read.set(name, number) }
        read.set("unknown", 9)
        #expect(read == counts)
    }

    @Test func `counts are read again as they were added up, with names for scopes and without`() {
        var (counts, read) = (BackupManifest.Counts(), BackupManifest.Counts())
        for store in Store.all(.counted) { counts.add(store, 2) }
        for (name, number) in counts.named() { read.set(name, number) }
        #expect(read == counts)
    }

    @Test func `what lies in rows has a way there of its own`() throws {
        let directory = TemporaryDirectory()
        let tables = try FoldTables(
            try Tables.openWriter(directory.path + "/kura.sqlite", cacheKibibytes: 64), memory: 1 << 20)
        for store in Store.allCases where !store.isResident {
            #expect(try !(store.parts.makeFolder(tables) is ResidentFolder), "\(store)")
        }
    }
}
