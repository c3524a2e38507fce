import Glibc
import KuraBytes
import Testing

/// What is left of a version that was destroyed: nothing, as soon as the reply comes.
@Suite struct SecretsDestructionScenarioTests {
    private let daemon: TemporaryDaemon
    private static let first = "{\"service\":\"target\",\"account\":\"ada\",\"version\":1}"
    private static let name = "{\"service\":\"target\",\"account\":\"ada\"}"

    init() throws {
        daemon = try TemporaryDaemon()
    }

    /// Rows of secrets in the tables now; the daemon is ended for it.
    private func rows() throws -> [SecretsTables.Row] {
        #expect(daemon.terminate() == 0)
        return try SecretsTables(daemon.data).rows()
    }

    private func put(_ account: String, _ secret: String, service: String = "others") throws {
        try daemon.connect().result(
            "secrets.put",
            "{\"service\":\"\(service)\",\"account\":\"\(account)\",\"secret\":\"\(secret)\"}")
    }

    private func putOthers(_ numbers: Range<Int>, bytes: Int) throws {
        let client = try daemon.connect()
        for number in numbers {
            let secret = String(repeating: "x", count: bytes + number)
            try client.result(
                "secrets.put", "{\"service\":\"others\",\"account\":\"a\(number)\",\"secret\":\"\(secret)\"}")
        }
    }

    /// What was sealed for a version and its key.
    private struct Remains {
        /// The value, and heads that had its key.
        var gone: [[UInt8]] = []
        /// What is still there.
        var kept: [[UInt8]] = []
    }

    /// Writes a secret of two versions among others, with heads of several states.
    private func prepare(bytes: Int = 3000) throws -> Remains {
        try putOthers(0..<60, bytes: 500)
        let before = Set(try rows().map(\.value))
        try daemon.start()
        try put("ada", String(repeating: "1", count: bytes), service: "target")
        var remains = Remains()
        // Its value, its head, and the service's record.
        let fresh = try rows().filter { !before.contains($0.value) && $0.key != [0x2E] }
        #expect(fresh.count == 2)
        remains.gone = fresh.map(\.value)
        let head = try #require(fresh.first { $0.table == "settings" })
        try daemon.start()
        try putOthers(60..<90, bytes: 500)
        try put("ada", String(repeating: "2", count: bytes), service: "target")
        try daemon.connect().result(
            "secrets.setAttributes", "{\"service\":\"target\",\"account\":\"ada\",\"label\":\"later\"}")
        let after = try rows()
        remains.gone += after.filter { $0.condition == head.condition }.map(\.value)
        remains.kept = after.filter { $0.table == "documents" && $0.key.suffix(2).elementsEqual("/2".utf8) }.map(
            \.value)
        #expect(remains.gone.count == 3 && remains.kept.count == 1)
        // The same scan finds what is there.
        #expect(!DirectoryScan.find(piecesOf: remains.gone, under: daemon.data).isEmpty)
        return remains
    }

