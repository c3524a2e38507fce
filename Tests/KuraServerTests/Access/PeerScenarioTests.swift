import Glibc
import Testing

/// Who comes in: users, groups and namespaces as the kernel tells them. Root only, since others cannot be several users.
@Suite(.enabled(if: getuid() == 0, "only root can be several users")) struct PeerScenarioTests {
    private let daemon: TemporaryDaemon
    private var shared: String { daemon.root + "/shared.sock" }

    init() throws {
        daemon = try TemporaryDaemon(starts: false)
        chmod(daemon.root, 0o711)
    }

    private static let hello = Client.request("session.hello")

    private func start(_ socket: String) throws {
        try daemon.start(
            configuration: """
                {"roles":{"one":{},"two":{},"rest":{}},"sockets":[{"path":"\(daemon.socket)","role":"admin"},\
                {"path":"\(shared)",\(socket)}]}
                """)
    }

    private func role(_ outsider: Outsider, at path: String? = nil) throws -> String {
        let lines = try outsider.exchange(path ?? shared, Self.hello)
        #expect(lines.count == 1)
        return try JSON(lines.first ?? "null")["result"]?["role"]?.text ?? "none"
    }

    /// What somebody is told who is not let in: at once, before a request.
    private func refusal(_ outsider: Outsider, at path: String? = nil) throws -> String {
        let lines = try outsider.exchange(path ?? shared, "")
        #expect(lines.count == 1)
        return lines.first ?? "nothing"
    }

    @Test func `the role goes by user, group and supplementary group, in order`() throws {
        try start(
            """
            "mode":"0666","roles":[{"uid":2001,"role":"one"},{"gid":3001,"role":"two"}],"role":"rest"
            """)
        #expect(try role(Outsider(uid: 2001)) == "one")
        #expect(try role(Outsider(uid: 2001, gid: 3001)) == "one")
        #expect(try role(Outsider(uid: 2002, gid: 3001)) == "two")
        #expect(try role(Outsider(uid: 2002, groups: [5, 3001])) == "two")
        #expect(try role(Outsider(uid: 2002, groups: Array(4000...4099) + [3001])) == "two", "more than fit at first")
        #expect(try role(Outsider(uid: 2002, groups: [5])) == "rest")
    }

    @Test func `who has no role is told so and let go`() throws {
        try start("\"mode\":\"0666\",\"roles\":[{\"uid\":2001,\"role\":\"one\"}]")
        #expect(
            try refusal(Outsider(uid: 2002))
                == """
                {"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"Forbidden","data":{"kind":"forbidden",\
                "retryable":false,"hint":"this user has no role on this socket"}}}
                """)
        #expect(try role(Outsider(uid: 2001)) == "one")
        let admin = try daemon.connect()
        #expect(try admin.result("storage.status")["connections"]?["open"]?.int == 1)
    }

    @Test func `the socket's owner, group and mode are the configuration's`() throws {
        try start("\"owner\":2001,\"group\":3001,\"mode\":\"0660\",\"role\":\"rest\"")
        var information = stat()
        #expect(lstat(shared, &information) == 0)
        #expect(information.st_mode & 0o7777 == 0o660 && information.st_uid == 2001 && information.st_gid == 3001)
        #expect(try role(Outsider(uid: 2001)) == "rest")
        #expect(try role(Outsider(uid: 2002, groups: [3001])) == "rest")
        #expect(throws: Outsider.Refused.self) { try role(Outsider(uid: 2002)) }
        #expect(throws: Outsider.Refused.self) { try role(Outsider(uid: 2001), at: daemon.socket) }
    }

    @Test func `the overflow uid is nobody, even where everybody has a role`() throws {
        try start("\"mode\":\"0666\",\"role\":\"rest\"")
        #expect(try refusal(Outsider(uid: 65_534)).contains("the overflow uid is nobody"))
        #expect(
            try role(Outsider(uid: 2001, gid: 65_534, groups: [65_534])) == "rest", "a user is known without groups")
    }

    @Test func `users from outside of the daemon's namespace are nobody, and one inside of another is who it is`()
        throws
    {
        guard try Outsider.run("unshare -U -r true").status == 0 else {
            print("skipped: this kernel lets nobody make user namespaces")
            return
        }
        let socket = daemon.root + "/inner.sock"
        TemporaryDaemon.write(
            "{\"roles\":{\"rest\":{}},\"sockets\":[{\"path\":\"\(socket)\",\"mode\":\"0666\",\"role\":\"rest\"}]}",
            to: daemon.root + "/inner.json")
        // In its namespace the daemon is root, and knows nobody else.
        let command =
            "unshare -U -r \(TemporaryDaemon.binary) --config \(daemon.root)/inner.json --data-dir \(daemon.root)/inner"
        let started = try Outsider.run(
            "\(command) >\(daemon.root)/inner.log 2>&1 & echo $!; for i in $(seq 6000); do [ -S \(socket) ] && exit; sleep 0.01; done"
        )
        let pid = try #require(pid_t(started.output.prefix { $0.isNumber }))
        defer { Glibc.kill(pid, SIGTERM) }
        #expect(try role(Outsider(uid: 0), at: socket) == "rest")
        #expect(try refusal(Outsider(uid: 2001), at: socket).contains("the overflow uid is nobody"))

        // From its own namespace a client cannot make itself somebody else.
        try start(
            "\"mode\":\"0666\",\"roles\":[{\"uid\":0,\"role\":\"one\"},{\"uid\":2001,\"role\":\"two\"}],\"role\":\"rest\""
        )
        let mapped = try Outsider.run(
            "setpriv --reuid 2001 --regid 60000 --clear-groups -- unshare -U -r socat -t 60 - UNIX-CONNECT:\(shared)",
            input: Self.hello)
        #expect(
            try JSON(String(mapped.output.split(separator: "\n")[0]))["result"]?["role"]?.text == "two",
            "it is root there and 2001 here")
    }

    @Test func `nobody gets in while sockets are made again and again`() throws {
        let script = #filePath.split(separator: "/Tests/")[0] + "/scripts/prove"
        let outcome = try Outsider.run("KURAD=\(TemporaryDaemon.binary) \(script) access 60")
        #expect(outcome.status == 0 && outcome.output.contains(", 0 admitted\n"), "\(outcome.output)")
    }
}
