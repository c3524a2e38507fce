/// A suite whose daemon is written to, backed up and restored.
protocol BackedUpSuite {
    var daemon: TemporaryDaemon { get }
    var client: Client { get }
}

extension BackedUpSuite {
    func path(_ name: String) -> String { daemon.data + "/backups/\(name).kurabackup" }

    @discardableResult
    func backup(_ name: String, _ more: String = "") throws -> JSON {
        try client.result("storage.backup", "{\"name\":\"\(name)\"\(more)}")
    }

    func put(_ collection: String, _ id: String, _ value: String) throws {
        try client.result("documents.put", "{\"collection\":\"\(collection)\",\"id\":\"\(id)\",\"value\":\(value)}")
    }

    func secret(_ account: String, _ value: String, _ more: String = "") throws {
        try client.result(
            "secrets.put", "{\"service\":\"mail\",\"account\":\"\(account)\",\"secret\":\"\(value)\"\(more)}")
    }
}
