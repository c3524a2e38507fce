import Glibc
import Testing

/// A query whose index goes while it waits for the tables.
@Suite struct IndexGoneScenarioTests {
    /// On a busy machine the slice may be through before all is there that is to wait for it.
    @Test func `it is planned anew`() throws {
        for attempt in 1...10 where try isPlannedAnew() { return print("planned anew at attempt \(attempt)") }
        Issue.record("the query was never planned anew")
    }

    private func isPlannedAnew() throws -> Bool {
        // While a slice is being folded, what comes meanwhile is gathered for the next.
        let daemon = try TemporaryDaemon(faults: "fold.slice:sleep=600:1+")
        let client = try daemon.connect()
        let documents = (0..<3).map { "{\"id\":\"d\($0)\",\"value\":{\"n\":\($0)}}" }.joined(separator: ",")
        try client.result("documents.putMany", "{\"collection\":\"c\",\"documents\":[\(documents)]}")
        try client.result("documents.configure", #"{"collection":"c","indexes":[{"name":"byN","fields":["n"]}]}"#)
        try client.result("documents.describe", #"{"collection":"c","waitMs":30000}"#)
        let find = #"{"collection":"c","where":{"n":{"$gte":1}}}"#
        #expect(try client.result("documents.find", find)["plan"]?["access"]?.text == "index")

        let other = try daemon.connect()
        other.send(Client.request("documents.put", #"{"collection":"other","id":"a","value":1}"#))
        other.send(Client.request("documents.find", #"{"collection":"other"}"#))
        usleep(150_000)
        // Planned with the index, and run when the slice is in the tables that takes the index away.
        let waiting = try daemon.connect()
        waiting.send(Client.request("documents.put", #"{"collection":"c","id":"d3","value":{"n":3}}"#))
        waiting.send(Client.request("documents.find", find))
        usleep(100_000)
        try client.result("documents.configure", #"{"collection":"c","indexes":[]}"#)
        #expect(try waiting.reply()["result"]?["rev"]?.int != nil)
        let found = try waiting.reply()["result"]
        #expect(found?["documents"]?.elements.compactMap { $0["id"]?.text } == ["d1", "d2", "d3"])
        return found?["plan"]?["access"]?.text == "collection"
    }
}
