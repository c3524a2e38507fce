import Glibc
import KuraBytes
import Testing

@testable import KuraStorage

/// Which logs go on from a backup, and what becomes of attachments whose contents are gone: `kura restore FILE --at REV --log DIR`.
@Suite struct LogHistoryScenarioTests: BackedUpSuite {
    let daemon: TemporaryDaemon
    let client: Client
    private var log: String { daemon.data + "/log" }
    private var target: String { daemon.root + "/target" }

    init() throws {
        signal(SIGPIPE, SIG_IGN)
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
    }

    private func epoch(_ client: Client) throws -> String {
        try #require(try client.result("storage.status")["epoch"]?.text)
    }

    /// Why a restore of all that a log has is refused.
    private func refusal(_ file: String, _ log: String, upTo rev: UInt64? = nil) -> String {
        do throws(BackupFault) {
            try BackupRestore.restore(file, into: target, changes: LogChanges(log: log, upTo: rev))
            return "restored"
        } catch { return error.description }
    }

    /// Restores into a directory of its own, and starts a daemon there.
    private func restored(_ file: String, _ changes: LogChanges? = nil) throws -> (TemporaryDaemon, Client) {
        let other = try TemporaryDaemon(starts: false)
        try BackupRestore.restore(file, into: other.data, changes: changes)
        try other.start()
        return (other, try other.connect())
    }

    // MARK: Histories

