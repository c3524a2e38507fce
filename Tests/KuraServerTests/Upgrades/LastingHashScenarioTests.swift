import Testing

/// What earlier versions have given or written goes by a hash that is the same since.
@Suite struct LastingHashScenarioTests {
    @Test func `a cursor that an earlier version has given leads on`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        for key in ["a", "b", "c"] {
            try client.result("settings.put", "{\"domain\":\"s\",\"key\":\"\(key)\",\"value\":1}")
        }
        let page = try client.result("settings.list", "{\"domain\":\"s\",\"cursor\":\"3N4sTvyahD0sDAAAAAAAAAGI=\"}")
        #expect(page["values"] == (try JSON("{\"c\":1}")) && page["rev"]?.int == 3)
    }

    /// The tables have the name: under another one, the index of an earlier version would not be found.
    @Test func `an index whose field is too long for a name is called as in earlier versions`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        let field = String(repeating: "field", count: 30)
        try client.result(
            "documents.configure",
            "{\"collection\":\"books\",\"references\":"
                + "[{\"field\":\"\(field)\",\"collection\":\"people\",\"onDelete\":\"deny\"}]}")
        let indexes = try client.result("documents.describe", "{\"collection\":\"books\"}")["indexes"]?.elements ?? []
        #expect(indexes.map { $0["name"]?.text } == ["reference:f805bc4c81c17d7c"])
    }
}
