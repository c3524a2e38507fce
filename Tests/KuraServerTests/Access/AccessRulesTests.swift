import KuraProtocol
import KuraBytes
import Testing

@testable import KuraServer

/// `sockets` and `roles` of the configuration file.
@Suite struct AccessRulesTests {
    private func read(_ text: String) throws -> Configuration {
        var configuration = Configuration()
        try Array(text.utf8).withBytes { bytes in try configuration.read(bytes) }
        return configuration
    }

    @Test func `sockets and roles are read as they stand`() throws {
        let rules = try read(
            """
            {"roles":{"reader":{"grants":[{"store":"*","scope":"app-*","allow":["list","write"]}],
              "quotas":{"bytes":100,"perUid":{}}}},
             "sockets":[{"name":"main","path":"/run/k","owner":"root","group":0,"mode":"0660",
              "roles":[{"user":"root","role":"admin"},{"gid":5,"role":"reader"}],"role":"reader"}]}
            """
        ).access
        let socket = rules.sockets[0]
        #expect(socket.name == "main" && socket.path == "/run/k" && socket.owner == 0 && socket.group == 0)
        #expect(socket.mode == 0o660)
        #expect(socket.role == "reader")
        let role = try #require(rules.roles["reader"])
        #expect(role.grants[0].verbs == [.list, .create, .update, .delete])
        #expect(role.grants[0].stores == [.storage, .settings, .secrets, .documents, .models, .blobs])
        #expect(role.quota.bytes == 100 && role.quota.items == nil)
    }

    @Test func `the first assignment that fits decides, then the socket's role, then nobody is let in`() throws {
        let rules = try read(
            """
            {"roles":{"a":{},"b":{},"c":{}},"sockets":[{"path":"/s",
              "roles":[{"uid":1,"role":"a"},{"gid":10,"role":"b"},{"uid":2,"role":"c"}],"role":"c"},
              {"path":"/t","roles":[{"uid":1,"role":"a"}]}]}
            """
        ).access
        func role(_ uid: UInt32, _ gid: UInt32, _ groups: [UInt32] = [], socket: Int = 0) -> String? {
            rules.role(of: (uid, gid), on: rules.sockets[socket]) { groups }
        }
        #expect(role(1, 10) == "a")
        #expect(role(2, 10) == "b")
        #expect(role(2, 0, [9, 10]) == "b")
        #expect(role(2, 0, [9]) == "c")
        #expect(role(3, 0) == "c")
        #expect(role(1, 0, socket: 1) == "a")
        #expect(role(3, 0, socket: 1) == nil)
    }

