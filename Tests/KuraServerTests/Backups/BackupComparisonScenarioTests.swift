import Glibc
import KuraBytes
import Testing

@testable import KuraStorage

/// `backups.compare`: what a restore would change.
@Suite struct BackupComparisonScenarioTests: BackedUpSuite {
    let daemon: TemporaryDaemon
    let client: Client

    init() throws {
        signal(SIGPIPE, SIG_IGN)
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
    }

    private func delete(_ collection: String, _ id: String) throws {
        try client.result("documents.delete", "{\"collection\":\"\(collection)\",\"id\":\"\(id)\"}")
    }

    private func set(_ domain: String, _ key: String, _ value: String) throws {
        try client.result("settings.put", "{\"domain\":\"\(domain)\",\"key\":\"\(key)\",\"value\":\(value)}")
    }

    private func attach(_ id: String, _ text: String) throws {
        let data = AttachmentWorld.base64(Array(text.utf8))
        try client.result(
            "documents.attach", "{\"collection\":\"notes\",\"id\":\"\(id)\",\"name\":\"a\",\"data\":\"\(data)\"}")
    }

    private func compare(_ more: String = "") throws -> JSON {
        try client.result("backups.compare", "{\"name\":\"one\"\(more)}")
    }

    /// `documents/notes +1 ~2 -3`, for each scope that differs.
    private func told(_ result: JSON) -> [String] {
        (result["differences"]?.elements ?? []).map { scope in
            "\(scope["store"]?.text ?? "")/\(scope["scope"]?.text ?? "") " + counts(scope)
        }
    }

    private func counts(_ object: JSON) -> String {
        func count(_ name: String) -> Int { object[name]?.int ?? -1 }
        return "+\(count("added")) ~\(count("changed")) -\(count("removed"))"
    }

    /// More than a page of each kind, with tombstones that fill another one; a backup of it is called `one`.
    private func fill() throws {
        func documents(_ prefix: String, _ count: Int) -> String {
            (0..<count).map { "{\"id\":\"\(prefix)\($0)\",\"value\":{\"n\":\($0)}}" }.joined(separator: ",")
        }
        try client.result(
            "documents.putMany", "{\"collection\":\"notes\",\"documents\":[\(documents("", 600))]}")
        try client.result(
            "documents.putMany", "{\"collection\":\"notes\",\"documents\":[\(documents("gone-", 300))]}")
        let gone = (0..<300).map { "\"gone-\($0)\"" }.joined(separator: ",")
        try client.result("documents.deleteMany", "{\"collection\":\"notes\",\"ids\":[\(gone)]}")
        let values = (0..<300).map { "\"k\($0)\":\($0)" }.joined(separator: ",")
        try client.result("settings.putMany", "{\"domain\":\"app\",\"values\":{\(values)}}")
        try put("dropped", "a", "1")
        for id in ["1", "2", "3"] { try attach(id, "scan of \(id)") }
        try client.result("storage.backup", "{\"name\":\"one\"}")
    }

