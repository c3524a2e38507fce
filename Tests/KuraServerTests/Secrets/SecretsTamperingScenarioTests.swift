import Glibc
import Testing

/// What a daemon says of secrets when somebody has been at its data directory.
@Suite struct SecretsTamperingScenarioTests {
    private let daemon: TemporaryDaemon
    private static let expected = ["s/ada": "two", "s/bob": "three", "t/eve": "four"]

    init() throws {
        daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        for (name, secret) in [("s/ada", "one"), ("s/ada", "two"), ("s/bob", "three"), ("t/eve", "four")] {
            let parts = name.split(separator: "/")
            try client.result(
                "secrets.put", "{\"service\":\"\(parts[0])\",\"account\":\"\(parts[1])\",\"secret\":\"\(secret)\"}")
        }
        #expect(daemon.terminate() == 0)
    }

    /// Starts a daemon over what has been done, and reads everything: each answer is what was put, or an error of this kind.
    /// - Returns: how many were refused.
    private func judge(_ what: String) throws -> Int {
        try daemon.start()
        let client = try daemon.connect()
        var refused = 0
        for (name, secret) in Self.expected {
            let parts = name.split(separator: "/")
            let reply = try client.call("secrets.get", "{\"service\":\"\(parts[0])\",\"account\":\"\(parts[1])\"}")
            if let kind = reply["error"]?["data"]?["kind"]?.text {
                #expect(kind == "integrity", "\(what): \(name)")
                refused += 1
            } else {
                #expect(reply["result"]?["secret"] == .string(secret), "\(what): \(name)")
            }
        }
        for (method, params) in [
            ("list", "{}"), ("scopes", "{}"), ("versions", "{\"service\":\"s\",\"account\":\"ada\"}"),
        ] {
            let reply = try client.call("secrets.\(method)", params)
            if let kind = reply["error"]?["data"]?["kind"]?.text { #expect(kind == "integrity", "\(what): \(method)") }
        }
        // At a stop the reads would go into the audit, and the store's record with it: it would not be the one that is put back.
        #expect(daemon.isRunning, "\(what)")
        daemon.kill()
        return refused
    }

    @Test func `nothing that was left alone is refused`() throws {
        #expect(try judge("untouched") == 0)
        #expect(try SecretsTables(daemon.data).rows().count == 3 + 3 + 4)
    }

    @Test func `a byte that was changed in any row is found`() throws {
        for (index, row) in try SecretsTables(daemon.data).rows().enumerated() {
            // One a row: `SecretsTamperingTests` has all of them.
            for position in [6 + index * 37 % (row.value.count - 6)] {
                var value = row.value
                value[position] ^= 1 << UInt8(position % 8)
                try SecretsTables(daemon.data).write(value, to: row)
                let refused = try judge("byte \(position) of row \(index)")
                // An older version's value is not read here.
                if try !isOlderVersion(row) {
                    #expect(refused > 0, "byte \(position) of row \(index) of \(row.value.count)")
                }
                try SecretsTables(daemon.data).write(row.value, to: row)
            }
        }
        #expect(try judge("put back") == 0)
    }

    @Test func `rows that were swapped, cut short or emptied are found`() throws {
        let rows = try SecretsTables(daemon.data).rows()
        for left in rows.indices {
            for right in rows.indices where right == left + 1 && rows[left].table == rows[right].table {
                try SecretsTables(daemon.data).swap(rows[left], rows[right])
                #expect(try judge("rows \(left) and \(right)") > 0)
                try SecretsTables(daemon.data).write(rows[left].value, rev: rows[left].rev, to: rows[left])
                try SecretsTables(daemon.data).write(rows[right].value, rev: rows[right].rev, to: rows[right])
            }
        }
        for (index, row) in rows.enumerated() {
            for value in index % 2 == 0 ? [[]] : [Array(row.value.dropLast())] {
                try SecretsTables(daemon.data).write(value, to: row)
                _ = try judge("row \(index) with \(value.count) bytes")
                try SecretsTables(daemon.data).write(row.value, to: row)
            }
        }
        #expect(try judge("put back") == 0)
    }

    @Test func `rows that were removed, or have another revision, are found`() throws {
        let rows = try SecretsTables(daemon.data).rows()
        let store = try SecretsTables(daemon.data).beside(".")
        for (index, row) in rows.enumerated() where row.table == "settings" {
            try SecretsTables(daemon.data).write(row.value, rev: row.rev - 1, to: row)
            let refused = try judge("revision of row \(index)")
            // The store's own record says of itself nothing that could be compared.
            if row != store { #expect(refused > 0, "revision of row \(index)") }
            try SecretsTables(daemon.data).write(row.value, to: row)
        }
        for index in rows.indices {
            let copy = try Self.copy(of: daemon.data)
            try SecretsTables(daemon.data).delete(rows[index])
            let refused = try judge("row \(index) removed")
            try Self.restore(copy, to: daemon.data)
            if try !isOlderVersion(rows[index]) { #expect(refused > 0, "row \(index)") }
        }
        #expect(try judge("put back") == 0)
    }

    @Test func `rows that were set back to what they had been are found`() throws {
        let before = try SecretsTables(daemon.data).rows()
        try daemon.start()
        let client = try daemon.connect()
        try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"ada\",\"secret\":\"two\"}")
        try client.result("secrets.delete", "{\"service\":\"s\",\"account\":\"bob\"}")
        try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"bob\",\"secret\":\"three\"}")
        #expect(daemon.terminate() == 0)
        let after = try SecretsTables(daemon.data).rows()
        for row in before {
            guard let now = after.first(where: { $0.table == row.table && $0.condition == row.condition }), now != row
            else { continue }
            // With the revision of that time, and under that of the newest.
            for rev in Set([row.rev, now.rev]) {
                try SecretsTables(daemon.data).write(row.value, rev: rev, to: now)
                #expect(try judge("\(row.condition) set back") > 0)
            }
            try SecretsTables(daemon.data).write(now.value, rev: now.rev, to: now)
        }
        // A service as a whole, which agrees with itself.
        let service = before.filter { $0.table == "settings" && $0.condition.hasPrefix("scope = ") }
        let scopes = Set(service.map { $0.condition.split(separator: " ")[2] })
        for scope in scopes {
            let rows = before.filter { $0.condition.hasPrefix("scope = \(scope) ") }
            let current = rows.map { row in after.first { $0.condition == row.condition }! }
            guard rows != current, rows.count > 1 else { continue }
            for (old, now) in zip(rows, current) {
                try SecretsTables(daemon.data).write(old.value, rev: old.rev, to: now)
            }
            #expect(try judge("service \(scope) set back") > 0)
            for now in current { try SecretsTables(daemon.data).write(now.value, rev: now.rev, to: now) }
        }
        #expect(try judge("put back") == 0)
    }

    /// Whether it is a value that is not its item's newest.
    private func isOlderVersion(_ row: SecretsTables.Row) throws -> Bool {
        let key = String(decoding: row.key, as: UTF8.self)
        guard key.hasSuffix("/1") else { return false }
        return try SecretsTables(daemon.data).rows().contains {
            String(decoding: $0.key, as: UTF8.self) == key.dropLast() + "2"
        }
    }

    private static func copy(of data: String) throws -> [UInt8] {
        try #require(TemporaryDaemon.contents(data + "/durable/kura.sqlite"))
    }

    private static func restore(_ contents: [UInt8], to data: String) throws {
        // Segments that came since would be taken for the log of these tables.
        let rows = try SecretsTables(data)
        withExtendedLifetime(rows) {}
        let file = try #require(fopen(data + "/durable/kura.sqlite", "we"))
        contents.withUnsafeBytes { _ = fwrite($0.baseAddress, 1, $0.count, file) }
        fclose(file)
        for name in ["-wal", "-shm"] { unlink(data + "/durable/kura.sqlite" + name) }
    }
}