    private static let refused: [(text: String, reason: String)] = [
        ("{\"sockets\":{}}", "sockets is an array"), ("{\"sockets\":[]}", "sockets: at least one"),
        ("{\"sockets\":[1]}", "sockets[0] is an object"),
        ("{\"sockets\":[{\"path\":\"/a\",\"role\":\"admin\",\"color\":1}]}", "unknown key \"color\""),
        ("{\"sockets\":[{\"role\":\"admin\"}]}", "path is missing"),
        ("{\"sockets\":[{\"path\":\"a\",\"role\":\"admin\"}]}", "absolute"),
        ("{\"sockets\":[{\"path\":\"/a\"}]}", "role or roles is missing"),
        ("{\"sockets\":[{\"path\":\"/a\",\"role\":\"x\"}]}", "there is no role \"x\""),
        ("{\"sockets\":[{\"path\":\"/a\",\"roles\":[{\"uid\":1,\"role\":\"x\"}]}]}", "there is no role \"x\""),
        ("{\"sockets\":[{\"path\":\"/a\",\"role\":\"admin\",\"mode\":\"rw\"}]}", "octal"),
        ("{\"sockets\":[{\"path\":\"/a\",\"role\":\"admin\",\"mode\":\"4755\"}]}", "octal"),
        ("{\"sockets\":[{\"path\":\"/a\",\"role\":\"admin\",\"mode\":432}]}", "mode is a string"),
        ("{\"sockets\":[{\"path\":\"/a\",\"role\":\"admin\",\"owner\":\"nosuchuser\"}]}", "no user \"nosuchuser\""),
        ("{\"sockets\":[{\"path\":\"/a\",\"role\":\"admin\",\"group\":\"nosuchgroup\"}]}", "no group \"nosuchgroup\""),
        ("{\"sockets\":[{\"path\":\"/a\",\"role\":\"admin\",\"owner\":-1}]}", "owner is a whole number"),
        ("{\"sockets\":[{\"path\":\"/a\",\"roles\":[{\"uid\":4294967295,\"role\":\"admin\"}]}]}", "whole number"),
        ("{\"sockets\":[{\"path\":\"/a\",\"roles\":[{\"uid\":65534,\"role\":\"admin\"}]}]}", "overflow"),
        ("{\"sockets\":[{\"path\":\"/a\",\"roles\":[{\"gid\":65534,\"role\":\"admin\"}]}]}", "overflow"),
        ("{\"sockets\":[{\"path\":\"/a\",\"roles\":[{\"uid\":1,\"gid\":1,\"role\":\"admin\"}]}]}", "one of uid"),
        ("{\"sockets\":[{\"path\":\"/a\",\"roles\":[{\"role\":\"admin\"}]}]}", "one of uid"),
        ("{\"sockets\":[{\"path\":\"/a\",\"roles\":[{\"pid\":1,\"role\":\"admin\"}]}]}", "unknown key \"pid\""),
        // The one letter é, and e with an accent: the second would have the first's grants for its own.
        ("{\"roles\":{\"\u{E9}\":{},\"e\u{301}\":{}}}", "comes twice, with its letters composed in two ways"),
        ("{\"sockets\":[{\"path\":\"/a\",\"role\":\"admin\"},{\"path\":\"/a\",\"role\":\"admin\"}]}", "/a comes twice"),
        (
            "{\"sockets\":[{\"path\":\"/a\",\"name\":\"n\",\"role\":\"admin\"},{\"path\":\"/b\",\"name\":\"n\",\"role\":\"admin\"}]}",
            "n comes twice"
        ),
        ("{\"socket\":\"/a\",\"sockets\":[{\"path\":\"/b\",\"role\":\"admin\"}]}", "socket and sockets"),
        ("{\"roles\":[]}", "roles is an object"), ("{\"roles\":{\"admin\":{}}}", "not configured"),
        ("{\"roles\":{\"\":{}}}", "1 to 64 bytes"), ("{\"roles\":{\"a\":{\"grant\":[]}}}", "unknown key \"grant\""),
        ("{\"roles\":{\"a\":{\"grants\":[{}]}}}", "none of them empty"),
        (
            "{\"roles\":{\"a\":{\"grants\":[{\"store\":\"photos\",\"scope\":\"*\",\"allow\":[\"read\"]}]}}}",
            "no store \"photos\""
        ),
        (
            "{\"roles\":{\"a\":{\"grants\":[{\"store\":\"*\",\"scope\":\"*\",\"allow\":[\"fly\"]}]}}}",
            "roles.a.grants[0].allow[0]: no verb \"fly\""
        ),
        ("{\"roles\":{\"a\":{\"grants\":[{\"store\":\"*\",\"scope\":\"*\",\"allow\":[]}]}}}", "none of them empty"),
        (
            "{\"roles\":{\"a\":{\"grants\":[{\"store\":\"*\",\"scope\":\"{uid}*\",\"allow\":[\"read\"]}]}}}",
            "roles.a.grants[0].scope: {uid}*"
        ),
        (
            "{\"roles\":{\"a\":{\"grants\":[{\"store\":\"storage\",\"scope\":\"x\",\"allow\":[\"read\"]}]}}}",
            "the storage has no scopes"
        ),
        ("{\"roles\":{\"a\":{\"quotas\":{\"bytes\":1}}}}", "no grant of the role lets it write"),
        (
            "{\"roles\":{\"a\":{\"grants\":[{\"store\":\"*\",\"scope\":\"*\",\"allow\":[\"write\"]}],\"quotas\":{\"bytes\":-1}}}}",
            "roles.a.quotas.bytes is a whole number"
        ),
        (
            "{\"roles\":{\"a\":{\"grants\":[{\"store\":\"*\",\"scope\":\"*\",\"allow\":[\"write\"]}],\"quotas\":{\"perUid\":{\"items\":1}}}}}",
            "{uid}"
        ),
    ]

    @Test(arguments: refused.indices) func `what is wrong is refused and named`(index: Int) {
        let (text, reason) = Self.refused[index]
        do {
            _ = try read(text)
            Issue.record("was taken: \(text)")
        } catch let error as Configuration.Refusal {
            #expect(error.description.contains(reason), "\(error.description)")
        } catch { Issue.record(error) }
    }

    @Test func `a configuration that is refused ends the start with 2 and touches nothing`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        TemporaryDaemon.write("{\"sockets\":[{\"path\":\"\(daemon.socket)\"}]}", to: daemon.root + "/config.json")
        #expect(try daemon.run(["--data-dir", daemon.data, "--config", daemon.root + "/config.json"]) == 2)
        TemporaryDaemon.write(
            "{\"sockets\":[{\"path\":\"\(daemon.socket)\",\"role\":\"admin\"}]}", to: daemon.root + "/config.json")
        #expect(
            try daemon.run(
                ["--data-dir", daemon.data, "--config", daemon.root + "/config.json", "--socket", daemon.socket]) == 2)
        #expect(TemporaryDaemon.names(daemon.root) == ["config.json", "stderr"])
        #expect(daemon.log.contains("no --socket and no $KURA_SOCKET"))
    }
}
