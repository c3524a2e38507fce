import Glibc
import Testing

/// Quotas of a role over what caches hold, and what `storage.stats` tells of it.
@Suite struct CacheQuotaTests {
    private func quota(_ reply: JSON) -> Int? {
        reply["error"]?["data"]?["kind"]?.text == "quotaExceeded" ? reply["error"]?["data"]?["limit"]?.int : nil
    }

    private func model(_ client: Client, _ namespace: String, _ key: String) throws -> JSON {
        try client.call("models.put", "{\"namespace\":\"\(namespace)\",\"key\":\"\(key)\",\"value\":1}")
    }

    private func blob(_ client: Client, _ namespace: String, _ key: String, _ size: Int) throws -> JSON {
        try client.call(
            "blobs.put", BlobWorld.params(key, BlobWorld.data(BlobWorld.bytes(size)), namespace: namespace))
    }

    private static let role = RoleDaemon.role(
        RoleDaemon.grant("models", "mine*", "read", "write", "list"), RoleDaemon.grant("storage", "*", "read"),
        RoleDaemon.grant("blobs", "mine*", "read", "write", "list"),
        quotas: "{\"items\":4,\"bytes\":100000,\"scopes\":3}")

    /// Items, bytes and scopes that the role holds.
    private func used(_ daemon: RoleDaemon) throws -> [Int?] {
        let quotas = try daemon.connect("admin").result("storage.status")["quotas"]?["app"]
        return ["items", "bytes", "scopes"].map { quotas?[$0]?.int }
    }

    @Test func `models and blobs count together, and what would grow over a bound is refused`() throws {
        let daemon = try RoleDaemon(["app": Self.role])
        let (client, admin) = (try daemon.connect("app"), try daemon.connect("admin"))
        for key in ["a", "b"] { #expect(quota(try model(client, "mine1", key)) == nil) }
        for key in ["p", "q"] { #expect(quota(try blob(client, "mine1", key, 20_000)) == nil) }
        let full = try used(daemon)
        #expect(full[0] == 4 && full[1] ?? 0 > 40_000 && full[1] ?? 0 < 41_000 && full[2] == 2)
        #expect(quota(try model(client, "mine1", "c")) == 4)
        #expect(quota(try blob(client, "mine1", "r", 10)) == 4)
        let many = try client.result(
            "models.putMany",
            "{\"namespace\":\"mine1\",\"entries\":[{\"key\":\"a\",\"value\":2},{\"key\":\"c\",\"value\":2}]}")
        #expect(many["stored"]?.int == 1)
        #expect(many["declined"]?.elements.map { $0["reason"]?.text } == ["quotaExceeded"])
        let upload = try client.result("blobs.beginUpload", BlobWorld.params("r", namespace: "mine1"))["upload"]?.text
        #expect(quota(try client.call("blobs.commitUpload", "{\"upload\":\"\(upload ?? "")\"}")) == 4)
        // So is a piece of what would grow over it, before it is written.
        let begun = try client.result("blobs.beginUpload", BlobWorld.params("p", namespace: "mine1"))
        let large = try #require(begun["upload"]?.text)
        let piece = "{\"upload\":\"\(large)\",\"offset\":0\(BlobWorld.data(BlobWorld.bytes(90_000)))}"
        #expect(quota(try client.call("blobs.appendUpload", piece)) == 100_000)
        try client.result("blobs.abortUpload", "{\"upload\":\"\(large)\"}")
        // What is there may change, within the bound of bytes.
        #expect(quota(try blob(client, "mine1", "p", 70_000)) == nil)
        #expect(quota(try blob(client, "mine1", "q", 40_000)) == 100_000)
        #expect(quota(try blob(client, "mine1", "p", 20_000)) == nil)
        #expect(try used(daemon) == full)
        // Others are not bound, and count only where the role may write.
        #expect(quota(try blob(admin, "mine1", "z", 10)) == nil)
        #expect(quota(try blob(admin, "other", "z", 10)) == nil)
        #expect(try used(daemon)[0] == 5)
        // What goes makes room, however it goes.
        try client.result("blobs.deleteMany", "{\"namespace\":\"mine1\",\"keys\":[\"p\",\"q\",\"z\"]}")
        try client.result("models.delete", "{\"namespace\":\"mine1\",\"key\":\"a\"}")
        #expect(try used(daemon)[0] == 1)
        #expect(quota(try model(client, "mine2", "a")) == nil)
        #expect(quota(try blob(client, "mine2", "a", 10)) == 3)
        #expect(try client.result("blobs.describe", "{\"namespace\":\"mine2\"}")["count"]?.int == 0)
    }

    @Test func `what caches hold is counted again after a restart and another reading of the configuration`() throws {
        let daemon = try RoleDaemon(["app": Self.role])
        var client = try daemon.connect("app")
        _ = try model(client, "mine1", "a")
        for key in ["p", "q"] { _ = try blob(client, "mine1", key, 20_000) }
        try client.result("blobs.delete", BlobWorld.params("q", namespace: "mine1"))
        let before = try used(daemon)
        try daemon.reload(daemon.configuration(["app": Self.role]))
        #expect(try used(daemon) == before)
        #expect(daemon.daemon.terminate() == 0)
        try daemon.daemon.start(configuration: daemon.configuration(["app": Self.role]))
        client = try daemon.connect("app")
        // These wait until all is read.
        try client.result("models.list", "{\"namespace\":\"mine1\"}")
        try client.result("blobs.list", "{\"namespace\":\"mine1\"}")
        #expect(try used(daemon) == before && before[0] == 2)
    }

    @Test func `stats have the namespaces that may be listed, and totals for who administers the storage`() throws {
        let daemon = try RoleDaemon(["app": Self.role])
        let (client, admin) = (try daemon.connect("app"), try daemon.connect("admin"))
        _ = try model(admin, "other", "m")
        _ = try blob(client, "mine1", "p", 20_000)
        for key in ["x", "y"] { _ = try blob(admin, "other", key, 20_000) }
        _ = try BlobWorld.read(client, "p", namespace: "mine1")
        let all = try admin.result("storage.stats")
        #expect(all["blobs"]?.elements.map { $0["namespace"]?.text } == ["mine1", "other"])
        let own = try #require(all["blobs"]?.elements.first)
        #expect(own["count"]?.int == 1 && own["bytes"]?.int == 20_000 && own["hits"]?.int == 1)
        // Equal contents are there once.
        let totals = try JSON("{\"models\":1,\"modelBytes\":146,\"blobs\":3,\"blobContents\":1,\"blobBytes\":20000}")
        #expect(all["totals"] == totals)
        let shown = try client.result("storage.stats")
        #expect(shown["blobs"]?.elements == [own] && shown["totals"] == nil)
    }
}
