import Glibc
import KuraBytes
import Testing

@testable import KuraStorage

/// A backup and the log's changes since: `kura restore FILE --at REV --log DIR`.
@Suite struct LogChangesScenarioTests: BackedUpSuite {
    let daemon: TemporaryDaemon
    let client: Client

    init() throws {
        signal(SIGPIPE, SIG_IGN)
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
    }

    @Test func `a backup and the log bring back any revision since, to the version and the time`() throws {
        try put("notes", "1", "{\"n\":1}")
        try secret("ada", "first")
        try client.result("settings.put", "{\"domain\":\"app\",\"key\":\"a\",\"value\":1}")
        try backup("base")
        let base = try #require(try client.result("storage.status")["rev"]?.int)
        // What each revision shows, as those who wrote it were told.
        var told: [Int: (note: JSON, value: Int)] = [:]
        let key = "{\"collection\":\"notes\",\"id\":\"1\"}"
        for number in 2..<40 {
            if number % 5 == 0 {
                try client.result("settings.put", "{\"domain\":\"app\",\"key\":\"a\",\"value\":\(number)}")
            } else if number % 7 == 0 {
                try client.result("documents.delete", key)
            } else if number % 11 == 0 {
                // Several changes of one revision, and several revisions of one row of the log.
                try client.result(
                    "transaction.apply",
                    """
                    {"operations":[{"method":"documents.put","params":{"collection":"notes","id":"1","value":{"n":\(number)}}},\
                    {"method":"settings.put","params":{"domain":"app","key":"a","value":\(number)}}]}
                    """)
            } else {
                try put("notes", "1", "{\"n\":\(number)}")
            }
            if number == 20 { try secret("ada", "second") }
            let rev = try #require(try client.result("storage.status")["rev"]?.int)
            let value = try client.result("settings.get", "{\"domain\":\"app\",\"key\":\"a\"}")["value"]?.int
            told[rev] = (try client.result("documents.get", key), try #require(value))
        }
        let card = "{\"collection\":\"notes\",\"id\":\"9\""
        try client.result("documents.put", card + ",\"value\":1}")
        try client.result("documents.attach", card + ",\"name\":\"a\",\"data\":\"aGVsbG8=\"}")
        let newest = try #require(try client.result("storage.status")["rev"]?.int)
        let log = daemon.data + "/log"
        let tried = told.keys.sorted().enumerated().filter { $0.offset % 4 == 0 }.map(\.element)
        for rev in tried {
            let other = try TemporaryDaemon(starts: false)
            let outcome = try BackupRestore.restore(
                path("base"), into: other.data, changes: LogChanges(log: log, upTo: UInt64(rev)))
            #expect(Int(outcome.rev) == rev)
            try other.start()
            let reader = try other.connect()
            let status = try reader.result("storage.status")
            #expect(status["rev"]?.int == rev && status["recovered"] == nil)
            #expect(status["epoch"] != (try client.result("storage.status")["epoch"]))
            let value = try reader.result("settings.get", "{\"domain\":\"app\",\"key\":\"a\"}")["value"]?.int
            #expect(value == told[rev]?.value, "\(rev)")
            #expect(try reader.result("documents.get", key) == told[rev]?.note, "\(rev)")
            #expect(other.terminate() == 0)
            #expect(try TablesRecount.difference(other.data) == nil)
        }
        // All of it, with what was attached since.
        let other = try TemporaryDaemon(starts: false)
        #expect(
            try other.run([
                "restore", path("base"), "--data-dir", other.data, "--at", "newest", "--log", log, "--unproved",
            ]) == 0)
        #expect(other.log.contains("changes up to revision \(newest)"))
        try other.start()
        let attached = try other.connect().result("documents.attachment", card + ",\"name\":\"a\"}")
        #expect(attached["data"]?.text == "aGVsbG8=")
        // The key of where it comes from opens what was put since.
        #expect(other.terminate() == 0)
        let root = try #require(TemporaryDaemon.contents(daemon.data + "/keys/root.key"))
        let file = open(other.data + "/keys/root.key", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try root.withBytes { try FileSystem.write(file, $0, at: 0, path: "") }
        close(file)
        try other.start()
        let reader = try other.connect()
        let read = try reader.result("secrets.get", "{\"service\":\"mail\",\"account\":\"ada\"}")
        #expect(read["secret"]?.text == "second")
        #expect(try reader.result("secrets.verify")["damagedCount"]?.int == 0)
        #expect(base < newest)
    }

    @Test func `newest is refused where the log has a gap, and what comes before it is restored`() throws {
        try backup("base")
        let base = try #require(try client.result("storage.status")["rev"]?.int)
        for number in 1...20 { try put("notes", "\(number)", "\(number)") }
        #expect(daemon.terminate() == 0)
        let log = daemon.root + "/damaged"
        try FileSystem.makeDirectory(log)
        let wanted = UInt64(base + 10)
        var damaged = 0
        for name in TemporaryDaemon.names(daemon.data + "/log") ?? [] {
            guard let number = Segment.number(ofFile: name) else { continue }
            try FileSystem.copy(daemon.data + "/log/" + name, to: log + "/" + name)
            let segment = try Segment(opening: number, in: log)
            var walk = segment.walk()
            var start = walk.offset
            while case .row(let row) = try walk.next() {
                defer { start = walk.offset }
                guard row.rev == wanted, row.previous == wanted - 1 else { continue }
                let zeros = [UInt8](repeating: 0, count: walk.offset - start)
                try zeros.withBytes { try FileSystem.write(segment.descriptor, $0, at: start, path: name) }
                damaged += 1
            }
        }
        #expect(damaged == 1)
        let target = daemon.root + "/target"
        do throws(BackupFault) {
            try BackupRestore.restore(path("base"), into: target, changes: LogChanges(log: log, upTo: nil))
            Issue.record("restored over a gap")
        } catch {
            #expect(error.description.contains("revision \(wanted) is not in the log"), "\(error)")
            #expect(error.description.contains("'--at \(wanted - 1)'"), "\(error)")
        }
        let outcome = try BackupRestore.restore(
            path("base"), into: target, changes: LogChanges(log: log, upTo: wanted - 1))
        #expect(outcome.rev == wanted - 1)
    }

    @Test func `a segment that is gone at the log's end is missed by a restore, doctor, a start and a check`() throws {
        try put("notes", "1", "1")
        try backup("base")
        try put("notes", "2", "1")
        let last = try #require(try client.result("storage.status")["rev"]?.int)
        #expect(daemon.terminate() == 0)
        // A segment for each run, and one without changes behind them.
        try daemon.start()
        var other = try daemon.connect()
        for id in 3...5 {
            try other.result("documents.put", "{\"collection\":\"notes\",\"id\":\"\(id)\",\"value\":1}")
        }
        for _ in 0..<2 {
            #expect(daemon.terminate() == 0)
            try daemon.start()
        }
        #expect(daemon.terminate() == 0)
        let (log, target) = (daemon.data + "/log", daemon.root + "/target")
        #expect(try daemon.run(["doctor", "--data-dir", daemon.data]) == 0, "\(daemon.log)")
        for number in try LogFiles.numbers(in: log) {
            if try Segment(opening: number, in: log).lastRev > UInt64(last) { try Segment.remove(number, in: log) }
        }
        do throws(BackupFault) {
            try BackupRestore.restore(path("base"), into: target, changes: LogChanges(log: log, upTo: nil))
            Issue.record("restored without the last segment")
        } catch {
            #expect(error.description.contains("revision \(last + 1) is not in the log"), "\(error)")
            #expect(error.description.contains("'--at \(last)'"), "\(error)")
        }
        // Without DATA/acknowledged the segments behind it say so.
        let copy = daemon.root + "/copy/log"
        try FileSystem.makeDirectories(copy)
        for number in try LogFiles.numbers(in: log) {
            try FileSystem.copy(Segment.path(log, number), to: Segment.path(copy, number))
        }
        do throws(BackupFault) {
            try BackupRestore.restore(path("base"), into: target, changes: LogChanges(log: copy, upTo: nil))
            Issue.record("restored without the last segment, from a copy")
        } catch {
            #expect(error.description.contains("revision \(last + 1) is not in the log"), "\(error)")
            #expect(error.description.contains("had revisions up to \(last + 3)"), "\(error)")
        }
        let outcome = try BackupRestore.restore(
            path("base"), into: target, changes: LogChanges(log: log, upTo: UInt64(last)))
        #expect(outcome.rev == UInt64(last))

        let told = "revisions \(last + 1) to \(last + 3) are in no segment"
        #expect(try daemon.run(["doctor", "--data-dir", daemon.data]) == 8)
        #expect(daemon.log.contains("warning: log: \(told)"), "\(daemon.log)")
        try daemon.start()
        #expect(daemon.log.contains("\(told) of log/: the tables have them"), "\(daemon.log)")
        other = try daemon.connect()
        #expect(try other.result("documents.count", "{\"collection\":\"notes\"}")["count"]?.int == 5)
        let problems = try other.result("storage.check")["problems"]?.elements ?? []
        #expect(problems.contains { $0["what"]?.text == "segment" && $0["problem"]?.text == told }, "\(problems)")
    }

    @Test func `what the log does not have without a gap is refused, and nothing is restored`() throws {
        try put("notes", "1", "1")
        try backup("base")
        let base = try #require(try client.result("storage.status")["rev"]?.int)
        for number in 0..<5 { try put("notes", "\(number)", "2") }
        let (log, target) = (daemon.data + "/log", daemon.root + "/target")
        func refusal(_ name: String, _ rev: Int, _ log: String) -> String {
            do throws(BackupFault) {
                try BackupRestore.restore(path(name), into: target, changes: LogChanges(log: log, upTo: UInt64(rev)))
                return "restored"
            } catch { return error.description }
        }
        #expect(refusal("base", base - 1, log).contains("as of revision \(base) already"))
        #expect(refusal("base", base + 6, log).contains("ends with revision \(base + 5)"))
        #expect(refusal("base", base + 1, log + "x").contains("no directory of log segments"))
        try backup("part", ",\"include\":[\"settings\"]")
        #expect(refusal("part", base + 9, log).contains("only a part"))
        try secret("bound", "x", ",\"deviceOnly\":true")
        try backup("without")
        try put("notes", "6", "1")
        let newest = try #require(try client.result("storage.status")["rev"]?.int)
        #expect(refusal("without", newest, log).contains("leaves secrets out"))
        #expect(refusal("base", newest, log).contains("nothing that leads to their keys"))
        // A log that begins later: another one, whose first change is of revision 1, and which goes further than that.
        let other = try TemporaryDaemon()
        let writer = try other.connect()
        for number in 0..<3 {
            try writer.result("documents.put", "{\"collection\":\"c\",\"id\":\"\(number)\",\"value\":1}")
        }
        try writer.result("storage.backup", "{\"name\":\"early\"}")
        let early = other.data + "/backups/early.kurabackup"
        #expect(other.terminate() == 0)
        for name in TemporaryDaemon.names(other.data + "/log") ?? [] where name.hasSuffix(".log") {
            unlink(other.data + "/log/" + name)
        }
        #expect(throws: BackupFault.self) {
            try BackupRestore.restore(early, into: target, changes: LogChanges(log: other.data + "/log", upTo: 4))
        }
        #expect(TemporaryDaemon.names(daemon.root)?.filter { $0.hasPrefix("target") } == [])
        for wrong in [["--at", "3"], ["--log", log], ["--at", "x", "--log", log]] {
            #expect(try daemon.run(["restore", path("base"), "--data-dir", target] + wrong) == 2)
        }
        let both = ["--data-dir", target, "--at", "3", "--log", log, "--only", "settings"]
        #expect(try daemon.run(["restore", path("base")] + both) == 2)
    }
}