    @Test func `what differs is counted by scope, named by examples, and what is written back is the same`() throws {
        try fill()
        #expect(told(try compare()) == [])
        try put("notes", "new", "1")
        try delete("notes", "7")
        try delete("notes", "599")
        try put("notes", "300", "{\"n\":-1}")
        // Another value, and the old one again: another revision, and nothing that a restore would change.
        try put("notes", "301", "{\"n\":-1}")
        try put("notes", "301", "{\"n\":301}")
        try set("app", "k0", "-1")
        try set("fresh", "a", "1")
        try client.result("documents.drop", "{\"collection\":\"dropped\"}")
        try attach("1", "another scan")
        try client.result("documents.detach", "{\"collection\":\"notes\",\"id\":\"2\",\"name\":\"a\"}")
        try attach("4", "scan of 4")
        let result = try compare()
        #expect(
            told(result) == [
                "settings/app +0 ~1 -0", "settings/fresh +0 ~0 -1", "documents/dropped +1 ~0 -0",
                "documents/notes +2 ~1 -1", "attachments/notes +1 ~1 -1",
            ])
        #expect(counts(result) == "+4 ~3 -3" && result["differing"]?.int == 5)
        #expect(result["same"]?.int == 600 - 3 + 299 + 1)
        #expect(result["backupRev"]?.int ?? 0 < result["rev"]?.int ?? 0)
        let notes = try #require(result["differences"]?.elements.dropLast().last?["examples"]?.elements)
        #expect(
            notes.map { "\($0["key"]?.text ?? "") \($0["change"]?.text ?? "")" }
                == ["300 changed", "599 added", "7 added"])
        #expect(try compare(",\"examples\":0")["differences"]?.elements.last?["examples"]?.elements == [])
        #expect(
            told(try compare(",\"include\":[\"settings\"]"))
                == ["settings/app +0 ~1 -0", "settings/fresh +0 ~0 -1"])
        #expect(told(try compare(",\"include\":[\"documents/dropped\"]")) == ["documents/dropped +1 ~0 -0"])
        // Nothing has been changed by it, nor left.
        #expect(try client.result("documents.count", "{\"collection\":\"notes\"}")["count"]?.int == 599)
        #expect(TemporaryDaemon.names(daemon.data + "/tmp")?.filter { $0.hasPrefix("compare") } == [])
    }

    @Test func `another history with the same values is the same, by its descriptor`() throws {
        try fill()
        let file = daemon.data + "/backups/one.kurabackup"
        let other = try TemporaryDaemon(starts: false)
        try BackupRestore.restore(file, into: other.data)
        try other.start()
        let reader = try other.connect()
        try reader.result("settings.put", "{\"domain\":\"app\",\"key\":\"k1\",\"value\":0}")
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        let result = try reader.result("backups.compare", "{\"fd\":true}", descriptors: [descriptor])
        #expect(told(result) == ["settings/app +0 ~1 -0"])
        #expect(result["same"]?.int == 600 + 299 + 1 + 3)
        #expect(result["epoch"]?.text == (try client.result("storage.status")["epoch"]?.text))
    }

    @Test func `a backup of a part is compared with that part, and what it left out would go`() throws {
        try put("notes", "1", "1")
        try put("drafts", "1", "1")
        try set("app", "a", "1")
        try client.result("storage.backup", "{\"name\":\"one\",\"include\":[\"documents/notes\"]}")
        #expect(told(try compare()) == [])
        try put("notes", "2", "1")
        #expect(told(try compare()) == ["documents/notes +0 ~0 -1"])
        try client.result("documents.configure", "{\"collection\":\"drafts\",\"backup\":false}")
        try client.result("storage.backup", "{\"name\":\"all\"}")
        let result = try client.result("backups.compare", "{\"name\":\"all\"}")
        #expect(told(result) == ["documents/drafts +0 ~0 -1"])
    }

    @Test func `it waits for what is not folded, and takes none of the last room`() throws {
        try put("notes", "1", "1")
        try client.result("storage.backup", "{\"name\":\"one\"}")
        #expect(daemon.terminate() == 0)
        // Slow enough for the tables to lag behind.
        try daemon.start(faults: "fold.slice:sleep=300:1+")
        let slow = try daemon.connect()
        try slow.result("documents.put", "{\"collection\":\"notes\",\"id\":\"2\",\"value\":1}")
        #expect(told(try slow.result("backups.compare", "{\"name\":\"one\"}")) == ["documents/notes +0 ~0 -1"])
        #expect(daemon.terminate() == 0)
        try daemon.start(environment: ["KURA_MIN_FREE_BYTES=\(1 << 50)"])
        let refused = try daemon.connect().refusal("backups.compare", "{\"name\":\"one\"}")
        #expect(refused["kind"]?.text == "noSpace")
        #expect(TemporaryDaemon.names(daemon.data + "/tmp")?.filter { $0.hasPrefix("compare") } == [])
    }

    @Test func `what cannot be read whole is not compared`() throws {
        try put("notes", "1", "1")
        try client.result("storage.backup", "{\"name\":\"one\"}")
        try client.result("storage.backup", "{\"name\":\"locked\",\"passphrase\":\"correct horse\"}")
        let path = daemon.data + "/backups/one.kurabackup"
        let bytes = try #require(TemporaryDaemon.contents(path))
        #expect(truncate(path, off_t(bytes.count - 1)) == 0)
        func kind(_ parameters: String) throws -> String? {
            try client.refusal("backups.compare", parameters)["kind"]?.text
        }
        #expect(try kind("{\"name\":\"one\"}") == "integrity")
        #expect(try kind("{\"name\":\"none\"}") == "notFound")
        #expect(try kind("{\"name\":\"locked\"}") == "wrongKey")
        let opened = try client.result("backups.compare", "{\"name\":\"locked\",\"passphrase\":\"correct horse\"}")
        #expect(told(opened) == [] && opened["same"]?.int == 1)
        #expect(try kind("{}") == "invalidParams")
        #expect(try kind("{\"name\":\"one\",\"fd\":true}") == "invalidParams")
        #expect(try kind("{\"fd\":true}") == "descriptorMissing")
        for words in ["[\"models\"]", "[\"secrets\"]"] {
            #expect(
                try client.refusal("backups.compare", "{\"name\":\"locked\",\"include\":\(words)}")["parameter"]?.text
                    == "include")
        }
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let refused = try client.refusal("backups.compare", "{\"fd\":true}", descriptors: [ends[0]])
        #expect(refused["kind"]?.text == "transferFailed")
        #expect(TemporaryDaemon.names(daemon.data + "/tmp")?.filter { $0.hasPrefix("compare") } == [])
    }
}
