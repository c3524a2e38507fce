import Glibc
import KuraBytes
import Testing

@testable import KuraStorage

/// Whose work a backup is: what its proof tells, and what a restore makes of it.
@Suite struct BackupOriginScenarioTests: BackedUpSuite {
    let daemon: TemporaryDaemon
    let client: Client

    init() throws {
        signal(SIGPIPE, SIG_IGN)
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
        try put("notes", "1", "{\"title\":\"mine\"}")
        try secret("ada", "one")
    }

    private var target: String { daemon.root + "/target" }
    private var keys: String { daemon.data + "/keys" }

    private func origin(_ name: String, _ client: Client? = nil, _ more: String = "") throws -> String? {
        let verified = try (client ?? self.client).call("backups.verify", "{\"name\":\"\(name)\"\(more)}")
        let compared = try (client ?? self.client).call("backups.compare", "{\"name\":\"\(name)\"\(more)}")
        func word(_ reply: JSON) -> String? {
            reply["result"]?["origin"]?.text ?? reply["error"]?["data"]?["kind"]?.text
        }
        #expect(word(verified) == word(compared))
        return word(verified)
    }

    @Test func `a restore names the keys that open what it has restored, and these do`() throws {
        let key = daemon.root + "/kura.key"
        TemporaryDaemon.write(String(repeating: "k", count: 32), to: key)
        let configuration = "{\"secrets\":{\"keyFile\":\"\(key)\"}}"
        let contained = try TemporaryDaemon(starts: false)
        try contained.start(configuration: configuration)
        let client = try contained.connect()
        try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"x\"}")
        try client.result("storage.backup", "{\"name\":\"one\"}")
        let elsewhere = try TemporaryDaemon(starts: false)
        let words = "restore \(contained.data)/backups/one.kurabackup --data-dir \(elsewhere.data) --unproved"
        let told = try Outsider.run("\(TemporaryDaemon.binary) \(words)")
        #expect(told.status == 0 && told.output.contains("secrets.keyFile") && !told.output.contains("root.key"))
        // The key as a root.key, for which there is no slot, opens nothing, and stays.
        let path = elsewhere.data + "/keys/root.key"
        #expect(try Outsider.run("cp \(key) \(path) && chmod 600 \(path)").status == 0)
        try elsewhere.start()
        #expect(try elsewhere.connect().result("secrets.status")["state"]?.text == "sealed")
        #expect(elsewhere.terminate() == 0)
        #expect(TemporaryDaemon.contents(path)?.count == 32)
        try elsewhere.start(configuration: configuration)
        let found = try elsewhere.connect().result("secrets.get", "{\"service\":\"s\",\"account\":\"a\"}")
        #expect(found["secret"]?.text == "x")
    }

    private func write(_ bytes: [UInt8], _ name: String) throws {
        try FileSystem.makeDirectories(daemon.data + "/backups")
        let descriptor = open(path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        try bytes.withBytes { try FileSystem.write(descriptor, $0, at: 0, path: path(name)) }
    }

    private func restore(_ name: String, _ more: String...) throws -> Int32 {
        defer { TemporaryDaemon.remove(target) }
        let status = try daemon.run(["restore", path(name), "--data-dir", target] + more)
        #expect(FileSystem.exists(target) == (status == 0 && !more.contains("--dry-run")), "\(name) \(more)")
        return status
    }

    @Test func `what this daemon made is ours, and restored with its keys alone`() throws {
        try backup("plain")
        try backup("some", ",\"include\":[\"documents\"]")
        try backup("sealed", ",\"passphrase\":\"open sesame\"")
        #expect(try origin("plain") == "ours" && origin("some") == "ours")
        #expect(try origin("sealed", nil, ",\"passphrase\":\"open sesame\"") == "ours")
        let alone = daemon.root + "/alone"
        for name in ["plain", "some"] {
            #expect(try restore(name, "--keys", keys) == 0)
            #expect(try restore(name) == 1)
            #expect(daemon.log.contains("nothing shows who made it"), "\(daemon.log)")
            #expect(try restore(name, "--unproved") == 0)
            #expect(try restore(name, "--dry-run") == 0)
            #expect(daemon.log.contains("no keys at hand (--keys DIR) show who made it"), "\(daemon.log)")
            #expect(try restore(name, "--dry-run", "--keys", keys) == 0)
            #expect(daemon.log.contains("made by a daemon with the keys at hand, and not altered"), "\(daemon.log)")
        }
        // root.key alone opens the slots that came along with the secrets.
        try FileSystem.makeDirectories(alone)
        let root = try #require(TemporaryDaemon.contents(keys + "/root.key"))
        let descriptor = open(alone + "/root.key", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try root.withBytes { try FileSystem.write(descriptor, $0, at: 0, path: alone) }
        close(descriptor)
        #expect(try restore("plain", "--keys", alone) == 0)
        #expect(try restore("some", "--keys", alone) == 1)
    }

    @Test func `whoever had the keys of before a rotation proves nothing any more`() throws {
        try backup("before")
        let earlier = daemon.root + "/earlier"
        #expect(try Outsider.run("cp -r \(keys) \(earlier) 2>&1").output == "")
        try client.result("secrets.rotate", "{\"rootKey\":true,\"waitMs\":600000}")
        #expect(try origin("before") == "unproved")
        #expect(try restore("before", "--keys", keys) == 1)
        // As of then it is what it was.
        #expect(try restore("before", "--keys", earlier) == 0)
        try backup("after")
        #expect(try origin("after") == "ours")
        #expect(try restore("after", "--keys", keys) == 0)
        // A key that is not known then: nothing is told of it, neither that it is ours nor that it is not.
        #expect(try restore("after", "--keys", earlier) == 1)
        #expect(daemon.log.contains("after a rotation of the root key"), "\(daemon.log)")
        #expect(try restore("after", "--keys", earlier, "--unproved") == 0)
    }

    @Test func `another daemon's is of another host, and what was made while the secrets were sealed is unproved`()
        throws
    {
        let other = try TemporaryDaemon()
        let stranger = try other.connect()
        try stranger.result("documents.put", "{\"collection\":\"notes\",\"id\":\"1\",\"value\":1}")
        try stranger.result("storage.backup", "{\"name\":\"theirs\"}")
        try write(try #require(TemporaryDaemon.contents(other.data + "/backups/theirs.kurabackup")), "theirs")
        #expect(try origin("theirs") == "otherHost")
        #expect(try restore("theirs", "--keys", keys) == 1)
        #expect(daemon.log.contains("other keys"), "\(daemon.log)")
        #expect(try restore("theirs", "--keys", other.data + "/keys") == 0)
        try backup("before")
        try client.result("secrets.lock")
        #expect(try origin("before") == "unproved")
        try backup("locked", ",\"include\":[\"documents\"]")
        try client.result("secrets.unlock")
        #expect(try origin("before") == "ours" && origin("locked") == "unproved")
    }

    @Test func `a log is added where it lies beside the keys that tell, and else only when asked`() throws {
        try backup("base")
        try put("notes", "2", "2")
        let other = try TemporaryDaemon()
        let stranger = try other.connect()
        for number in 0..<5 {
            try stranger.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\(number)}")
        }
        let (ours, theirs) = (daemon.data + "/log", other.data + "/log")
        #expect(try restore("base", "--at", "newest", "--log", ours, "--keys", keys) == 0)
        #expect(try restore("base", "--at", "newest", "--log", theirs, "--keys", keys) == 1)
        #expect(daemon.log.contains("nothing shows whose the log is"), "\(daemon.log)")
        #expect(try restore("base", "--at", "newest", "--log", theirs, "--unproved") == 1)
        #expect(daemon.log.contains("log is of the history"), "\(daemon.log)")
        let copy = daemon.root + "/copy"
        #expect(try Outsider.run("cp -r \(ours) \(copy) 2>&1").output == "")
        #expect(try restore("base", "--at", "newest", "--log", copy, "--keys", keys) == 1)
        #expect(try restore("base", "--at", "newest", "--log", copy, "--unproved") == 0)
        // Others could have written what lies beside the keys.
        let segment = ours + "/" + (try #require(TemporaryDaemon.names(ours)?.first))
        chmod(segment, 0o666)
        #expect(try restore("base", "--at", "newest", "--log", ours, "--keys", keys) == 1)
        #expect(daemon.log.contains("\(segment) of the log is another user's, or others can write to it"))
        chmod(segment, 0o600)
        #expect(try restore("base", "--at", "newest", "--log", ours, "--keys", keys) == 0)
    }

    @Test func `secrets of after a rotation that a log brings along are opened by the keys of then`() throws {
        try backup("base")
        try backup("sealed", ",\"passphrase\":\"open sesame\"")
        let words = daemon.root + "/words"
        #expect(try Outsider.run("echo open sesame >\(words)").status == 0)
        let earlier = daemon.root + "/earlier"
        #expect(try Outsider.run("cp -r \(keys) \(earlier) 2>&1").output == "")
        try secret("eve", "before")
        let rev = try #require(try client.result("storage.status")["rev"]?.int)
        try client.result("secrets.rotate", "{\"rootKey\":true,\"waitMs\":600000}")
        try secret("eve", "after")
        let log = daemon.data + "/log"
        func restored(_ name: String, at: String, _ more: [String]) throws -> TemporaryDaemon? {
            let other = try TemporaryDaemon(starts: false)
            let status = try daemon.run(
                ["restore", path(name), "--data-dir", other.data, "--log", log, "--unproved", "--at", at] + more)
            return status == 0 ? other : nil
        }
        // Nobody has what opens them.
        #expect(try restored("base", at: "newest", ["--keys", earlier]) == nil)
        #expect(daemon.log.contains("sealed after a rotation of the root key"), "\(daemon.log)")
        // As of before the rotation the keys of then do. What is encrypted brings a key of its own along.
        for (name, at, key, more) in [
            ("base", "newest", keys, []), ("sealed", "newest", nil, ["--passphrase-file", words]),
            ("base", "\(rev)", earlier, []),
        ] as [(String, String, String?, [String])] {
            let other = try #require(try restored(name, at: at, ["--keys", keys] + more), "\(daemon.log)")
            if let key {
                #expect(try Outsider.run("cp \(key)/root.key \(other.data)/keys/ 2>&1").output == "")
            }
            try other.start()
            let reader = try other.connect()
            func value(_ account: String) throws -> String? {
                let reply = try reader.call("secrets.get", "{\"service\":\"mail\",\"account\":\"\(account)\"}")
                return reply["result"]?["secret"]?.text
            }
            #expect(try value("eve") == (at == "newest" ? "after" : "before"), "\(name) \(at) \(other.log)")
            #expect(try value("ada") == "one", "\(name) \(at)")
        }
    }

    @Test func `keys of other slots tell as well, and a rotation that was stopped does no harm`() throws {
        try backup("one")
        let brought = daemon.root + "/brought"
        for (what, status) in [
            ("mv \(brought)/root.key \(brought)/root.key.next", 0 as Int32),
            ("head -c 32 /dev/zero >\(brought)/root.key.next", 0), ("head -c 32 /dev/zero >\(brought)/root.key", 1),
            ("rm \(brought)/root.key", 1), ("head -c 31 /dev/zero >\(brought)/root.key", 1),
        ] {
            let script = "rm -rf \(brought); cp -r \(keys) \(brought); umask 077; \(what)"
            #expect(try Outsider.run(script + " 2>&1").output == "")
            #expect(try restore("one", "--keys", brought) == status, "\(what)")
        }
        #expect(try restore("one", "--keys", daemon.root + "/none") == 1)
        #expect(daemon.log.contains("is no directory of keys"), "\(daemon.log)")
    }

    @Test func `a backup that was altered by somebody without the keys is refused, or is unproved`() throws {
        try backup("one")
        try put("notes", "1", "{\"title\":\"newer\"}")
        try backup("two")
        let bytes = try #require(TemporaryDaemon.contents(path("one")))
        let file = try HostileFile(bytes)
        #expect(file.bytes == bytes)
        let place = try #require(file.place { $0.isOf(.documents, "notes", "1") })
        let forged = file.changing(place) { $0.value = Array("{\"title\":\"hers\"}".utf8) }
        let text = file.manifest.text
        let later = try HostileFile(try #require(TemporaryDaemon.contents(path("two")))).manifest.text
        func proof(_ text: String) -> Substring { text[text.firstRange(of: ",\"origin\"")!.lowerBound...] }
        let cases: [(String, HostileFile, String)] = [
            ("a record", forged, "integrity"),
            ("the time", file.saying(manifest: text.replacing("\"schema\":", with: "\"schema\": ")), "integrity"),
            ("another's proof", file.saying(manifest: text.replacing(proof(text), with: proof(later))), "integrity"),
            ("a digit", file.saying(manifest: flipped(text)), "integrity"),
            ("no proof", forged.saying(manifest: text.replacing(proof(text), with: "}")), "unproved"),
            (
                "a proof that is not last",
                forged.saying(
                    manifest: "{" + proof(text).dropFirst().dropLast() + ","
                        + text.replacing(proof(text), with: "}").dropFirst()),
                "unproved"
            ),
            ("another store's name", forged.saying(manifest: renamed(text)), "otherHost"),
        ]
        for (what, hostile, wanted) in cases {
            try write(hostile.bytes, "hostile")
            #expect(try origin("hostile") == wanted, "\(what)")
            #expect(try restore("hostile", "--keys", keys) == 1, "\(what)")
        }
    }

    /// Another last digit of the MAC.
    private func flipped(_ text: String) -> String {
        let last = text.dropLast(3).last!
        return text.dropLast(4) + (last == "0" ? "1" : "0") + "\"}}"
    }

    /// The proof under another store's id.
    private func renamed(_ text: String) -> String {
        let mark = "\"storeId\":\""
        let start = text.firstRange(of: mark)!.upperBound
        return text[..<start] + String(repeating: "a", count: 32) + text[text.index(start, offsetBy: 32)...]
    }
}
