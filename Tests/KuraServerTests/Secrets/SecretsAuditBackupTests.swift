import Glibc
import Testing

@testable import KuraStorage

/// What the audit has of requests that are not about one secret: backups, which have all of them, and transactions.
@Suite struct SecretsAuditBackupTests {
    private let roles: RoleDaemon
    private var daemon: TemporaryDaemon { roles.daemon }

    init() throws {
        roles = try RoleDaemon([
            "night": RoleDaemon.role(RoleDaemon.grant("storage", "*", "backup")),
            "reader": RoleDaemon.role(RoleDaemon.grant("secrets", "s", "read")),
        ])
        try roles.connect("admin").result("secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"x\"}")
    }

    private func start() throws { try daemon.start(configuration: roles.configuration(roles.roles)) }

    private func lines() throws -> [String] {
        try roles.connect("admin").result("secrets.audit", "{\"limit\":1000}")["records"]!.elements.map { record in
            ["method", "refused", "role", "service", "account"].map { record[$0]?.text ?? "-" }
                .joined(separator: " ")
        }
    }

    @Test func `a backup with secrets in it is there before it is answered, and so is one that was refused for them`()
        throws
    {
        let (admin, night) = (try roles.connect("admin"), try roles.connect("night"))
        try night.result("storage.backup", "{\"name\":\"plain\"}")
        try admin.result("storage.backup", "{\"name\":\"sealed\",\"passphrase\":\"words\"}")
        #expect(
            try night.refusal("storage.backup", "{\"name\":\"mine\",\"passphrase\":\"words\"}")["kind"]?.text
                == "forbidden")
        // None of the secrets is in these, and nothing is refused for their sake.
        try night.result("storage.backup", "{\"name\":\"rest\",\"include\":[\"documents\"]}")
        _ = try roles.connect("reader").refusal("storage.backup", "{\"name\":\"no\"}")
        _ = try night.refusal("storage.backup", "{\"name\":\"../no\"}")
        daemon.kill()
        try start()
        #expect(
            try lines() == [
                "secrets.put - admin s a", "storage.backup - night - -", "storage.backup - admin - -",
                "storage.backup forbidden night - -",
            ])
        #expect(try roles.connect("admin").result("secrets.auditVerify")["valid"]?.bool == true)
        // What is in the backup has the record that it was made.
        let restored = try TemporaryDaemon(starts: false)
        var opener = BackupOpener()
        opener.passphrase = Array("words".utf8)
        try BackupRestore.restore(daemon.data + "/backups/sealed.kurabackup", into: restored.data, opener)
        try restored.start()
        let found = try restored.connect().result("secrets.audit", "{\"limit\":1000}")["records"]!.elements
        #expect(found.contains { $0["method"]?.text == "storage.backup" && $0["role"]?.text == "admin" }, "\(found)")
    }

    @Test func `one that is refused since the secrets are locked is there when they are not any more`() throws {
        let (admin, night) = (try roles.connect("admin"), try roles.connect("night"))
        try admin.result("secrets.lock")
        #expect(try night.refusal("storage.backup", "{\"name\":\"plain\"}")["kind"]?.text == "sealed")
        try admin.result("secrets.unlock")
        let found = try lines()
        #expect(found.contains("storage.backup sealed night - -"), "\(found)")
    }

    @Test func `a role that may write nothing leaves the operation of its transaction that was refused`() throws {
        let operation = "{\"method\":\"secrets.put\",\"params\":{\"service\":\"s\",\"account\":\"b\",\"secret\":\"y\"}}"
        let reader = try roles.connect("reader")
        #expect(
            try reader.refusal("transaction.apply", "{\"operations\":[\(operation)]}")["kind"]?.text == "forbidden")
        daemon.kill()
        try start()
        #expect(try lines() == ["secrets.put - admin s a", "secrets.put forbidden reader s b"])
    }
}
