import Glibc
import Testing

/// A query whose index goes while it waits for the tables.
@Suite struct IndexGoneScenarioTests {
    @Test func `it is planned anew`() throws {
        let daemon = try TemporaryDaemon()
        let before = try daemon.connect()
        let documents = (0..<3).map { "{\"id\":\"d\($0)\",\"value\":{\"n\":\($0)}}" }.joined(separator: ",")
        try before.result("documents.putMany", "{\"collection\":\"c\",\"documents\":[\(documents)]}")
        try before.result("documents.configure", #"{"collection":"c","indexes":[{"name":"byN","fields":["n"]}]}"#)
        try before.result("documents.describe", #"{"collection":"c","waitMs":600000}"#)
        let find = #"{"collection":"c","where":{"n":{"$gte":1}}}"#
        #expect(try before.result("documents.find", find)["plan"]?["access"]?.text == "index")
        #expect(daemon.terminate() == 0)

        // While a slice is being folded, what comes meanwhile is gathered for the next.
        try daemon.start(faults: daemon.pause(at: "fold.slice"))
        let client = try daemon.connect()
        let other = try daemon.connect()
        other.send(Client.request("documents.put", #"{"collection":"other","id":"a","value":1}"#))
        other.send(Client.request("documents.find", #"{"collection":"other"}"#))
        try daemon.waitUntilPaused(at: "fold.slice")
        // Planned with the index, and run when the slice is in the tables that takes the index away.
        let waiting = try daemon.connect()
        try waiting.result("documents.put", #"{"collection":"c","id":"d3","value":{"n":3}}"#)
        // It waits when what is out of band behind it is answered.
        waiting.send(Client.request("documents.find", find, id: "7") + Client.request("storage.ping", id: "8"))
        #expect(try waiting.reply()["id"]?.int == 8)
        client.send(
            Client.request("documents.configure", #"{"collection":"c","indexes":[]}"#)
                + Client.request("storage.ping", id: "2"))
        _ = try client.reply()
        try daemon.goOn(at: "fold.slice")
        #expect(try client.reply()["result"] != nil)
        let found = try waiting.reply()["result"]
        #expect(found?["documents"]?.elements.compactMap { $0["id"]?.text } == ["d1", "d2", "d3"])
        #expect(found?["plan"]?["access"]?.text == "collection")
    }
}
