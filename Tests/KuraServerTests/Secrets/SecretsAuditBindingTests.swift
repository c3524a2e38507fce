import Glibc
import Testing

/// What a daemon says when the audit and the secrets do not belong together any more.
@Suite struct SecretsAuditBindingTests {
    private let roles: RoleDaemon
    private var daemon: TemporaryDaemon { roles.daemon }

    init() throws {
        let grants = RoleDaemon.grant("secrets", "*", "list", "read", "create", "update")
        roles = try RoleDaemon([
            "app": RoleDaemon.role(grants), "open": "{\"auditFailure\":\"open\",\"grants\":[\(grants)]}",
        ])
    }

    private func name(_ account: String, _ more: String = "") -> String {
        "{\"service\":\"s\",\"account\":\"\(account)\"\(more)}"
    }

    private func put(_ accounts: String...) throws {
        let admin = try roles.connect("admin")
        for account in accounts { try admin.result("secrets.put", name(account, ",\"secret\":\"x\"")) }
    }

    private func start() throws { try daemon.start(configuration: roles.configuration(roles.roles)) }

    private func tables() throws -> SecretsTables { try SecretsTables(daemon.data) }

    /// Starts over what was done, and expects that everybody is told.
    private func expect(_ reason: String, firstBroken: Int, _ line: String) throws {
        try start()
        let admin = try roles.connect("admin")
        let check = try admin.result("secrets.auditVerify")
        #expect(check["valid"]?.bool == false, "\(check)")
        #expect(check["reason"]?.text == reason && check["firstBroken"]?.int == firstBroken, "\(check)")
        let found = try admin.result("secrets.verify")
        #expect(found["damaged"]?.elements.contains { $0["what"]?.text == "audit" } == true, "\(found)")
        #expect(try admin.result("secrets.status")["integrity"]?.text == "damaged")
        #expect(try roles.connect("app").refusal("secrets.get", name("a"))["kind"]?.text == "integrity")
        #expect(daemon.log.contains(line), "\(daemon.log)")
    }

    /// Once all has been looked at.
    private func integrity(_ client: Client) throws -> String? {
        let deadline = now() + 60
        while true {
            let word = try client.result("secrets.status")["integrity"]?.text
            guard word == "checking", now() < deadline else { return word }
            usleep(5000)
        }
    }

    /// Accepts what is there, and expects that it goes on from then.
    /// - Returns: the numbers of the records.
    private func repair() throws -> [Int] {
        let admin = try roles.connect("admin")
        let id = try #require(try admin.result("secrets.status")["storeId"]?.text)
        try admin.result("secrets.repair", "{\"confirm\":\"\(id)\"}")
        for round in 0..<2 {
            let again = try roles.connect("admin")
            let check = try again.result("secrets.auditVerify")
            #expect(check["valid"]?.bool == true && check["reason"] == nil, "\(round): \(check)")
            #expect(try again.result("secrets.verify")["damagedCount"]?.int == 0)
            #expect(try integrity(again) == "whole")
            try put("more\(round)")
            #expect(daemon.terminate() == 0)
            try start()
        }
        return try roles.connect("admin").result("secrets.audit")["records"]!.elements.map { $0["number"]!.int! }
    }

    @Test func `an audit that was dropped whole, head and records, is named, and goes on behind what is missing`()
        throws
    {
        try put("a", "b", "c")
        #expect(daemon.terminate() == 0)
        let rows = try tables().rows(ofAudit: true)
        #expect(rows.count == 4)
        for row in rows { try tables().delete(row) }
        try expect("dropped", firstBroken: 1, "the audit has been removed")
        #expect(try roles.connect("admin").refusal("secrets.audit")["kind"]?.text == "integrity")
        #expect(try repair().first == 4)
    }

    @Test(arguments: [true, false])
    func `a record that is missing in the midst is named everywhere, and a repair goes on behind it`(
        isFoundByVerify: Bool
    ) throws {
        try put("a", "b", "c", "d", "e")
        #expect(daemon.terminate() == 0)
        let rows = try tables().rows(ofAudit: true)
        #expect(rows.count == 6)
        try tables().delete(rows[3])
        if isFoundByVerify {
            try start()
            let admin = try roles.connect("admin")
            let found = try admin.result("secrets.verify")
            #expect(found["damaged"]?.elements.contains { $0["what"]?.text == "audit" } == true, "\(found)")
            #expect(try admin.result("secrets.status")["integrity"]?.text == "damaged")
            #expect(daemon.terminate() == 0)
        }
        try expect("record", firstBroken: 3, "a record of the audit has been altered or removed")
        // What comes before it is shown.
        let page = try roles.connect("admin").result("secrets.audit")
        #expect(page["records"]?.elements.map { $0["number"]?.int } == [1, 2] && page["cursor"] != nil, "\(page)")
        #expect(try repair().first == 4)
    }

