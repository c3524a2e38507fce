import Glibc
import KuraProtocol
import Testing

/// Every method of the table against roles that lack something. What each needs is written here a second time, by hand: a method
/// that is new has to be thought about in both places.
@Suite struct MethodGrantsTests {
    /// Verbs without which the method's example is refused.
    private static let needs: [String: [String]] = [
        "rpc.discover": [], "rpc.cancel": [], "session.hello": [], "session.can": [], "storage.ping": [],
        // Any of monitor, read and admin will do.
        "storage.health": [], "storage.status": [],
        "transaction.apply": ["create", "update"], "transaction.undo": ["read"],
        "changes.list": ["read"], "changes.watch": ["read"], "changes.unwatch": ["read"], "changes.wait": ["read"],
        "settings.get": ["read"], "settings.getMany": ["read"], "settings.put": ["create", "update"],
        "settings.delete": ["delete"], "settings.list": ["list", "read"],
        "settings.putMany": ["create", "update", "delete"], "settings.increment": ["read", "create", "update"],
        "settings.count": ["list"], "settings.scopes": ["list"], "settings.register": ["create", "update", "delete"],
        "settings.override": ["read"], "settings.clearOverrides": ["read"],
        "settings.configure": ["admin", "list", "read"],
        "settings.describe": ["list", "read"], "settings.export": ["list", "read"],
        "settings.import": ["read", "create", "update"],
        "documents.deleteMany": ["list", "read", "delete"], "documents.patch": ["read", "update"],
        "documents.increment": ["read", "update"], "documents.restore": ["read", "create"],
        "documents.attach": ["update"], "documents.attachment": ["read"], "documents.detach": ["update"],
        "documents.put": ["create", "update"], "documents.get": ["read"], "documents.history": ["read"],
        "documents.getMany": ["read"],
        "documents.putMany": ["create", "update"], "documents.delete": ["delete"], "documents.list": ["list", "read"],
        "documents.import": ["create", "update"], "documents.export": ["list", "read"],
        "documents.count": ["list", "read"],
        "documents.scopes": ["list"], "documents.find": ["list", "read"], "documents.search": ["list", "read"],
        "documents.explain": ["list", "read"],
        "documents.distinct": ["list", "read"], "documents.aggregate": ["list", "read"],
        "documents.watch": ["list", "read"], "documents.unwatch": ["read"],
        "documents.configure": ["admin", "list", "read"],
        "documents.describe": ["list", "read"], "documents.drop": ["delete", "admin"],
        "documents.purge": ["delete", "admin"],
        "secrets.put": ["create", "update"], "secrets.get": ["read"], "secrets.getMany": ["read"],
        "secrets.delete": ["delete"],
        "secrets.list": ["list"], "secrets.versions": ["list"], "secrets.restoreVersion": ["update"],
        "secrets.generate": ["create", "update"], "secrets.rename": ["create", "delete"],
        "secrets.setAttributes": ["update"], "secrets.configure": ["admin"], "secrets.describe": ["list"],
        "secrets.scopes": ["list"], "secrets.clear": ["list", "delete"],
        "secrets.status": ["list"], "secrets.slots": ["admin"], "secrets.addSlot": ["admin"],
        "secrets.removeSlot": ["admin"], "secrets.unlock": ["admin"], "secrets.lock": ["admin"],
        "secrets.changePassphrase": ["admin"], "secrets.rotate": ["admin"], "secrets.destroyVersion": ["delete"],
        "secrets.verify": ["admin"], "secrets.repair": ["admin"],
        "secrets.sign": ["use"], "secrets.verifySignature": ["use"], "secrets.publicKey": ["use"],
        "secrets.hmac": ["use"], "secrets.verifyHmac": ["use"], "secrets.encrypt": ["use"], "secrets.decrypt": ["use"],
        "secrets.rewrap": ["use"], "secrets.issueToken": ["read"], "secrets.redeemToken": [],
        "models.get": ["read", "create", "update"], "models.getMany": ["read"], "models.put": ["create", "update"],
        "models.putMany": ["create", "update"], "models.deleteMany": ["delete"], "blobs.deleteMany": ["delete"],
        "models.touch": ["update"], "models.fail": ["update"],
        "models.renew": ["create", "update"], "models.delete": ["delete"],
        "models.invalidate": ["update", "delete"], "models.list": ["list"], "models.configure": ["admin"],
        "blobs.get": ["read"], "blobs.put": ["create", "update"], "blobs.stat": ["read"], "blobs.statMany": ["read"],
        "blobs.touch": ["update"], "blobs.renew": ["create", "update"], "blobs.delete": ["delete"],
        "blobs.list": ["list"], "blobs.findMissing": ["read"],
        "blobs.scopes": ["list"], "blobs.describe": ["list"], "blobs.configure": ["admin"],
        "blobs.beginUpload": ["create", "update"], "blobs.appendUpload": ["create", "update"],
        "blobs.commitUpload": ["create", "update"], "blobs.abortUpload": ["create", "update"],
        "models.describe": ["list"], "models.scopes": ["list"], "storage.stats": [], "storage.sweep": ["admin"],
        "storage.diskWrites": ["admin"], "storage.resolveReport": ["admin"], "storage.slow": ["admin"],
        "storage.record": ["admin"],
        "storage.backup": ["backup"], "storage.bundle": ["backup", "read"], "backups.list": ["backup"],
        "backups.verify": ["backup"], "backups.prune": ["backup"],
        "backups.compare": ["backup"],
        "storage.quarantine": ["admin"], "storage.acknowledge": ["admin"], "storage.check": ["admin"],
        "storage.compact": ["admin"],
        "secrets.audit": ["admin"], "secrets.auditVerify": ["admin"],
        "fault.inject": ["admin"], "fault.list": ["admin"], "fault.clear": ["admin"],
    ]
    private static let verbs = ["list", "read", "create", "update", "delete", "use", "admin", "monitor", "backup"]

