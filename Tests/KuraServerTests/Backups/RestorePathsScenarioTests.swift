import Glibc
import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

/// `kurad restore`, bundles and temporary directories where somebody else lays links, exchanges directories, and puts FIFOs in the place of files.
@Suite struct RestorePathsScenarioTests: BackedUpSuite {
    let daemon: TemporaryDaemon
    let client: Client

    init() throws {
        signal(SIGPIPE, SIG_IGN)
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
        for id in 0..<50 { try put("notes", "\(id)", "{\"n\":\(id)}") }
        try backup("one")
        mkdir(victim, 0o700)
        mkdir(victim + "/inner", 0o700)
        for name in ["file", "inner/file"] { TemporaryDaemon.write("kept", to: victim + "/" + name) }
    }

    private var victim: String { daemon.root + "/victim" }

    private var victimIsWhole: Bool {
        TemporaryDaemon.names(victim) == ["file", "inner"] && TemporaryDaemon.names(victim + "/inner") == ["file"]
            && ["file", "inner/file"].allSatisfy {
                TemporaryDaemon.contents(victim + "/" + $0) == Array("kept".utf8)
            }
    }

    /// Runs kurad, which has to end soon.
    private func run(_ arguments: [String], sourceLocation: SourceLocation = #_sourceLocation) throws -> Int32 {
        let begun = now()
        let status = try daemon.run(arguments)
        #expect(now() - begun < 60, "\(arguments)", sourceLocation: sourceLocation)
        return status
    }

    /// Why the last restore was refused: one line.
    private func lastRefusal() throws -> String {
        try #require(daemon.log.split(separator: "\n").last { $0.hasPrefix("kurad restore: ") }.map(String.init))
    }

    // MARK: Links and directories