    @Test func `an audit of some changes ago beside secrets of now is named`() throws {
        try put("a", "b")
        #expect(daemon.terminate() == 0)
        let before = try tables().rows(ofAudit: true)
        try start()
        try put("a", "c")
        #expect(daemon.terminate() == 0)
        for row in try tables().rows(ofAudit: true).dropFirst(before.count) { try tables().delete(row) }
        try tables().write(before[0].value, rev: before[0].rev, to: before[0])
        try expect("setBack", firstBroken: 3, "the audit has been set back, and the secrets have not")
        #expect(try roles.connect("admin").result("secrets.auditVerify")["records"]?.int == 2)
        #expect(try repair().prefix(3) == [1, 2, 3])
    }

    @Test func `so is one of before the newest reads, which change no secret`() throws {
        try put("a")
        let admin = try roles.connect("admin")
        try admin.result("secrets.configure", "{\"service\":\"s\",\"auditReads\":\"each\"}")
        let chain = try admin.result("secrets.status")["chainHead"]
        #expect(daemon.terminate() == 0)
        let before = try tables().rows(ofAudit: true)
        try start()
        for _ in 0..<2 { try roles.connect("app").result("secrets.get", name("a")) }
        #expect(try roles.connect("admin").result("secrets.status")["chainHead"] == chain)
        #expect(daemon.terminate() == 0)
        let after = try tables().rows(ofAudit: true)
        #expect(after.count == before.count + 2)
        for row in after.dropFirst(before.count) { try tables().delete(row) }
        try tables().write(before[0].value, rev: before[0].rev, to: before[0])
        try expect("setBack", firstBroken: 3, "the audit has been set back")
    }

    @Test func `secrets of some changes ago beside an audit of now are named`() throws {
        try put("a", "b")
        #expect(daemon.terminate() == 0)
        let before = try tables().rows().filter { $0.table == "settings" }
        try start()
        try put("a", "b")
        #expect(daemon.terminate() == 0)
        for row in before { try tables().write(row.value, rev: row.rev, to: row) }
        try expect("secretsSetBack", firstBroken: 3, "the secrets have been set back, and the audit has not")
        #expect(try repair().prefix(5) == [1, 2, 3, 4, 5])
    }

    /// Rows of the secrets and of their audit, and nothing else of the directory.
    private func sealedRows() throws -> [SecretsTables.Row] {
        try tables().rows() + tables().rows(ofAudit: true)
    }

    @Test func `secrets that were set back together with their audit, and nothing else, are named`() throws {
        try put("a")
        #expect(daemon.terminate() == 0)
        let before = try sealedRows()
        try start()
        try put("a", "c")
        #expect(daemon.terminate() == 0)
        let known = Set(before.map { $0.table + $0.condition })
        for row in try sealedRows() where !known.contains(row.table + row.condition) { try tables().delete(row) }
        for row in before { try tables().write(row.value, rev: row.rev, to: row) }
        try expect("setBack", firstBroken: 2, "the secrets and their audit have been set back")
        // It does not go by another start.
        #expect(daemon.terminate() == 0)
        try expect("setBack", firstBroken: 2, "the secrets and their audit have been set back")
        #expect(try repair().first == 1)
    }

    @Test(arguments: ["removed", "emptied", "mark"])
    func `a mark that is gone or altered is told by the log, and by nothing else`(how: String) throws {
        try put("a")
        #expect(daemon.terminate() == 0)
        let path = daemon.data + "/acknowledged"
        switch how {
        case "removed": #expect(unlink(path) == 0)
        case "emptied": #expect(truncate(path, 0) == 0)
        default:
            // One byte of what is sealed, in both places.
            for place in [80, 592] { try TemporaryDaemon.overwrite(path, at: place, [0x55, 0xAA, 0x55, 0xAA]) }
        }
        try start()
        #expect(try roles.connect("admin").result("secrets.auditVerify")["valid"]?.bool == true)
        let line = how == "mark" ? "the mark in DATA/acknowledged does not open" : "is missing or damaged, and no kill"
        #expect(daemon.log.contains(line), "\(daemon.log)")
        // Once only.
        let count = daemon.log.split(separator: "\n").count { $0.contains(line) }
        #expect(count == 1, "\(daemon.log)")
    }

