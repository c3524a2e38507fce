import Glibc
import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

/// Data directories of earlier releases, as they have left them.
@Suite struct UpgradeScenarioTests {
    private let daemon: TemporaryDaemon

    init() throws { daemon = try TemporaryDaemon(starts: false) }

    @Test func `there are directories of earlier layouts, and one of the newest`() throws {
        #expect(Set(EarlierRelease.all.map(\.layout)).isSuperset(of: [1, 3, 4]))
        #expect(EarlierRelease.newest?.name.hasPrefix("layout\(Formats.tables)-log\(Formats.log)-") == true)
    }

    @Test(arguments: EarlierRelease.all)
    func `what a release was killed with is there for this one, and after its own stop and kill`(
        release: EarlierRelease
    ) throws {
        try release.unpack(to: daemon)
        try daemon.start()
        #expect(
            daemon.log.contains("recovered after an unclean stop"), "the fixture's last changes are in the log alone")
        #expect(!daemon.log.contains("set aside"))
        try EarlierRelease.expectAll(daemon, "first start")
        let client = try daemon.connect()
        let problems = try client.result("storage.check")["problems"]
        #expect(problems?.elements.isEmpty == true, "\(String(describing: problems))")
        // It goes on: behind the revisions that there were, in all rooms.
        let rev = try #require(try client.result("storage.status")["rev"]?.int)
        let put = try client.result("settings.put", "{\"domain\":\"since\",\"key\":\"k\",\"value\":1}")
        #expect(put["rev"]?.int == rev + 1)
        try client.result("documents.put", "{\"collection\":\"notes\",\"id\":\"since\",\"value\":{\"author\":\"me\"}}")
        try client.result("secrets.put", "{\"service\":\"since\",\"account\":\"a\",\"secret\":\"new\"}")
        try client.result("documents.delete", "{\"collection\":\"notes\",\"id\":\"since\"}")
        #expect(daemon.terminate() == 0)
        let header = try #require(try DatabaseHeader(daemon.data + "/durable/kura.sqlite"))
        #expect(Int(header.version) == Formats.tables)
        #expect(Formats.newestSegment(in: daemon.data + "/log")?.version == Formats.log)
        #expect(try TablesRecount.difference(daemon.data) == nil)

        try daemon.start()
        try EarlierRelease.expectAll(daemon, "second start")
        daemon.kill()
        try daemon.start()
        try EarlierRelease.expectAll(daemon, "after a kill")
        let secret = try daemon.connect().result("secrets.get", "{\"service\":\"since\",\"account\":\"a\"}")
        #expect(secret["secret"]?.text == "new")
    }

    /// Each hit is a write of the start to the tables' files: its layout's steps first.
    @Test(arguments: [1, 2, 3, 5, 8, 13])
    func `a kill in the midst of an upgrade loses nothing, and the next start goes on with it`(hit: Int) throws {
        let release = try #require(EarlierRelease.all.first { $0.layout == 1 })
        try release.unpack(to: daemon)
        try daemon.launch(faults: "vfs.write@durable:kill:\(hit)")
        #expect(daemon.wait() == 128 + SIGKILL, "\(daemon.log)")
        try daemon.start()
        try EarlierRelease.expectAll(daemon, "after a kill at write \(hit)")
        #expect(try daemon.connect().result("storage.status")["recovered"] == nil)
    }

    @Test func `secrets of an earlier release open with its passphrase alone as well`() throws {
        let releases = EarlierRelease.all.filter { $0.layout >= 4 }
        for release in releases {
            let daemon = try TemporaryDaemon(starts: false)
            try release.unpack(to: daemon)
            #expect(unlink(daemon.data + "/keys/root.key") == 0)
            try daemon.start()
            let client = try daemon.connect()
            let get = "{\"service\":\"mail\",\"account\":\"ada\"}"
            #expect(try client.refusal("secrets.get", get)["kind"]?.text == "sealed")
            #expect(try client.refusal("secrets.unlock", "{\"passphrase\":\"wrong\"}")["kind"]?.text == "wrongKey")
            try client.result("secrets.unlock", "{\"passphrase\":\"correct horse battery staple\"}")
            #expect(try client.result("secrets.get", get)["secret"]?.text == "s3cret")
            try EarlierRelease.expectAll(daemon, "\(release.name), by its passphrase")
        }
        #expect(!releases.isEmpty)
    }

    @Test func `a backup of an earlier release is restored by this one`() throws {
        var count = 0
        for release in EarlierRelease.all {
            let daemon = try TemporaryDaemon(starts: false)
            try release.unpack(to: daemon)
            guard let backup = TemporaryDaemon.names(daemon.data + "/backups")?.first else { continue }
            count += 1
            let restored = try TemporaryDaemon(starts: false)
            #expect(
                try restored.run([
                    "restore", daemon.data + "/backups/" + backup, "--data-dir", restored.data, "--unproved",
                ]) == 0)
            try restored.start()
            let client = try restored.connect()
            // As of the backup: before the last changes.
            #expect(
                try client.result("settings.get", "{\"domain\":\"app\",\"key\":\"theme\"}")["value"]?.text == "dark")
            let note = try client.result("documents.get", "{\"collection\":\"notes\",\"id\":\"n7\"}")
            #expect(note["value"]?["text"]?.text == "changed")
        }
        #expect(count > 0)
    }
}