    /// As whoever owns the parent would lay them before root comes.
    private func layLinks(in parent: String) throws {
        mkdir(parent, 0o755)
        let load = String(decoding: try #require(TemporaryDaemon.contents("/proc/loadavg")), as: UTF8.self)
        let newest = try #require(load.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) })
        for number in max(1, newest - 100)..<newest + 6000 { symlink(victim, "\(parent)/data.restoring-\(number)") }
    }

    @Test func `links for every process that may come empty nothing, and the restore goes on beside them`() throws {
        let parent = daemon.root + "/parent"
        try layLinks(in: parent)
        let names = try #require(TemporaryDaemon.names(parent))
        #expect(try run(["restore", path("one"), "--data-dir", parent + "/data", "-q", "--unproved"]) == 0)
        #expect(victimIsWhole)
        #expect(TemporaryDaemon.names(parent)?.filter { $0 != "data" } == names)
        let other = try TemporaryDaemon(starts: false)
        rename(parent + "/data", other.data)
        try other.start()
        #expect(try other.connect().result("documents.count", "{\"collection\":\"notes\"}")["count"]?.int == 50)
    }

    @Test(.enabled(if: geteuid() == 0, "takes root, and a directory of another user's"))
    func `root restores into no directory of somebody else's, and is told the command that does`() throws {
        let parent = daemon.root + "/parent"
        try layLinks(in: parent)
        mkdir(parent + "/deep", 0o755)
        chown(parent, 1000, 1000)
        let names = TemporaryDaemon.names(parent)
        for name in ["data", "deep/data", "missing/data"] {
            #expect(try run(["restore", path("one"), "--data-dir", "\(parent)/\(name)", "--unproved"]) == 1)
            let line = try lastRefusal()
            #expect(line.contains("\(parent) belongs to user 1000"), "\(line)")
            #expect(line.contains("sudo -u '#1000' kurad restore"), "\(line)")
        }
        // No start either.
        #expect(try run(["--data-dir", parent + "/data", "--socket", daemon.root + "/other.sock"]) == 2)
        #expect(daemon.log.contains("sudo -u '#1000' kurad …"), "\(daemon.log)")
        #expect(victimIsWhole && TemporaryDaemon.names(parent) == names)
        #expect(TemporaryDaemon.names(parent + "/deep") == [])
        // Looking makes nothing.
        #expect(try run(["restore", path("one"), "--data-dir", parent + "/data", "--dry-run", "-q"]) == 0)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can mount"))
    func `a mount point keeps its place, and a directory in it is restored into`() throws {
        let mounted = daemon.root + "/mounted"
        mkdir(mounted, 0o700)
        guard mount("tmpfs", mounted, "tmpfs", 0, "size=16m,mode=0700") == 0 else { return }
        defer { umount2(mounted, Int32(MNT_DETACH)) }
        #expect(try run(["restore", path("one"), "--data-dir", mounted, "--unproved"]) == 1)
        let line = try lastRefusal()
        #expect(line.contains("is a mount point") && line.contains("--data-dir \(mounted)/kura"), "\(line)")
        #expect(TemporaryDaemon.names(mounted) == [])
        #expect(try run(["restore", path("one"), "--data-dir", mounted + "/kura", "-q", "--unproved"]) == 0)
        #expect(TemporaryDaemon.names(mounted) == ["kura"])
    }

    @Test func `a directory that is exchanged while it is written to costs the restore, and nothing else`() throws {
        let parent = daemon.root + "/parent"
        mkdir(parent, 0o755)
        let (file, target, victim) = (path("one"), parent + "/data", victim)
        let isDone = Guarded(false)
        let carried = Guarded(0)
        try onThreads(2) { index in
            guard index == 0 else {
                defer { isDone.withLock { $0 = true } }
                for _ in 0..<20 {
                    let restored = try? BackupRestore.restore(file, into: target)
                    guard FileTree.names(target)?.contains("inner") == true else {
                        FileTree.remove(target)
                        continue
                    }
                    // What was put into the directory's place, the link or the other directory, got its name, and the restore says so.
                    #expect(restored == nil)
                    if unlink(target) != 0 { rename(target, victim) }
                }
                return
            }
            while !isDone.withLock({ $0 }) {
                for name in FileTree.names(parent) ?? [] where name.hasPrefix("data.restoring-") {
                    let path = parent + "/" + name
                    var information = stat()
                    guard lstat(path, &information) == 0, information.st_mode & S_IFMT == S_IFDIR else { continue }
                    let number = carried.withLock { number in
                        number += 1
                        return number
                    }
                    // A link in its place, or a directory of other files.
                    guard rename(path, "\(parent)/carried-\(number)") == 0 else { continue }
                    if number % 2 == 0 { symlink(victim, path) } else { rename(victim, path) }
                    usleep(20_000)
                    if number % 2 == 0 { unlink(path) } else { rename(path, victim) }
                }
            }
        }
        #expect(carried.withLock { $0 } > 0)
        #expect(victimIsWhole, "\(TemporaryDaemon.names(victim) ?? [])")
        for name in try #require(TemporaryDaemon.names(parent)) {
            // What was carried away is its maker's, and was emptied there.
            #expect(name.hasPrefix("carried-") && TemporaryDaemon.names(parent + "/" + name) == [], "\(name)")
        }
        try BackupRestore.restore(file, into: target)
    }

    @Test func `an ephemeral daemon removes its own directory, and not what a link in its place leads to`() throws {
        let other = try TemporaryDaemon(starts: false)
        try other.launchEphemeral()
        let name = try #require(TemporaryDaemon.names(other.root)?.first { $0.hasPrefix("kura-") })
        let (path, aside) = ("\(other.root)/\(name)", other.root + "/aside")
        rename(path, aside)
        symlink(victim, path)
        _ = other.terminate()
        #expect(victimIsWhole)
        #expect(TemporaryDaemon.names(aside) == [], "\(TemporaryDaemon.names(aside) ?? [])")
    }

    @Test func `two backups of one name do not remove each other's drafts`() throws {
        let configuration = StorageConfiguration(dataDirectory: daemon.root + "/drafts", profile: .small)
        mkdir(configuration.dataDirectory, 0o700)
        let first = try BackupFile("one", configuration)
        let names = try #require(TemporaryDaemon.names(configuration.backupsDirectory))
        #expect(names.count == 1 && names.allSatisfy(BackupDirectory.isDraft))
        let second = try BackupFile("one", configuration)
        second.abandon()
        // What a kill has left goes with the next one, of whichever version.
        for name in ["one.kurabackup.part", "one.kurabackup.0.part", "other.kurabackup.0.part"] {
            TemporaryDaemon.write("", to: configuration.backupsDirectory + "/" + name)
        }
        try BackupFile("one", configuration).abandon()
        unlink(configuration.backupsDirectory + "/other.kurabackup.0.part")
        #expect(TemporaryDaemon.names(configuration.backupsDirectory) == names)
        first.abandon()
        #expect(TemporaryDaemon.names(configuration.backupsDirectory) == [])
        for name in ["a.kurabackup.part", "a.kurabundle.part", "a.kurabundle.1x.part"] {
            #expect(BackupDirectory.isDraft(name))
        }
        for name in ["a.kurabackup", "a.part", "a.b.part", "kurabackup.part"] {
            #expect(!BackupDirectory.isDraft(name), "\(name)")
        }
    }

    // MARK: What is no file

    /// Puts something in a place that a file belongs to; the socket's descriptor is closed by the end of the process.
    private func lay(_ kind: String, at path: String) throws {
        FileTree.remove(path)
        switch kind {
        case "fifo": mkfifo(path, 0o600)
        case "directory": mkdir(path, 0o700)
        case "device": symlink("/dev/zero", path)
        case "dangling": symlink("/nowhere", path)
        default:
            let status = try ShellCommand.run(with: "") { _ in
                "cd $(dirname \(path)) && python3 -c 'import socket,sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' $(basename \(path))"
            }.status
            #expect(status == 0)
        }
    }

    @Test(arguments: ["fifo", "socket", "directory", "device", "dangling"])
    func `what is no regular file is refused at once as a backup and as a bundle`(kind: String) throws {
        let (file, target) = (daemon.root + "/file", daemon.root + "/target")
        try lay(kind, at: file)
        for more in [["--dry-run"], [], ["--at", "newest", "--log", daemon.data + "/log"]] {
            #expect(try run(["restore", file, "--data-dir", target, "--unproved"] + more) == 1)
            let line = try lastRefusal()
            #expect(line.contains(kind == "dangling" ? "cannot be read" : "it is no regular file"), "\(line)")
        }
        #expect(access(target, F_OK) != 0)
        // A name of the user's own may be a link.
        unlink(file)
        FileTree.remove(file)
        symlink(path("one"), file)
        #expect(try run(["restore", file, "--data-dir", target, "-q", "--unproved"]) == 0)

        let other = try TemporaryDaemon(starts: false)
        let bundle = other.root + "/bundle"
        try lay(kind, at: bundle)
        try other.launch(more: ["--seed-bundle", bundle])
        #expect((other.wait() ?? 0) != 0)
        other.kill()
        #expect(access(other.data + "/durable/kura.sqlite", F_OK) != 0)
    }

    @Test(arguments: ["fifo", "directory"]) func `what is no regular file among the keys is named`(kind: String) throws
    {
        let (keys, target) = (daemon.root + "/keys", daemon.root + "/target")
        mkdir(keys, 0o700)
        try secret("ada", "first")
        try FileSystem.copy(daemon.data + "/keys/root.key", to: keys + "/root.key")
        try lay(kind, at: keys + "/slots.json")
        #expect(try run(["restore", path("one"), "--data-dir", target, "--keys", keys]) == 1)
        let line = try lastRefusal()
        #expect(line.hasSuffix("\(keys): \(keys)/slots.json is no regular file"), "\(line)")
    }

    @Test func `a link among the backups is none: it is not listed, verified or compared`() throws {
        let other = daemon.root + "/other"
        try FileSystem.copy(path("one"), to: other)
        symlink(other, path("link"))
        let listed = try client.result("backups.list")["backups"]?.elements.compactMap { $0["name"]?.text }
        #expect(listed?.contains("one") == true && listed?.contains("link") == false, "\(listed ?? [])")
        for method in ["backups.verify", "backups.compare"] {
            let kind = try client.refusal(method, "{\"name\":\"link\"}")["kind"]?.text
            #expect(kind == "transferFailed", "\(method)")
        }
    }

    /// Blocks of 512 bytes that a file has on the disk.
    private func blocks(_ path: String) -> Int {
        var information = stat()
        return stat(path, &information) == 0 ? Int(information.st_blocks) : 0
    }

    @Test func `what is larger than any segment of a log is refused, and what is none is not copied`() throws {
        for id in 0..<20 { try put("notes", "\(id)", "2") }
        let (log, target) = (daemon.root + "/log", daemon.root + "/target")
        mkdir(log, 0o700)
        for name in TemporaryDaemon.names(daemon.data + "/log") ?? [] where LogFiles.number(ofFile: name) != nil {
            try FileSystem.copy(daemon.data + "/log/" + name, to: log + "/" + name)
        }
        let segment = log + "/000099.log"
        close(creat(segment, 0o600))
        let words = ["restore", path("one"), "--data-dir", target, "--at", "newest", "--log", log, "--unproved"]
        try FileSystem.truncate(segment, to: 1 << 40)
        #expect(try run(words) == 1)
        let line = try lastRefusal()
        #expect(line.contains("\(segment) has \(1 << 40) bytes, and no segment"), "\(line)")
        #expect(access(target, F_OK) != 0)
        // A hole that is no segment hides nothing.
        try FileSystem.truncate(segment, to: 3 << 30)
        #expect(try run(words + ["-q"]) == 0)
    }

    @Test func `holes stay holes in a copy`() throws {
        let (from, copy) = (daemon.root + "/from", daemon.root + "/copy")
        let descriptor = open(from, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        for place in [0, 1 << 30] {
            try [UInt8](repeating: 7, count: 10_000).withBytes {
                try FileSystem.write(descriptor, $0, at: place, path: from)
            }
        }
        try FileSystem.truncate(from, to: 2 << 30)
        close(descriptor)
        try FileSystem.copy(from, to: copy)
        #expect(FileSystem.size(copy) == 2 << 30 && blocks(copy) < 1 << 10)
        try FileSystem.copy(from, to: copy, endsWithData: true)
        #expect(FileSystem.size(copy) < 1 << 30 + 1 << 20 && blocks(copy) < 1 << 10)
        var buffer = ByteBuffer()
        let read = open(copy, O_RDONLY | O_CLOEXEC)
        defer { close(read) }
        for (place, byte) in [(9_999, 7), (10_000, 0), (1 << 30 - 1, 0), (1 << 30, 7), (1 << 30 + 9_999, 7)] {
            buffer.removeAll()
            _ = try FileSystem.read(read, atMost: 1, at: place, into: &buffer, path: copy)
            #expect(buffer.bytes.first == UInt8(byte), "\(place)")
        }
    }

    @Test(arguments: ["fifo", "socket", "directory", "device", "dangling"])
    func `what is no regular file in the place of any segment of a log is refused at once`(kind: String) throws {
        for id in 0..<20 { try put("notes", "\(id)", "2") }
        let (log, target) = (daemon.root + "/log", daemon.root + "/target")
        let segments = (TemporaryDaemon.names(daemon.data + "/log") ?? []).filter { LogFiles.number(ofFile: $0) != nil }
        #expect(!segments.isEmpty)
        for segment in segments + ["000009.log", "000009.sqlite", "000009.sqlite-wal"] {
            FileTree.remove(log)
            mkdir(log, 0o700)
            for name in segments { try FileSystem.copy(daemon.data + "/log/" + name, to: log + "/" + name) }
            // A WAL of an earlier layout is looked at beside its database.
            if segment.hasSuffix("-wal") { close(creat(log + "/000009.sqlite", 0o600)) }
            try lay(kind, at: log + "/" + segment)
            let words = ["restore", path("one"), "--data-dir", target, "--at", "newest", "--log", log, "--unproved"]
            #expect(try run(words) == 1, "\(segment)")
            let line = try lastRefusal()
            #expect(line.contains("\(log)/\(segment) is no regular file"), "\(line)")
            #expect(access(target, F_OK) != 0)
            // Also where it comes to be there after the look.
            do throws(StorageFault) {
                try FileSystem.copy(log + "/" + segment, to: daemon.root + "/copy")
                Issue.record("\(kind) was copied")
            } catch {}
        }
        #expect(TemporaryDaemon.names(daemon.root)?.contains { $0.hasPrefix("target") } == false)
    }
}