    @Test(arguments: [true, false])
    func `secrets that were set back are given to no role, one that goes on without records either`(
        isAuditSetBack: Bool
    ) throws {
        func rows() throws -> [SecretsTables.Row] {
            try isAuditSetBack ? sealedRows() : tables().rows().filter { $0.table == "settings" }
        }
        try put("a")
        #expect(daemon.terminate() == 0)
        let before = try rows()
        try start()
        try put("a")
        #expect(daemon.terminate() == 0)
        let known = Set(before.map { $0.table + $0.condition })
        for row in try rows() where !known.contains(row.table + row.condition) { try tables().delete(row) }
        for row in before { try tables().write(row.value, rev: row.rev, to: row) }
        try start()
        let open = try roles.connect("open")
        for (method, params) in [
            ("secrets.get", name("a")), ("secrets.put", name("a", ",\"secret\":\"y\"")),
            ("secrets.put", name("b", ",\"secret\":\"y\"")),
        ] {
            let refused = try open.refusal(method, params)
            #expect(refused["kind"]?.text == "integrity", "\(method): \(refused)")
            #expect(refused["hint"]?.text?.contains("set back") == true, "\(method): \(refused)")
        }
        _ = try repair()
        try roles.connect("open").result("secrets.get", name("more0"))
    }

    @Test func `secrets that were removed together with their audit, and nothing else, are named`() throws {
        try put("a", "b")
        #expect(daemon.terminate() == 0)
        for row in try sealedRows() { try tables().delete(row) }
        try expect("dropped", firstBroken: 1, "the audit has been removed")
        _ = try repair()
        let found = try roles.connect("admin").result("secrets.audit")["records"]!.elements
        #expect(found.contains { $0["refused"]?.text == "accepted" }, "\(found)")
    }

    /// What the log says before anybody has asked for anything.
    private func waitForLine(_ line: String) throws {
        try waitFor("\(line) in \(daemon.log)") { daemon.log.contains(line) }
    }

    @Test(arguments: [1, 3])
    func `a row behind the end of the audit is found at the start, whoever goes on without records`(distance: Int)
        throws
    {
        try put("a", "b", "c")
        #expect(daemon.terminate() == 0)
        try tables().copyNewestBlock(by: distance, rev: distance == 1 ? nil : 1000)
        let line = "something lies behind the newest record of the audit"
        try start()
        try waitForLine(line)
        // Before anything asked for it to be looked at.
        #expect(try integrity(roles.connect("admin")) == "damaged")
        try roles.connect("open").result("secrets.get", name("a"))
        #expect(daemon.terminate() == 0)
        try expect("beyond", firstBroken: 4, line)
        let check = try roles.connect("admin").result("secrets.auditVerify")
        #expect(check["newest"]?.int == 3 && check["records"]?.int == 3, "\(check)")
        // All that was written stays.
        let numbers = try repair()
        #expect(numbers == Array(1...numbers.count))
        let found = try roles.connect("admin").result("secrets.audit")["records"]!.elements
        #expect(found.contains { $0["refused"]?.text == "accepted" && $0["method"]?.text == "secrets.audit" })
        #expect(found.contains { $0["method"]?.text == "secrets.repair" })
    }

    @Test(arguments: [1, 3])
    func `a block at the end of the audit that is gone is found at the start, whether somebody asks or not`(
        count: Int
    ) throws {
        try put("a", "b", "c")
        #expect(daemon.terminate() == 0)
        for row in try tables().rows(ofAudit: true).dropFirst().suffix(count) { try tables().delete(row) }
        try start()
        try waitForLine("a record of the audit has been altered or removed")
        #expect(try integrity(roles.connect("admin")) == "damaged")
        _ = try repair()
    }

    @Test func `services that are gone with the store's record are no secrets that never were`() throws {
        try put("a", "b")
        #expect(daemon.terminate() == 0)
        for row in try tables().rows() { try tables().delete(row) }
        try start()
        let open = try roles.connect("open")
        for (method, params) in [("secrets.get", name("a")), ("secrets.put", name("a", ",\"secret\":\"y\""))] {
            #expect(try open.refusal(method, params)["kind"]?.text == "integrity", "\(method)")
        }
        _ = try repair()
        try roles.connect("open").result("secrets.put", name("a", ",\"secret\":\"y\""))
    }