    /// Nothing is left of what is gone, whatever becomes of the daemon; the rest is as it was.
    private func check(_ remains: Remains, _ what: String) throws {
        daemon.kill()
        let found = DirectoryScan.find(piecesOf: remains.gone, under: daemon.data)
        #expect(found.isEmpty, "\(what): \(found.prefix(4))")
        #expect(!DirectoryScan.find(piecesOf: remains.kept, under: daemon.data).isEmpty, "\(what)")
        try daemon.start()
        let client = try daemon.connect()
        #expect(try client.result("secrets.get", Self.name)["secret"]?.text?.first == "2", "\(what)")
        #expect(try client.refusal("secrets.get", Self.first)["kind"]?.text == "notFound", "\(what)")
        let versions = try client.result("secrets.versions", Self.name)["versions"]
        #expect(versions?[0]?["destroyed"]?.bool == true && versions?[1]?["destroyed"] == nil, "\(what)")
        #expect(
            try client.result("secrets.get", "{\"service\":\"others\",\"account\":\"a7\"}")["secret"]?.text?.first
                == "x")
        // The note may have been left when it was killed.
        try waitUntilScrubbed()
    }

    private func waitUntilScrubbed() throws {
        let client = try daemon.connect()
        try waitFor("all is overwritten") { try client.result("secrets.status")["scrubbing"] == nil }
    }

    /// The proof's control.
    @Test(arguments: ["scrub.tables", "scrub.log"])
    func `whichever step is left out, the scan finds what it leaves`(point: String) throws {
        let remains = try prepare(bytes: 300)
        try daemon.start(faults: "\(point):skip:1+")
        // The page that has the version goes through the tables' WAL, behind others that what comes later is written over.
        try putOthers(0..<60, bytes: 900)
        try daemon.waitUntilFolded()
        try put("ada", "3", service: "target")
        try daemon.waitUntilFolded()
        try daemon.connect().result("secrets.destroyVersion", Self.first)
        daemon.kill()
        #expect(!DirectoryScan.find(piecesOf: remains.gone, under: daemon.data).isEmpty)
    }

    @Test func `when the reply comes nothing is left of it in any file`() throws {
        let remains = try prepare()
        try daemon.start()
        let reply = try daemon.connect().result("secrets.destroyVersion", Self.first)
        #expect(reply["keptIn"] == .array([.string("backups")]))
        try check(remains, "destroyed")
        // Once more there is nothing to do.
        #expect(try daemon.connect().result("secrets.destroyVersion", Self.first)["rev"] == reply["rev"])
    }

    @Test func `that it is destroyed is told, though somebody locks the secrets meanwhile`() throws {
        let remains = try prepare()
        try daemon.start(faults: daemon.pause(at: "scrub.tables"))
        let client = try daemon.connect()
        client.send(Client.request("secrets.destroyVersion", Self.first))
        try daemon.waitUntilPaused(at: "scrub.tables")
        try daemon.connect().result("secrets.lock")
        try daemon.goOn(at: "scrub.tables")
        let reply = try client.reply()
        #expect(reply["result"]?["keptIn"] == .array([.string("backups")]), "\(reply)")
        try check(remains, "locked")
    }

    @Test func `nor in files of the log that were used again, nor in pages that were laid out anew`() throws {
        let remains = try prepare(bytes: 700)
        try daemon.start()
        // Segments of a mebibyte, of which four are kept: those with the first version are used again.
        for round in 0..<3 {
            try putOthers(round * 100..<round * 100 + 100, bytes: 20_000)
            try putOthers(300..<380, bytes: 300)
        }
        try daemon.waitUntilFolded()
        try daemon.connect().result("secrets.destroyVersion", Self.first)
        try check(remains, "recycled")
    }

    @Test func `nor in what was taken out of the log, whose blocks are overwritten before they are given back`() throws
    {
        let remains = try prepare()
        try daemon.start()
        // Who has a file open sees what becomes of its blocks.
        let files = (TemporaryDaemon.names(daemon.data + "/log") ?? []).map {
            open(daemon.data + "/log/" + $0, O_RDONLY | O_CLOEXEC)
        }
        defer { for file in files { close(file) } }
        func found() -> Int {
            let pieces = remains.gone.flatMap { row in
                stride(from: 0, through: row.count - 24, by: 240).map { Array(row[$0..<$0 + 24]) }
            }
            return files.reduce(0) { sum, file in
                let contents = BlobWorld.contents(of: file)
                return contents.withBytes { contents in
                    sum + pieces.count { DirectoryScan.contains(contents, $0) }
                }
            }
        }
        #expect(found() > 0)
        try daemon.connect().result("secrets.destroyVersion", Self.first)
        #expect(found() == 0)
        try check(remains, "taken out")
    }

    @Test func `nor behind the last commit of a file of the log that was used again`() throws {
        let text = String(repeating: "x", count: 20_000)
        func putSetting(_ number: Int) throws {
            try daemon.connect().result(
                "settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\"round\(number)z\(text)\"}")
        }
        func newest() -> Int {
            let names = (TemporaryDaemon.names(daemon.data + "/log") ?? []).filter { $0.hasSuffix(".log") }
            return names.compactMap { Int($0.prefix { $0.isNumber }) }.max() ?? 0
        }
        func has(_ number: Int, _ wanted: [[UInt8]]) throws -> Bool {
            let names = try #require(TemporaryDaemon.names(daemon.data + "/log"))
            let name = names.first { $0.hasSuffix(".log") && Int($0.prefix { $0.isNumber }) == number }
            let contents = name.flatMap { TemporaryDaemon.contents(daemon.data + "/log/" + $0) } ?? []
            return contents.withBytes { contents in wanted.contains { DirectoryScan.contains(contents, $0) } }
        }
        var (pieces, account, isUsed): ([[UInt8]], String, Bool) = ([], "", false)
        // Of two files that leave the log at once one is used again: perhaps the other.
        for attempt in 1...8 where !isUsed {
            account = "ada\(attempt)"
            let number = attempt * 1000
            let before = Set(try rows().map(\.value))
            try daemon.start()
            // It lies far behind a segment's beginning.
            for setting in 0..<25 { try putSetting(number + setting) }
            try put(account, String(repeating: "1", count: 60_000), service: "target")
            let row = try rows().filter { !before.contains($0.value) }.max { $0.value.count < $1.value.count }
            let value = try #require(row?.value)
            pieces = stride(from: 0, through: value.count - 24, by: 1500).map { Array(value[$0..<$0 + 24]) }
            try daemon.start()
            try put(account, "2", service: "target")
            // Settings alone, until the file that is written is one that had the version, and has only begun to be used.
            var (last, ready) = (newest(), 0)
            for number in number + 100..<number + 600 where !isUsed {
                try putSetting(number)
                if number % 50 == 0 { try daemon.waitUntilFolded() }
                if ready > 0, try has(ready, [Array("round\(number)z".utf8)]) {
                    if try has(ready, pieces) { isUsed = true } else { ready = 0 }
                }
                guard newest() > last else { continue }
                last = newest()
                if try has(last, pieces) { ready = last }
            }
        }
        #expect(isUsed)
        try daemon.connect().result(
            "secrets.destroyVersion", "{\"service\":\"target\",\"account\":\"\(account)\",\"version\":1}")
        let found = DirectoryScan.find(piecesOf: pieces, under: daemon.data)
        #expect(found.isEmpty, "\(found.prefix(4))")
    }

    @Test(arguments: ["scrub.tables", "scrub.pages", "scrub.log", "scrub.segment", "scrub.zeros", "scrub.done"])
    func `killed on the way, the next start finishes it`(point: String) throws {
        let remains = try prepare()
        try daemon.start(faults: "\(point):kill")
        let client = try daemon.connect()
        client.send(Client.request("secrets.destroyVersion", Self.first))
        // Only then was the reply made already.
        if point != "scrub.done" { #expect(try client.line() == nil, "\(point)") }
        #expect(daemon.wait() == 128 + SIGKILL, "\(point)")
        try daemon.start()
        try waitUntilScrubbed()
        try check(remains, point)
    }

    @Test(arguments: 1...3)
    func `killed while a file of the log is let go, the next start finishes that, and meets no damage`(
        hit: Int
    ) throws {
        #expect(daemon.terminate() == 0)
        let configuration = "{\"changes\":{\"retainBytes\":1048576}}"
        try daemon.start(configuration: configuration, faults: "scrub.letGo:kill:\(hit)")
        let (secret, text) = (String(repeating: "x", count: 100_000), String(repeating: "7", count: 200_000))
        var stored = 0
        for version in 1...12 {
            guard let client = try? daemon.connect() else { break }
            let put = "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"\(secret)\"}"
            _ = try? client.call("secrets.put", put)
            for number in 0..<3 {
                let id = version * 10 + number
                let reply = try? client.call(
                    "documents.put", "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":\"\(text)\"}")
                if reply?["result"] != nil { stored += 1 }
            }
            _ = try? client.call(
                "secrets.destroyVersion", "{\"service\":\"s\",\"account\":\"a\",\"version\":\(version)}")
        }
        #expect(daemon.wait() == 128 + SIGKILL && stored > 0)
        try daemon.start(configuration: configuration)
        try waitUntilScrubbed()
        let client = try daemon.connect()
        #expect(try client.result("storage.status")["recovered"] == nil)
        let count = try #require(try client.result("documents.count", "{\"collection\":\"c\"}")["count"]?.int)
        #expect((stored...stored + 1).contains(count))
        #expect(!daemon.log.contains("damaged") && TemporaryDaemon.names(daemon.data + "/quarantine") ?? [] == [])
        func awaitsZeros() -> Bool {
            (TemporaryDaemon.names(daemon.data + "/tmp") ?? []).contains { $0.hasPrefix("scrub-") }
        }
        let deadline = now() + 30
        while awaitsZeros(), now() < deadline { usleep(10_000) }
        #expect(!awaitsZeros())
    }

    @Test func `killed before it is in the log, the version is wholly there`() throws {
        let remains = try prepare()
        try daemon.start(faults: "log.append:kill")
        let client = try daemon.connect()
        client.send(Client.request("secrets.destroyVersion", Self.first))
        #expect(try client.line() == nil)
        #expect(daemon.wait() == 128 + SIGKILL)
        try daemon.start()
        let again = try daemon.connect()
        #expect(try again.result("secrets.get", Self.first)["secret"]?.text?.first == "1")
        try again.result("secrets.destroyVersion", Self.first)
        try check(remains, "sent again")
    }

    @Test func `a sealed start finishes it as well`() throws {
        let remains = try prepare()
        try daemon.start()
        let slot = "{\"kind\":\"passphrase\",\"newPassphrase\":\"x\"}"
        try daemon.connect().result("secrets.addSlot", slot)
        try daemon.connect().result("secrets.removeSlot", "{\"slot\":1}")
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "scrub.tables:kill")
        try daemon.connect().result("secrets.unlock", "{\"passphrase\":\"x\"}")
        daemon.expectEnd(of: "secrets.destroyVersion", Self.first)
        try daemon.start()
        #expect(try daemon.connect().result("secrets.status")["state"]?.text == "sealed")
        try waitUntilScrubbed()
        daemon.kill()
        #expect(DirectoryScan.find(piecesOf: remains.gone, under: daemon.data).isEmpty)
    }

    @Test(arguments: ["scrub.log", "scrub.segment"])
    func `without room it says so, and goes on by itself`(point: String) throws {
        let remains = try prepare()
        try daemon.start(faults: "\(point):full")
        let client = try daemon.connect()
        let refusal = try client.refusal("secrets.destroyVersion", Self.first)
        #expect(refusal["kind"]?.text == "noSpace" && refusal["hint"]?.text?.contains("destroyed") == true)
        #expect(try client.refusal("secrets.get", Self.first)["kind"]?.text == "notFound")
        // Sent again it is answered when it is done.
        try client.result("secrets.destroyVersion", Self.first)
        try check(remains, point)
    }

    @Test(arguments: ["vfs.write@durable:full:1+", "log.prepare:full:2+"])
    func `where there is no room at all, who waits is told`(faults: String) throws {
        let remains = try prepare()
        try daemon.start(faults: faults)
        let client = try daemon.connect()
        for _ in 0..<2 {
            #expect(try client.refusal("secrets.destroyVersion", Self.first)["kind"]?.text == "noSpace")
        }
        // The next start, which finds room, finishes it.
        daemon.kill()
        try daemon.start()
        try waitUntilScrubbed()
        try check(remains, faults)
    }

    @Test func `the change feed has no gap where the log was written anew`() throws {
        _ = try prepare()
        try daemon.start()
        let client = try daemon.connect()
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        try client.result("secrets.destroyVersion", Self.first)
        #expect(daemon.terminate() == 0)
        try daemon.start()
        let again = try daemon.connect()
        var rev = 0
        var accounts: Set<String> = []
        let newest = try #require(try again.result("storage.status")["rev"]?.int)
        while rev < newest {
            let page = try again.result("changes.list", "{\"afterRev\":\(rev)}")
            for change in page["changes"]?.elements ?? [] {
                if let account = change["key"]?.text { accounts.insert(account) }
            }
            let next = try #require(page["rev"]?.int)
            guard next > rev else { break }
            rev = next
        }
        #expect(rev == newest && accounts.contains("ada") && accounts.contains("k"), "\(accounts)")
    }

    @Test func `what cannot be destroyed is told, and conditions hold`() throws {
        try put("ada", "one", service: "target")
        let client = try daemon.connect()
        let conflict = "{\"service\":\"target\",\"account\":\"ada\",\"version\":1,\"ifRev\":77}"
        #expect(try client.refusal("secrets.destroyVersion", conflict)["kind"]?.text == "conflict")
        for params in [
            "{\"service\":\"target\",\"account\":\"ada\",\"version\":2}",
            "{\"service\":\"target\",\"account\":\"eve\",\"version\":1}",
            "{\"service\":\"none\",\"account\":\"ada\",\"version\":1}",
        ] { #expect(try client.refusal("secrets.destroyVersion", params)["kind"]?.text == "notFound", "\(params)") }
        #expect(try client.result("secrets.get", Self.name)["secret"] == .string("one"))
        // The newest one too: the item is still there, its value is not, and an older one does not take its place.
        try client.result("secrets.destroyVersion", Self.first)
        #expect(try client.refusal("secrets.get", Self.name)["kind"]?.text == "notFound")
        #expect(try client.refusal("secrets.restoreVersion", Self.first)["kind"]?.text == "notFound")
        try put("ada", "two", service: "target")
        #expect(try client.result("secrets.get", Self.name)["secret"] == .string("two"))
        try client.result("secrets.rename", "{\"service\":\"target\",\"account\":\"ada\",\"newAccount\":\"eve\"}")
        #expect(
            try client.result("secrets.get", "{\"service\":\"target\",\"account\":\"eve\"}")["secret"] == .string("two")
        )
    }
}

extension TemporaryDaemon {
    /// Sends a request that kills the daemon.
    func expectEnd(of method: String, _ params: String) {
        guard let client = try? connect() else {
            Issue.record("no connection")
            return
        }
        client.send(Client.request(method, params))
        #expect((try? client.line()) == .some(nil))
        #expect(wait() == 128 + SIGKILL)
    }
}
