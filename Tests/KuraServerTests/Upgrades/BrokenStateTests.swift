import Testing

/// Data directories that a release before this one has broken, as it has left them (scripts/fixtures-broken).
@Suite struct BrokenStateTests {
    static let states = ["year-9999", "empty-configured", "relaxed-unsynced", "conflict-policy"]

    @Test(arguments: states)
    func `what an earlier release has broken starts with everything intact, and stays so`(state: String) throws {
        let daemon = try TemporaryDaemon(starts: false)
        try EarlierRelease(name: "broken/\(state)").unpack(to: daemon)
        for _ in 0..<2 {
            try daemon.start()
            let client = try daemon.connect()
            let reads = try EarlierRelease.reads(daemon)
            #expect(reads.count > 10)
            for read in reads {
                let found = try client.result(read.method, read.params)
                for (name, value) in read.result.members { #expect(found[name] == value, "\(read.method): \(found)") }
            }
            #expect(try client.result("storage.status")["recovered"] == nil)
            #expect(try client.result("storage.check")["problems"]?.elements.isEmpty == true)
            #expect((TemporaryDaemon.names(daemon.data + "/quarantine") ?? []) == [])
            // It takes changes, and folds them.
            try client.result("settings.put", "{\"domain\":\"since\",\"key\":\"k\",\"value\":1}")
            #expect(daemon.terminate() == 0, "\(daemon.log)")
        }
    }
}