    @Test func `a log of another history is refused, naming both, and one that goes on from the backup is taken`()
        throws
    {
        try put("notes", "a", "1")
        try backup("old")
        for id in ["b", "c"] { try put("notes", id, "\"first\"") }
        try backup("new")
        let first = try epoch(client)
        // The older backup goes another way.
        let (other, writer) = try restored(path("old"))
        for id in 0..<5 {
            try writer.result("documents.put", "{\"collection\":\"notes\",\"id\":\"\(id)\",\"value\":\"second\"}")
        }
        let second = try epoch(writer)
        let newest = UInt64(try #require(try writer.result("storage.status")["rev"]?.int))
        try writer.result("storage.backup", "{\"name\":\"between\"}")
        let between = other.data + "/backups/between.kurabackup"
        #expect(other.terminate() == 0)
        let theirs = other.data + "/log"
        let why = refusal(path("new"), theirs)
        #expect(why.contains("is of the history \(second)") && why.contains(first), "\(why)")
        // Segments of both in one directory.
        let mixed = daemon.root + "/mixed"
        try FileSystem.makeDirectory(mixed)
        for (directory, added) in [(log, 0), (theirs, 100)] {
            for number in try LogFiles.numbers(in: directory) {
                try FileSystem.copy(Segment.path(directory, number), to: Segment.path(mixed, number + added))
            }
        }
        #expect(refusal(path("new"), mixed).contains(second))
        let both = refusal(path("old"), mixed)
        #expect(both.contains(first) && both.contains(second), "\(both)")
        #expect(access(target, F_OK) != 0)

        // What came of the older one does go on from it, and so does what comes of that.
        let (third, last) = try restored(path("old"), LogChanges(log: theirs, upTo: nil))
        #expect(try last.result("storage.status")["rev"]?.int == Int(newest))
        try last.result("documents.put", "{\"collection\":\"notes\",\"id\":\"z\",\"value\":\"third\"}")
        #expect(third.terminate() == 0)
        let outcome = try BackupRestore.restore(
            between, into: target, changes: LogChanges(log: third.data + "/log", upTo: nil))
        #expect(outcome.rev == newest + 1 && outcome.unnamedSegments == [])
        FileTree.remove(target)
        #expect(refusal(path("new"), third.data + "/log").contains("is of the history"))
    }

    @Test func `a restore of a part begins a history that goes on from no backup`() throws {
        try put("notes", "a", "1")
        try client.result("settings.put", "{\"domain\":\"app\",\"key\":\"a\",\"value\":1}")
        try backup("base")
        let other = try TemporaryDaemon(starts: false)
        let selection = try BackupSelection([Array("documents".utf8)])
        try BackupRestore.restore(path("base"), into: other.data, selection: selection)
        try other.start()
        try other.connect().result("documents.put", "{\"collection\":\"notes\",\"id\":\"b\",\"value\":1}")
        #expect(other.terminate() == 0)
        #expect(refusal(path("base"), other.data + "/log").contains("is of the history"))
    }

    @Test func `segments of a version that did not note their history are taken, and named`() throws {
        try put("notes", "a", "1")
        try backup("base")
        try put("notes", "b", "1")
        #expect(daemon.terminate() == 0)
        let names = try #require(TemporaryDaemon.names(log)).filter { Segment.number(ofFile: $0) != nil }
        let zeros = [UInt8](repeating: 0, count: SegmentFormat.wholeHeadLength - SegmentFormat.headLength)
        for name in names {
            for place in [0, SegmentFormat.headCopy] {
                try TemporaryDaemon.overwrite(log + "/" + name, at: place + SegmentFormat.headLength, zeros)
            }
        }
        let outcome = try BackupRestore.restore(
            path("base"), into: target, changes: LogChanges(log: log, upTo: nil))
        #expect(!outcome.unnamedSegments.isEmpty && names.contains(outcome.unnamedSegments[0]))
    }

    // MARK: Attachments

    private let card = "{\"collection\":\"notes\",\"id\":\"x\""

    private func attach(_ name: String, _ data: String) throws {
        try client.result("documents.attach", card + ",\"name\":\"\(name)\",\"data\":\"\(data)\"}")
    }

    /// Contents of attachments that the daemon has, by their paths.
    private func contents() throws -> [String: String] {
        let directory = StorageConfiguration(dataDirectory: daemon.data).attachmentsDirectory
        var found: [String: String] = [:]
        for prefix in try FileSystem.names(in: directory) {
            for name in try FileSystem.names(in: "\(directory)/\(prefix)") {
                let path = "\(directory)/\(prefix)/\(name)"
                found[path] = String(decoding: try #require(TemporaryDaemon.contents(path)), as: UTF8.self)
            }
        }
        return found
    }

    private func lose(_ content: String) throws {
        for (path, text) in try contents() where text == content { unlink(path) }
    }

    private func problems(_ client: Client) throws -> Int? {
        client.send(Client.request("storage.check", id: "\"check\""))
        while true {
            let reply = try client.reply()
            if reply["id"]?.text == "check" { return reply["result"]?["problemCount"]?.int }
        }
    }

    @Test func `attachments of a deleted document come back with it, when their contents are there`() throws {
        try put("notes", "x", "1")
        try backup("base")
        try attach("f", "aGVsbG8=")
        try client.result("documents.delete", card + "}")
        #expect(daemon.terminate() == 0)
        #expect(try contents().values.contains("hello"))
        do {
            let (other, reader) = try restored(path("base"), LogChanges(log: log, upTo: nil))
            try reader.result("documents.restore", card + "}")
            #expect(try reader.result("documents.attachment", card + ",\"name\":\"f\"}")["data"]?.text == "aGVsbG8=")
            #expect(try problems(reader) == 0)
            #expect(other.terminate() == 0)
            #expect(try TablesRecount.difference(other.data) == nil)
        }
        try lose("hello")
        let why = refusal(path("base"), log)
        #expect(why.contains("notes/x/f") && why.contains("'--without-lost-attachments'"), "\(why)")
        let (other, reader) = try restored(
            path("base"), LogChanges(log: log, upTo: nil, withoutLostAttachments: true))
        try reader.result("documents.restore", card + "}")
        #expect(try reader.refusal("documents.attachment", card + ",\"name\":\"f\"}")["kind"]?.text == "notFound")
        #expect(try problems(reader) == 0)
        #expect(other.terminate() == 0)
        #expect(try TablesRecount.difference(other.data) == nil)
    }

    @Test func `one attachment whose content is gone does not keep the rest from being restored`() throws {
        try put("notes", "x", "1")
        try backup("base")
        try attach("f", "b25l")
        try attach("g", "aGVsbG8=")
        try put("notes", "y", "\"precious\"")
        let rev = try #require(try client.result("storage.status")["rev"]?.int)
        try attach("f", "dHdv")
        #expect(daemon.terminate() == 0)
        try lose("one")
        #expect(refusal(path("base"), log, upTo: UInt64(rev)).contains("notes/x/f"))
        let other = try TemporaryDaemon(starts: false)
        let words = ["restore", path("base"), "--data-dir", other.data, "--at", "\(rev)", "--log", log, "--unproved"]
        #expect(try daemon.run(words) == 1)
        #expect(access(other.data, F_OK) != 0)
        #expect(try daemon.run(words + ["-q", "--without-lost-attachments"]) == 0)
        #expect(daemon.log.contains("without the attachment notes/x/f, whose content is gone"), "\(daemon.log)")
        try other.start()
        let reader = try other.connect()
        #expect(try reader.result("storage.status")["rev"]?.int == rev)
        let precious = try reader.result("documents.get", "{\"collection\":\"notes\",\"id\":\"y\"}")
        #expect(precious["value"]?.text == "precious")
        #expect(try reader.result("documents.attachment", card + ",\"name\":\"g\"}")["data"]?.text == "aGVsbG8=")
        #expect(try reader.refusal("documents.attachment", card + ",\"name\":\"f\"}")["kind"]?.text == "notFound")
        #expect(try problems(reader) == 0)
        // As of later it is another content, which is there.
        let outcome = try BackupRestore.restore(
            path("base"), into: target, changes: LogChanges(log: log, upTo: nil, withoutLostAttachments: true))
        #expect(outcome.lostAttachments == [])
    }

    @Test func `what goes without lost attachments adds a log`() throws {
        #expect(try daemon.run(["restore", path("base"), "--without-lost-attachments"]) == 2)
    }
}