    @Test func `an audit that was removed with the store's record is named, not the secrets alone`() throws {
        try put("a", "b", "c")
        #expect(daemon.terminate() == 0)
        for row in try tables().rows(ofAudit: true) { try tables().delete(row) }
        try tables().delete(try #require(try tables().beside(".")))
        try expect("unbound", firstBroken: 0, "nothing tells where the audit ends")
        _ = try repair()
        let found = try roles.connect("admin").result("secrets.audit")["records"]!.elements
        #expect(found.contains { $0["refused"]?.text == "accepted" }, "\(found)")
    }

    @Test(arguments: [true, false])
    func `an audit that was set back with the store's record, and not the services, is named`(hasMark: Bool) throws {
        try put("a", "b")
        #expect(daemon.terminate() == 0)
        let before = try tables().rows(ofAudit: true)
        let record = try #require(try tables().beside("."))
        try start()
        try put("a", "c")
        #expect(daemon.terminate() == 0)
        for row in try tables().rows(ofAudit: true).dropFirst(before.count) { try tables().delete(row) }
        try tables().write(before[0].value, rev: before[0].rev, to: before[0])
        try tables().write(record.value, rev: record.rev, to: record)
        if !hasMark { #expect(unlink(daemon.data + "/acknowledged") == 0) }
        try expect("unbound", firstBroken: 0, "nothing tells where the audit ends")
        _ = try repair()
        let found = try roles.connect("admin").result("secrets.audit")["records"]!.elements
        #expect(found.contains { $0["refused"]?.text == "accepted" }, "\(found)")
    }

    @Test(arguments: [true, false])
    func `records that are altered in several places are got past by the first repair`(isLocked: Bool) throws {
        try put("a", "b", "c", "d", "e", "f")
        #expect(daemon.terminate() == 0)
        let rows = try tables().rows(ofAudit: true)
        for index in [2, 4] {
            var value = rows[index].value
            value[value.count / 2] ^= 1
            try tables().write(value, to: rows[index])
        }
        try start()
        if isLocked {
            let admin = try roles.connect("admin")
            try admin.result("secrets.lock")
            try admin.result("secrets.unlock")
        }
        #expect(try repair().first == 5)
    }

    @Test func `a head that is missing beside its records is told from an audit that is gone`() throws {
        try put("a", "b")
        #expect(daemon.terminate() == 0)
        try tables().delete(try tables().rows(ofAudit: true)[0])
        try expect("head", firstBroken: 0, "the head of the audit has been altered or removed")
        #expect(try repair().prefix(3) == [1, 2, 3])
    }

    @Test func `without the store's record nothing tells where the audit ends, and what mends it is in it`() throws {
        try put("a", "b")
        #expect(daemon.terminate() == 0)
        let record = try #require(try tables().beside("."))
        var value = record.value
        value[value.count / 2] ^= 1
        try tables().write(value, to: record)
        try start()
        let admin = try roles.connect("admin")
        let check = try admin.result("secrets.auditVerify")
        #expect(check["valid"]?.bool == false && check["reason"]?.text == "unbound", "\(check)")
        let numbers = try repair()
        #expect(numbers == Array(1...numbers.count))
        let methods = try roles.connect("admin").result("secrets.audit")["records"]!.elements.map { $0["method"]?.text }
        #expect(methods.contains("secrets.repair"))
    }

    @Test func `a directory of before the binding opens, and is bound with the next change`() throws {
        let other = try TemporaryDaemon(starts: false)
        try #require(EarlierRelease.newest).unpack(to: other)
        try other.start()
        let client = try other.connect()
        let first = try client.result("secrets.auditVerify")
        #expect(first["valid"]?.bool == true && (first["newest"]?.int ?? 0) > 3, "\(first)")
        try client.result("secrets.put", name("since", ",\"secret\":\"x\""))
        #expect(other.terminate() == 0)
        try other.start()
        let second = try other.connect().result("secrets.auditVerify")
        #expect(
            second["valid"]?.bool == true && (second["newest"]?.int ?? 0) > (first["newest"]?.int ?? 0), "\(second)")
        #expect(other.terminate() == 0)
        for row in try SecretsTables(other.data).rows(ofAudit: true) { try SecretsTables(other.data).delete(row) }
        try other.start()
        #expect(try other.connect().result("secrets.auditVerify")["reason"]?.text == "dropped")
    }
}