    /// A role with these verbs on everything. Reading secrets is granted by name.
    private static func role(_ verbs: [String], on scope: String = "*") -> String {
        func grant(_ store: String, _ verbs: [String]) -> String {
            let allow = verbs.map { "\"\($0)\"" }.joined(separator: ",")
            return "{\"store\":\"\(store)\",\"scope\":\"\(scope)\",\"allow\":[\(allow)]}"
        }
        let secrets = verbs.filter { !["monitor", "backup"].contains($0) }
        return "{\"grants\":[\(grant("*", verbs)),\(grant("secrets", secrets))]}"
    }

    private func call(_ method: Method, _ path: String) throws -> String {
        let client = try Client(path: path)
        client.send(Client.request(method.name, method.example))
        return try #require(try client.line())
    }

    private func isForbidden(_ line: String) throws -> Bool {
        try JSON(line)["error"]?["data"]?["kind"]?.text == "forbidden"
    }

    @Test func `each method is refused without any one of the verbs that it needs, and only then`() throws {
        var roles: [String: String] = [:]
        for missing in Self.verbs {
            roles["no-" + missing] = Self.role(Self.verbs.filter { $0 != missing })
        }
        let daemon = try RoleDaemon(roles)
        for method in Method.all {
            let needed = try #require(Self.needs[method.name], "\(method.name): write down what it needs")
            for missing in Self.verbs {
                let line = try call(method, daemon.path(of: "no-" + missing))
                #expect(try isForbidden(line) == needed.contains(missing), "\(method.name) without \(missing): \(line)")
                guard needed.contains(missing), method.name != "transaction.apply" else { continue }
                let allow = try JSON(line)["error"]?["data"]?["grant"]?["allow"]
                #expect(allow?.elements.map(\.text) == [missing], "\(line)")
            }
        }
        #expect(Set(Self.needs.keys) == Set(Method.all.map(\.name)))
    }

