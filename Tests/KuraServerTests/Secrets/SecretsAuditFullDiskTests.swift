import Glibc
import Testing

/// The audit on a disk that is full: its reserve, and what becomes of requests when that is used up.
@Suite struct SecretsAuditFullDiskTests {
    private let roles: RoleDaemon
    private var daemon: TemporaryDaemon { roles.daemon }
    private static let name = "{\"service\":\"s\",\"account\":\"ada\"}"

    init() throws {
        let grants = RoleDaemon.grant("secrets", "*", "list", "read", "create", "update")
        roles = try RoleDaemon([
            "closed": "{\"grants\":[\(grants)]}", "open": "{\"grants\":[\(grants)],\"auditFailure\":\"open\"}",
        ])
        let admin = try roles.connect("admin")
        try admin.result("secrets.configure", "{\"service\":\"s\",\"auditReads\":\"each\"}")
        for service in ["s", "t"] {
            try admin.result("secrets.put", "{\"service\":\"\(service)\",\"account\":\"ada\",\"secret\":\"x\"}")
        }
        #expect(daemon.terminate() == 0)
        // Another size makes another file.
        unlink(daemon.data + "/audit")
    }

    private func start(isFull: Bool) throws {
        // A small reserve.
        let configuration = roles.configuration(roles.roles).dropLast() + ",\"secrets\":{\"auditBytes\":1048576}}"
        try daemon.start(configuration: String(configuration), faults: isFull ? "log.append:full:1+" : nil)
    }

    private func reads(_ admin: Client) throws -> Int {
        var count = 0
        var more = ""
        repeat {
            let page = try admin.result("secrets.audit", "{\"service\":\"s\",\"limit\":1000\(more)}")
            for record in page["records"]!.elements
            where record["method"]?.text == "secrets.get" && record["refused"] == nil {
                count += record["count"]?.int ?? 1
            }
            more = page["cursor"].map { ",\"cursor\":\"\($0.text!)\"" } ?? ""
        } while !more.isEmpty
        return count
    }

    private func isValid(_ admin: Client) throws -> Bool {
        var check = try admin.result("secrets.auditVerify")
        while let cursor = check["cursor"]?.text, check["valid"]?.bool == true {
            check = try admin.result("secrets.auditVerify", "{\"cursor\":\"\(cursor)\"}")
        }
        return check["valid"]?.bool == true
    }

    @Test func `reads go on, and their records outlive a kill`() throws {
        try start(isFull: true)
        let client = try roles.connect("closed")
        for _ in 0..<20 { #expect(try client.result("secrets.get", Self.name)["secret"]?.text == "x") }
        #expect(
            try client.refusal("secrets.put", "{\"service\":\"s\",\"account\":\"ada\",\"secret\":\"y\"}")["kind"]?.text
                == "noSpace")
        daemon.kill()
        // Full still: what there is goes on.
        try start(isFull: true)
        #expect(try roles.connect("closed").result("secrets.get", Self.name)["secret"]?.text == "x")
        daemon.kill()
        try start(isFull: false)
        let admin = try roles.connect("admin")
        try admin.result("secrets.get", Self.name)
        #expect(try reads(admin) == 22)
        #expect(try isValid(admin))
        #expect(daemon.terminate() == 0)
        try start(isFull: false)
        let again = try roles.connect("admin")
        #expect(try reads(again) == 22 && isValid(again))
    }

    @Test func `when the reserve is used up the role decides`() throws {
        try start(isFull: true)
        let (closed, open) = (try roles.connect("closed"), try roles.connect("open"))
        var answered = 0
        var refusal: JSON?
        while refusal == nil, answered < 5000 {
            let reply = try closed.call("secrets.get", Self.name)
            refusal = reply["error"]?["data"]
            if refusal == nil { answered += 1 }
        }
        #expect(refusal?["kind"]?.text == "noSpace" && refusal?["hint"]?.text?.contains("auditFailure") == true)
        #expect(answered > 300)
        for _ in 0..<3 { #expect(try open.result("secrets.get", Self.name)["secret"]?.text == "x") }
        // What nobody waits for is answered to all.
        #expect(try closed.result("secrets.get", "{\"service\":\"t\",\"account\":\"ada\"}")["secret"]?.text == "x")
        try roles.connect("admin").result("secrets.lock")
        #expect(try closed.refusal("secrets.get", Self.name)["kind"]?.text == "sealed")
        daemon.kill()
        try start(isFull: false)
        let admin = try roles.connect("admin")
        try admin.result("secrets.get", Self.name)
        // What was answered without a record may have found room for one.
        #expect((answered + 1...answered + 4).contains(try reads(admin)))
        #expect(try isValid(admin))
    }

    @Test func `a closed role is refused when the end of the audit has been altered, and an open one is not`() throws {
        let tables = try SecretsTables(daemon.data)
        let head = try tables.rows(ofAudit: true)[0]
        var value = head.value
        value[20] ^= 1
        try tables.write(value, to: head)
        try start(isFull: false)
        let refusal = try roles.connect("closed").refusal("secrets.get", Self.name)
        #expect(refusal["kind"]?.text == "integrity" && refusal["hint"]?.text?.contains("auditFailure") == true)
        #expect(try roles.connect("open").result("secrets.get", Self.name)["secret"]?.text == "x")
        let admin = try roles.connect("admin")
        #expect(try admin.result("secrets.auditVerify")["valid"]?.bool == false)
        try admin.result("secrets.lock")
    }
}
