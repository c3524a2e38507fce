import Glibc
import Testing

/// Versions of collections and the migrations between them, over a real socket.
@Suite struct MigrationScenarioTests {
    private func configure(_ more: String, _ client: Client) throws -> JSON {
        try client.result("documents.configure", "{\"collection\":\"c\",\(more)}")
    }

    private func describe(_ client: Client, _ more: String = ",\"waitMs\":600000") throws -> JSON {
        try client.result("documents.describe", "{\"collection\":\"c\"\(more)}")
    }

    private func get(_ id: String, _ client: Client) throws -> JSON {
        try client.result("documents.get", "{\"collection\":\"c\",\"id\":\"\(id)\"}")
    }

    @discardableResult
    private func put(_ id: String, _ value: String, _ client: Client) throws -> JSON {
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":\(value)}")
    }

    private func fill(_ ids: Range<Int>, _ client: Client, _ value: (Int) -> String) throws {
        for start in stride(from: ids.lowerBound, to: ids.upperBound, by: 1000) {
            let documents = (start..<min(start + 1000, ids.upperBound)).map {
                "{\"id\":\"d\($0)\",\"value\":\(value($0))}"
            }
            try client.result(
                "documents.putMany", "{\"collection\":\"c\",\"documents\":[\(documents.joined(separator: ","))]}")
        }
    }

    private func all(_ client: Client) throws -> [String: (text: JSON, rev: Int)] {
        var found: [String: (text: JSON, rev: Int)] = [:]
        var cursor = ""
        repeat {
            let page = try client.result("documents.list", "{\"collection\":\"c\",\"limit\":1000\(cursor)}")
            for document in page["documents"]?.elements ?? [] {
                found[try #require(document["id"]?.text)] = (
                    try #require(document["value"]), try #require(document["rev"]?.int)
                )
            }
            cursor = page["cursor"]?.text.map { ",\"cursor\":\"\($0)\"" } ?? ""
        } while !cursor.isEmpty
        return found
    }

    /// Taken twice, they would make something else of a document.
    private static let swap = """
        "version":2,"migrations":[{"to":2,"steps":[{"rename":{"from":"b","to":"c"}},{"rename":{"from":"a","to":"b"}},\
        {"setDefault":{"path":"a","value":{"new":[true]}}},{"convert":{"path":"n","to":"string"}}]}]
        """
    private static func old(_ number: Int) -> String {
        "{\"a\":1.50e1,\"b\":\(number),\"n\":\(number),\"k\":[1E-2,\"\\u00e4\"]}"
    }
    private static func new(_ number: Int) -> String {
        "{\"a\":{\"new\":[true]},\"b\":1.50e1,\"c\":\(number),\"n\":\"\(number)\",\"k\":[1E-2,\"ä\"]}"
    }

    @Test func `twenty thousand documents are migrated once each while others write`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        let count = 20_000
        try fill(0..<count, client, Self.old)
        let trial = try configure(Self.swap + ",\"dryRun\":true", client)["dryRun"]
        #expect(trial?["documents"]?.int == count)
        #expect(trial?["changed"]?.int == count)
        #expect(trial?["failed"]?.int == 0)
        #expect(trial?["steps"]?.elements.map { $0["changed"]?.int } == [count, count, count, count])
        // It has changed nothing.
        #expect(try get("d7", client)["value"] == JSON(Self.old(7)))
        #expect(try describe(client)["version"] == nil)

        let configured = try configure(Self.swap, client)
        #expect(configured["migrating"]?.bool == true)
        #expect(configured["version"]?.int == 2)
        let rev = try #require(configured["rev"]?.int)
        // Whoever writes now knows the new version, and changes documents of both.
        let other = try daemon.connect()
        let value = "{\"a\":0,\"b\":0,\"c\":0,\"n\":\"0\"}"
        for number in 0..<400 {
            try put("d\(count - 1 - number * 7)", value, other)
            let id = "d\(count - 4 - number * 7)"
            try other.result(
                "documents.patch", "{\"collection\":\"c\",\"id\":\"\(id)\",\"mergePatch\":{\"p\":\(number)}}")
            try other.result(
                "documents.increment", "{\"collection\":\"c\",\"id\":\"\(id)\",\"path\":\"c\",\"by\":\(count)}")
            try put("w\(number)", value, other)
        }
        let progress = try describe(client)["migration"]
        #expect(progress?["state"]?.text == "done")
        #expect(progress?["failed"]?.int == 0)
        #expect(progress?["done"] == progress?["total"])
        let found = try all(client)
        #expect(found.count == count + 400)
        var slices: [Int: Int] = [:]
        var migrated = 0
        for number in 0..<count {
            let document = try #require(found["d\(number)"])
            let distance = count - 1 - number
            if distance % 7 == 0, distance < 2800 {
                #expect(try document.text == JSON(value))
            } else if distance % 7 == 3, distance < 2803 {
                let expected =
                    "{\"a\":{\"new\":[true]},\"b\":1.50e1,\"c\":\(number + count),\"n\":\"\(number)\",\"k\":[1E-2,\"ä\"],\"p\":\(distance / 7)}"
                #expect(try document.text == JSON(expected))
            } else {
                #expect(try document.text == JSON(Self.new(number)))
                migrated += 1
                slices[document.rev, default: 0] += 1
                #expect(document.rev > rev)
            }
        }
        #expect(try get("d0", client)["version"]?.int == 2)
        // Those that were patched before the run came to them are its as well, or the writer's.
        #expect((progress?["changed"]?.int ?? 0) >= migrated)
        #expect(slices.values.max() ?? 0 <= 64)
        #expect(slices.count >= migrated / 64)
        #expect(daemon.terminate() == 0)
        #expect(try TablesRecount.difference(daemon.data) == nil)
    }

    @Test func `a run that is killed again and again goes on where it was, and migrates nothing twice`() throws {
        let daemon = try TemporaryDaemon()
        let count = 4000
        let filling = try daemon.connect()
        try fill(0..<count, filling, Self.old)
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "migrate.slice:kill:3")
        _ = try? configure(Self.swap, daemon.connect())
        #expect(daemon.wait() != nil)
        // Every start goes on, and is killed some slices later.
        for hit in [1, 5, 6, 2, 7] {
            try daemon.launch(faults: "migrate.slice:kill:\(hit)")
            #expect(daemon.wait() != nil)
        }
        try daemon.start(faults: daemon.pause(at: "migrate.scan"))
        let between = try describe(daemon.connect(), "")["migration"]
        #expect(between?["state"]?.text == "running")
        // Two slices of the first start, and all before the last of the others; on a slow machine they are smaller.
        let done = try #require(between?["done"]?.int)
        #expect(done > 18 && done <= (2 + 0 + 4 + 5 + 1 + 6) * 64)
        daemon.kill()
        try daemon.start()
        let client = try daemon.connect()
        let progress = try describe(client)["migration"]
        #expect(progress?["state"]?.text == "done")
        #expect(progress?["changed"]?.int == count)
        for (id, document) in try all(client) {
            #expect(try document.text == JSON(Self.new(Int(id.dropFirst())!)))
        }
        for number in stride(from: 0, to: count, by: 97) {
            #expect(try get("d\(number)", client)["version"]?.int == 2)
        }
        #expect(daemon.terminate() == 0)
        #expect(try TablesRecount.difference(daemon.data) == nil)
    }

    @Test func `slices that find the disk full are stored when there is room again, once`() throws {
        let daemon = try TemporaryDaemon()
        let count = 1000
        let filling = try daemon.connect()
        try fill(0..<count, filling, Self.old)
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "log.append:full:3,log.append:full:4,log.append:full:9")
        let client = try daemon.connect()
        _ = try configure(Self.swap, client)
        let progress = try describe(client)["migration"]
        #expect(progress?["state"]?.text == "done")
        #expect(progress?["changed"]?.int == count)
        #expect(progress?["failed"]?.int == 0)
        for (id, document) in try all(client) {
            #expect(try document.text == JSON(Self.new(Int(id.dropFirst())!)))
        }
        for number in stride(from: 0, to: count, by: 31) {
            #expect(try get("d\(number)", client)["version"]?.int == 2)
        }
        #expect(daemon.terminate() == 0)
        #expect(try TablesRecount.difference(daemon.data) == nil)
    }

    @Test func `a client of a lower version is told so, also while it is connected, and writes nothing`() throws {
        let daemon = try TemporaryDaemon()
        let (old, new) = (try daemon.connect(), try daemon.connect())
        #expect(try configure("\"version\":1", old)["version"]?.int == 1)
        try put("a", "{\"a\":1}", old)
        let configured = try configure(
            "\"version\":3,\"migrations\":[{\"to\":2,\"steps\":[{\"rename\":{\"from\":\"a\",\"to\":\"b\"}}]},{\"to\":3,\"steps\":[{\"rename\":{\"from\":\"b\",\"to\":\"c\"}}]}]",
            new)
        #expect(configured["version"]?.int == 3)
        #expect(try describe(new)["migration"]?["state"]?.text == "done")
        #expect(try get("a", new)["value"] == JSON("{\"c\":1}"))
        let rev = try get("a", new)["rev"]
        for (method, more) in [
            ("put", "\"id\":\"a\",\"value\":{\"a\":2}"), ("patch", "\"id\":\"a\",\"mergePatch\":{\"a\":2}"),
            ("delete", "\"id\":\"a\""), ("configure", "\"version\":2"), ("describe", "\"version\":2"),
            ("putMany", "\"documents\":[{\"value\":1}]"),
        ] {
            let refusal = try old.refusal("documents.\(method)", "{\"collection\":\"c\",\(more)}")
            #expect(refusal["kind"]?.text == "schemaTooNew")
            #expect(refusal["storedVersion"]?.int == 3)
            #expect(refusal["declaredVersion"]?.int == (more.contains("version") || method == "putMany" ? 2 : 1))
        }
        let operations = try old.refusal(
            "transaction.apply",
            "{\"operations\":[{\"method\":\"documents.put\",\"params\":{\"collection\":\"c\",\"id\":\"x\",\"value\":1}}]}"
        )
        #expect(operations["kind"]?.text == "schemaTooNew")
        #expect(try get("a", old)["rev"] == rev)
        // One that learns it at its start, and goes on nevertheless.
        let late = try daemon.connect()
        #expect(
            try late.refusal("documents.configure", "{\"collection\":\"c\",\"version\":2}")["kind"]?.text
                == "schemaTooNew")
        #expect(
            try late.refusal("documents.delete", "{\"collection\":\"c\",\"id\":\"a\"}")["kind"]?.text == "schemaTooNew")
        // Declaring the version makes it a client of that.
        _ = try configure("\"version\":3", old)
        try put("a", "{\"c\":2}", old)
        daemon.kill()
        try daemon.start()
        let refusal = try daemon.connect().refusal("documents.configure", "{\"collection\":\"c\",\"version\":2}")
        #expect(refusal["storedVersion"]?.int == 3)
    }

    @Test func `what is wrong with a declaration is told with its place, and nothing is changed`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try put("a", "{\"a\":1}", client)
        let before = try client.result("documents.count", "{\"collection\":\"c\"}")["rev"]
        let empty = "\"steps\":[]"
        for (more, path) in [
            ("\"version\":3", ""), ("\"version\":3,\"migrations\":[{\"to\":3,\(empty)}]", "/0/to"),
            ("\"version\":4,\"migrations\":[{\"to\":2,\(empty)},{\"to\":4,\(empty)}]", "/1/to"),
            ("\"version\":3,\"migrations\":[{\"to\":2,\(empty)}]", ""),
            ("\"version\":2,\"migrations\":[{\"to\":2,\(empty)},{\"to\":3,\(empty)}]", "/1/to"),
            ("\"version\":2,\"migrations\":[{\"to\":2,\(empty)},{\"to\":2,\(empty)}]", "/1/to"),
            ("\"version\":2,\"migrations\":[{\"to\":2,\"steps\":[{\"remove\":\"a..b\"}]}]", "/0/steps/0/remove"),
        ] {
            let refusal = try client.refusal(
                "documents.configure", "{\"collection\":\"c\",\(more),\"tombstoneDays\":3}")
            #expect(refusal["kind"]?.text == "invalidParams")
            #expect(refusal["parameter"]?.text == "migrations")
            #expect(refusal["path"]?.text == path, "\(more)")
        }
        for (more, parameter) in [
            ("\"version\":0", "version"), ("\"version\":2147483648", "version"), ("\"version\":1.5", "version"),
            ("\"migrations\":[]", "migrations"), ("\"dryRun\":true", "dryRun"), ("\"timeoutMs\":5", "timeoutMs"),
            ("\"version\":1,\"dryRun\":true,\"tombstoneDays\":3", "tombstoneDays"),
            ("\"version\":1,\"dryRun\":true,\"requestKey\":\"k\"", "dryRun"),
        ] {
            let refusal = try client.refusal("documents.configure", "{\"collection\":\"c\",\(more)}")
            #expect(refusal["kind"]?.text == "invalidParams")
            #expect(refusal["parameter"]?.text == parameter, "\(more)")
        }
        #expect(try describe(client)["rev"]?.int == 0)
        #expect(try client.result("documents.count", "{\"collection\":\"c\"}")["rev"] == before)
        // A new collection is of the version that is declared first.
        let new = try client.result("documents.configure", "{\"collection\":\"new\",\"version\":7}")
        #expect(new["version"]?.int == 7)
        #expect(new["migrating"]?.bool == false)
        // What is declared once more changes nothing.
        #expect(try client.result("documents.configure", "{\"collection\":\"new\",\"version\":7}")["rev"] == new["rev"])
    }

    @Test func `a collection without documents takes a higher version as it is, once nothing can be brought back`()
        throws
    {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        _ = try configure("\"version\":2", client)
        // Nothing was ever written.
        #expect(try configure("\"version\":5,\"dryRun\":true", client)["dryRun"]?["documents"]?.int == 0)
        #expect(try configure("\"version\":5", client)["version"]?.int == 5)
        // A lower one could stand beside clients that have declared the higher.
        let late = try daemon.connect()
        let lower = try late.refusal("documents.configure", "{\"collection\":\"c\",\"version\":3}")
        #expect(lower["kind"]?.text == "schemaTooNew" && lower["storedVersion"]?.int == 5, "\(lower)")
        try put("a", "{\"a\":1}", client)
        #expect(try client.refusal("documents.configure", "{\"collection\":\"c\",\"version\":7}")["path"]?.text == "")
        try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"a\"}")
        let kept = try client.refusal("documents.configure", "{\"collection\":\"c\",\"version\":7}")
        #expect(
            kept["reason"]?.text?.contains("brought back") == true && kept["parameter"]?.text == "migrations", "\(kept)"
        )
        let whole = try client.refusal(
            "transaction.apply",
            "{\"operations\":[{\"method\":\"documents.configure\",\"params\":{\"collection\":\"c\",\"version\":7}}]}")
        #expect(whole["parameter"]?.text == "migrations", "\(whole)")
        try client.result("documents.purge", "{\"collection\":\"c\",\"olderThanDays\":0}")
        var version: Int?
        for _ in 0..<6000 where version == nil {
            let reply = try client.call("documents.configure", "{\"collection\":\"c\",\"version\":7}")
            version = reply["result"]?["version"]?.int
            if version == nil { usleep(10_000) }
        }
        #expect(version == 7)
        // What is written now is of that version, and no run goes over it.
        try put("b", "{\"b\":1}", client)
        let told = try describe(client)
        #expect(told["version"]?.int == 7 && told["migration"] == nil, "\(told)")
        // A new start for the name.
        try client.result("documents.drop", "{\"collection\":\"c\"}")
        #expect(try configure("\"version\":1", client)["version"]?.int == 1)
    }

    @Test func `what cannot be migrated stays as it was and is told of, as the dry run foretold`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        _ = try configure(
            "\"indexes\":[{\"name\":\"u\",\"fields\":[\"k\"],\"unique\":true}],\"schema\":{\"properties\":{\"n\":{\"maximum\":50}}},\"schemaMode\":\"enforce\"",
            client)
        _ = try describe(client)
        for number in 0..<40 { try put("d\(number)", "{\"n\":\"\(number)\"}", client) }
        try put("word", "{\"n\":\"many\"}", client)
        try put("large", "{\"n\":\"51\"}", client)
        try put("both", "{\"n\":\"1\",\"m\":1}", client)
        try put("kept", "{\"n\":\"2\",\"t\":[]}", client)
        let migrations = """
            "version":2,"migrations":[{"to":2,"steps":[{"convert":{"path":"n","to":"integer"}},\
            {"convert":{"path":"t","to":"string","onFailure":"keep"}},{"rename":{"from":"n","to":"m"}},\
            {"rename":{"from":"m","to":"n"}}]}]
            """
        let trial = try configure(migrations + ",\"dryRun\":true", client)["dryRun"]
        #expect(trial?["documents"]?.int == 44)
        #expect(trial?["changed"]?.int == 41)
        #expect(trial?["failed"]?.int == 3)
        let steps = trial?["steps"]?.elements ?? []
        #expect(steps.map { $0["step"]?.int } == [0, 1, 2, 3])
        #expect(steps.map { $0["unconverted"]?.int } == [0, 1, 0, 0])
        func failures(_ value: JSON?) -> [String] {
            (value?["failures"]?.elements ?? []).map {
                "\($0["id"]?.text ?? "") \($0["step"]?.int ?? -1) \($0["path"]?.text ?? "")"
            }
        }
        let expected = ["word 0 /n", "large -1 /n", "both 2 /m"]
        #expect(failures(trial) == expected + ["kept 1 /t"])
        _ = try configure(migrations, client)
        let done = try describe(client)
        #expect(done["migration"]?["changed"]?.int == 41)
        #expect(done["migration"]?["failed"]?.int == 3)
        #expect(failures(done["migration"]) == expected)
        for (id, value) in [
            ("word", "{\"n\":\"many\"}"), ("large", "{\"n\":\"51\"}"), ("both", "{\"n\":\"1\",\"m\":1}"),
            ("kept", "{\"n\":2,\"t\":[]}"), ("d7", "{\"n\":7}"),
        ] { #expect(try get(id, client)["value"] == JSON(value)) }
        // What is repaired is of the new version; what is not is tried again on the way to the next.
        try client.result("documents.patch", "{\"collection\":\"c\",\"id\":\"word\",\"mergePatch\":{\"n\":45}}")
        try client.result(
            "documents.patch",
            "{\"collection\":\"c\",\"id\":\"large\",\"jsonPatch\":[{\"op\":\"replace\",\"path\":\"/n\",\"value\":\"8\"}]}"
        )
        // A unique key that the steps make is held against the others.
        _ = try configure(
            "\"version\":3,\"migrations\":[{\"to\":3,\"steps\":[{\"rename\":{\"from\":\"n\",\"to\":\"k\"}}]}]", client)
        let third = try describe(client)["migration"]
        #expect(third?["failed"]?.int == 2)
        #expect(failures(third) == ["both 2 /m", "kept -1 "])
        #expect(third?["failures"]?[1]?["reason"]?.text?.contains("unique index u") == true)
        #expect(try get("d2", client)["value"] == JSON("{\"k\":2}"))
        #expect(daemon.terminate() == 0)
        #expect(try TablesRecount.difference(daemon.data) == nil)
    }

    @Test func `whoever changes, deletes or brings back what the run has not come to finds it migrated`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.start(faults: daemon.pause(at: "migrate.scan"))
        let client = try daemon.connect()
        for id in ["patched", "attached", "deleted", "early", "left"] { try put(id, "{\"a\":1,\"b\":2}", client) }
        try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"early\"}")
        let migrations =
            "\"version\":2,\"migrations\":[{\"to\":2,\"steps\":[{\"rename\":{\"from\":\"b\",\"to\":\"c\"}},{\"rename\":{\"from\":\"a\",\"to\":\"b\"}}]}]"
        // In one transaction with what is new already.
        let applied = try client.result(
            "transaction.apply",
            """
            {"operations":[{"method":"documents.configure","params":{"collection":"c",\(migrations)}},\
            {"method":"documents.put","params":{"collection":"c","id":"same","value":{"b":5}}}]}
            """)
        #expect(applied["results"]?[0]?["migrating"]?.bool == true)
        try client.result("documents.patch", "{\"collection\":\"c\",\"id\":\"patched\",\"mergePatch\":{\"p\":1}}")
        try client.result(
            "documents.attach", "{\"collection\":\"c\",\"id\":\"attached\",\"name\":\"n\",\"data\":\"AAAA\"}")
        try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"deleted\"}")
        try client.result("documents.restore", "{\"collection\":\"c\",\"id\":\"early\"}")
        // Each document is of the old version or of the new one.
        #expect(try get("left", client)["value"] == JSON("{\"a\":1,\"b\":2}"))
        #expect(try get("patched", client)["value"] == JSON("{\"b\":1,\"c\":2,\"p\":1}"))
        #expect(try get("attached", client)["value"] == JSON("{\"b\":1,\"c\":2}"))
        #expect(try get("early", client)["value"] == JSON("{\"b\":1,\"c\":2}"))
        let running = try describe(client, "")["migration"]
        let still = try describe(client, ",\"waitMs\":50")["migration"]
        #expect(running?["state"]?.text == "running" && still?["state"]?.text == "running")
        // A later migration goes on with the one that is under way.
        let third =
            "\"version\":3,\"migrations\":[{\"to\":3,\"steps\":[{\"setDefault\":{\"path\":\"v\",\"value\":3}}]}]"
        client.send(
            Client.request("documents.configure", "{\"collection\":\"c\",\(third)}", id: "1")
                + Client.request("storage.ping", id: "2"))
        // It has been read, whether it waits for the run or not.
        let early = try client.reply()
        try daemon.goOn(at: "migrate.scan")
        let late = try client.reply()
        #expect([early, late].allSatisfy { $0["result"] != nil }, "\(early) \(late)")
        let done = try describe(client)["migration"]
        #expect(done?["from"]?.int == 1)
        #expect(done?["to"]?.int == 3)
        #expect(done?["failed"]?.int == 0)
        #expect(try get("left", client)["value"] == JSON("{\"b\":1,\"c\":2,\"v\":3}"))
        #expect(try get("patched", client)["value"] == JSON("{\"b\":1,\"c\":2,\"p\":1,\"v\":3}"))
        #expect(try get("same", client)["value"] == JSON("{\"b\":5,\"v\":3}"))
        // It was deleted as what it had become, and comes back as what it would be now; over a restart as well.
        daemon.kill()
        try daemon.start()
        let again = try daemon.connect()
        try again.result("documents.restore", "{\"collection\":\"c\",\"id\":\"deleted\"}")
        #expect(try get("deleted", again)["value"] == JSON("{\"b\":1,\"c\":2,\"v\":3}"))
        #expect(try get("attached", again)["attachments"]?.elements.count == 1)
        #expect(daemon.terminate() == 0)
        #expect(try TablesRecount.difference(daemon.data) == nil)
    }

    @Test func `a dry run ends with its time and with a cancellation, and a dropped collection ends its run`() throws {
        let daemon = try TemporaryDaemon(faults: "migrate.scan:sleep=400:1+")
        let client = try daemon.connect()
        try fill(0..<100, client) { "{\"a\":\($0)}" }
        let migrations = "\"version\":2,\"migrations\":[{\"to\":2,\"steps\":[{\"remove\":\"a\"}]}]"
        let refusal = try client.refusal(
            "documents.configure", "{\"collection\":\"c\",\(migrations),\"dryRun\":true,\"timeoutMs\":50}")
        #expect(refusal["kind"]?.text == "timeout")
        client.send(
            Client.request("documents.configure", "{\"collection\":\"c\",\(migrations),\"dryRun\":true}", id: "7")
                + Client.request("rpc.cancel", "{\"id\":7}", id: "8"))
        let replies = [try client.reply(), try client.reply()]
        #expect(replies.first { $0["id"]?.int == 8 }?["result"]?["cancelled"]?.bool == true)
        #expect(replies.first { $0["id"]?.int == 7 }?["error"]?["data"]?["kind"]?.text == "cancelled")
        _ = try configure(migrations, client)
        try client.result("documents.drop", "{\"collection\":\"c\"}")
        try put("a", "{\"a\":1}", client)
        #expect(try describe(client)["migration"] == nil)
        #expect(try describe(client)["version"] == nil)
        usleep(600_000)
        #expect(try get("a", client)["value"] == JSON("{\"a\":1}"))
    }
}