    @Test func `a bundle has no models that its maker may not read`() throws {
        let backup = RoleDaemon.grant("storage", "*", "backup")
        let daemon = try RoleDaemon([
            "none": RoleDaemon.role(backup),
            "feed": RoleDaemon.role(backup, RoleDaemon.grant("models", "feed", "read")),
            "all": RoleDaemon.role(backup, RoleDaemon.grant("models", "*", "read")),
        ])
        let admin = try daemon.connect("admin")
        for namespace in ["feed", "other"] {
            try admin.result("models.put", "{\"namespace\":\"\(namespace)\",\"key\":\"k\",\"value\":1}")
        }
        func include(_ words: String...) -> String {
            ",\"include\":[\(words.map { "\"\($0)\"" }.joined(separator: ","))]"
        }
        let cases = [
            ("none", "", false), ("none", include("models"), false), ("none", include("models/feed"), false),
            ("none", include("settings", "documents"), true), ("feed", "", false),
            ("feed", include("models/feed", "models/other"), false), ("feed", include("settings", "models/feed"), true),
            ("all", "", true),
        ]
        for (number, (role, more, isAllowed)) in cases.enumerated() {
            let reply = try daemon.connect(role).call("storage.bundle", "{\"name\":\"b\(number)\"\(more)}")
            #expect((reply["result"] != nil) == isAllowed, "\(role)\(more): \(reply)")
            guard !isAllowed else { continue }
            let grant = reply["error"]?["data"]?["grant"]
            #expect(try grant == JSON("{\"store\":\"models\",\"allow\":[\"read\"]}"), "\(reply)")
        }
    }

    @Test func `without grants each method is refused in the same bytes whether the thing exists or not`() throws {
        let daemon = try RoleDaemon([
            "none": "{}",
            "elsewhere": Self.role(Self.verbs, on: "elsewhere-*"),
        ])
        func refusals(_ role: String) throws -> [String: String] {
            try Dictionary(
                uniqueKeysWithValues: Method.all.map { ($0.name, try call($0, daemon.path(of: role))) })
        }
        let none = try refusals("none")
        let elsewhere = try refusals("elsewhere")
        let exempt: Set<String> = [
            "rpc.discover", "rpc.cancel", "session.hello", "session.can", "storage.ping", "secrets.redeemToken",
        ]
        for (method, line) in none {
            #expect(try isForbidden(line) != exempt.contains(method), "\(method): \(line)")
        }
        // What only names things of the connection's own, or shows what it may see, is not refused.
        let shown = exempt.union([
            "settings.scopes", "documents.scopes", "changes.list", "changes.unwatch", "documents.unwatch",
            "secrets.status", "secrets.scopes", "models.fail", "models.scopes", "blobs.scopes",
            "blobs.appendUpload", "blobs.commitUpload", "blobs.abortUpload", "transaction.undo",
        ])
        for (method, line) in elsewhere {
            #expect(try isForbidden(line) != shown.contains(method), "\(method): \(line)")
        }

        let admin = try daemon.connect("admin")
        for (method, params) in [
            ("settings.put", "{\"domain\":\"app\",\"key\":\"theme\",\"value\":1}"),
            ("settings.put", "{\"domain\":\"app\",\"key\":\"launches\",\"value\":1}"),
            ("documents.put", "{\"collection\":\"countries\",\"id\":\"JP\",\"value\":1}"),
            ("documents.put", "{\"collection\":\"notes\",\"id\":\"a\",\"value\":1}"),
        ] { try admin.result(method, params) }
        for (role, before) in [("none", none), ("elsewhere", elsewhere)] {
            let after = try refusals(role)
            for (method, line) in before where try isForbidden(line) {
                #expect(after[method] == line, "\(role), \(method)")
            }
            for (method, line) in after where !exempt.contains(method) {
                if try isForbidden(line) { continue }
                for name in ["app", "theme", "countries", "JP", "notes"] {
                    #expect(!line.contains("\"\(name)\""), "\(method) shows \(name): \(line)")
                }
            }
        }
    }
}
