import Glibc
import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

/// Backups that are made while eight clients write, each restored and held against what the writers were told.
///
/// `KURA_BACKUPS`: how many; 3 when nobody says. `SEED` repeats the writers' choices.
@Suite struct BackupModelTests {
    private static let count = getenv("KURA_BACKUPS").flatMap { Int(String(cString: $0)) } ?? 3
    private static let seed = getenv("SEED").flatMap { UInt64(String(cString: $0)) } ?? UInt64.random(in: 0...1 << 32)

    /// Documents that nobody changes, so that a walk takes several snapshots.
    private func fill(_ client: Client, _ model: BackupModel) throws {
        let text = String(repeating: "y", count: 1000)
        for collection in ["a-still", "z-still"] {
            for start in stride(from: 0, to: 2000, by: 500) {
                let documents = (start..<start + 500).map {
                    "{\"id\":\"\($0)\",\"value\":{\"n\":\($0),\"text\":\"\(text)\"}}"
                }
                let result = try client.result(
                    "documents.putMany",
                    "{\"collection\":\"\(collection)\",\"documents\":[\(documents.joined(separator: ","))]}")
                let rev = try #require(result["rev"]?.int)
                for number in start..<start + 500 {
                    model.note(rev, "documents/\(collection)/\(number)", "{\"n\":\(number),\"text\":\"\(text)\"}")
                }
            }
        }
    }

    @Test func `each backup under eight writers is exactly what they were told at its revision`() throws {
        // A walk that takes its time, and somebody whose queries have everything folded at once: slices fall into every walk.
        let daemon = try TemporaryDaemon(faults: "backup.write:sleep=20:1+")
        let model = BackupModel()
        let client = try daemon.connect()
        try fill(client, model)
        try client.result(
            "documents.configure",
            "{\"collection\":\"c0\",\"indexes\":[{\"name\":\"byRound\",\"fields\":[\"round\"]}]}")
        let writers = BackupWriters(daemon.socket, model)
        let seed = Self.seed
        print("backups: \(Self.count), SEED=\(seed)")
        let (socket, logPath) = (daemon.socket, daemon.root + "/stderr")
        let made = Guarded<[(name: String, rev: Int, floor: Int)]>([])
        try onThreads(10) { index in
            if index == 9 { return writers.query() }
            guard index == 8 else { return writers.run(index, seed: seed) }
            defer { writers.stop() }
            do {
                let client = try Client(path: socket, seconds: 120)
                for number in 0..<Self.count {
                    // However seldom they get the processor, all of them write beside each.
                    let written = model.count
                    defer { try? waitFor("the writers go on") { model.count > written + 8 } }
                    // Everything that was acknowledged before must be in it.
                    let floor = try client.result("storage.status")["rev"]?.int ?? 0
                    let result = try client.result("storage.backup", "{\"name\":\"b\(number)\"}")
                    #expect(result["verified"]?.bool == true)
                    let rev = try #require(result["rev"]?.int)
                    made.withLock { $0.append(("b\(number)", rev, floor)) }
                }
            } catch {
                let log = TemporaryDaemon.contents(logPath).map { String(decoding: $0.suffix(2000), as: UTF8.self) }
                Issue.record("\(error) after \(made.withLock { $0.count }) backups: \(log ?? "")")
            }
        }
        #expect(writers.failed == [], "\(daemon.log.suffix(2000))")
        #expect(model.count > 4000 + 8 * Self.count)
        for backup in made.withLock({ $0 }) {
            #expect(backup.rev >= backup.floor)
            let target = daemon.root + "/restored-\(backup.name)"
            let outcome = try BackupRestore.restore(path(backup.name, daemon), into: target)
            #expect(Int(outcome.manifest.rev) == backup.rev)
            let (found, expected) = (try BackupModel.tables(target), model.state(at: backup.rev))
            if found != expected {
                let differing = Set(found.keys).union(expected.keys).filter { found[$0] != expected[$0] }
                let shown = differing.sorted().prefix(3).map {
                    "\($0): \(found[$0]?.prefix(40) ?? "-") instead of \(expected[$0]?.prefix(40) ?? "-")"
                }
                Issue.record("\(backup.name) at \(backup.rev), SEED=\(seed): \(differing.count) differ, \(shown)")
            }
            TemporaryDaemon.remove(target)
        }
        try compareAtRest(daemon, client)
    }

    private func path(_ name: String, _ daemon: TemporaryDaemon) -> String {
        daemon.data + "/backups/\(name).kurabackup"
    }

    /// With nobody writing, the restored tables are the daemon's own, to the last column.
    private func compareAtRest(_ daemon: TemporaryDaemon, _ client: Client) throws {
        try client.result("storage.backup", "{\"name\":\"rest\"}")
        try daemon.waitUntilFolded()
        let target = daemon.root + "/restored"
        try BackupRestore.restore(path("rest", daemon), into: target)
        let (found, expected) = (try BackupModel.everything(target), try BackupModel.everything(daemon.data))
        let (more, less) = (Set(found).subtracting(expected), Set(expected).subtracting(found))
        #expect(more.isEmpty && less.isEmpty, "\(more.sorted().prefix(3)) instead of \(less.sorted().prefix(3))")
        // Contents that nobody needs any more have waited for the backups' end, and go one by one.
        let deadline = now() + 60
        while AttachmentTree.contents(target) != AttachmentTree.contents(daemon.data), now() < deadline {
            usleep(20_000)
        }
        #expect(AttachmentTree.contents(target) == AttachmentTree.contents(daemon.data))
    }

    @Test func `a backup that is cut at any percent of its length is refused, and nothing is restored`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try fill(client, BackupModel())
        try client.result("storage.backup", "{\"name\":\"whole\"}")
        let bytes = try #require(TemporaryDaemon.contents(path("whole", daemon)))
        let (cut, target) = (daemon.root + "/cut", daemon.root + "/target")
        for percent in 0..<100 {
            let descriptor = open(cut, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
            let part = bytes[..<(bytes.count * percent / 100)]
            part.withBytes { try? FileSystem.write(descriptor, $0, at: 0, path: cut) }
            close(descriptor)
            #expect(throws: BackupFault.truncated, "\(percent) %") { try BackupRestore.restore(cut, into: target) }
            #expect(!FileSystem.exists(target))
        }
        #expect(TemporaryDaemon.names(daemon.root)?.filter { $0.hasPrefix("target") } == [])
        try BackupRestore.restore(path("whole", daemon), into: target)
    }
}

/// The contents of attachments in a data directory, by their names.
enum AttachmentTree {
    static func contents(_ data: String) -> [String] {
        let root = data + "/durable/attachments"
        return (TemporaryDaemon.names(root) ?? []).flatMap { directory in
            (TemporaryDaemon.names(root + "/" + directory) ?? []).map { directory + $0 }
        }.sorted()
    }
}
