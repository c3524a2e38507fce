import Glibc
import Testing

/// Whatever lies in the place of one of the daemon's own files: it starts, or it refuses with the command that helps, and what was found
/// there is still there. The table is the one of proto-docs/storage.md.
@Suite struct PlacesScenarioTests {
    enum Outcome { case setAside, refused }

    struct Row: CustomTestStringConvertible, Sendable {
        var place: String
        var isDirectory: Bool
        /// What becomes of another kind of file, and of another owner.
        var outcome: Outcome
        var defect: Defect
        var testDescription: String { "\(place) \(defect)" }
    }

    enum Defect: Sendable, CustomStringConvertible {
        case file, directory, link, dangling, fifo, socket, owner
        case mode(mode_t)

        var description: String {
            switch self {
            case .file: "is a file"
            case .directory: "is a directory"
            case .link: "is a link"
            case .dangling: "is a dangling link"
            case .fifo: "is a FIFO"
            case .socket: "is a socket"
            case .owner: "is another user's"
            case .mode(let mode): "has mode \(String(mode, radix: 8))"
            }
        }
        var isMode: Bool { if case .mode = self { true } else { false } }
    }

    /// `log/1`: the first segment.
    private static let places: [(String, isDirectory: Bool, Outcome)] = [
        ("log", true, .refused), ("log/1", false, .refused), ("log/spare", false, .setAside),
        ("durable", true, .refused), ("durable/kura.sqlite", false, .refused),
        ("durable/kura.sqlite-wal", false, .refused), ("durable/kura.sqlite-shm", false, .setAside),
        ("durable/attachments", true, .refused), ("durable/layout", false, .setAside),
        ("durable/layout.new", false, .setAside),
        ("keys", true, .refused), ("keys/slots.json", false, .refused), ("keys/root.key", false, .refused),
        ("keys/slots.json.new", false, .setAside),
        ("cache", true, .setAside), ("cache/blobs", true, .setAside), ("cache/cache.sqlite", false, .setAside),
        ("cache/cache.sqlite-wal", false, .setAside), ("cache/clean", false, .setAside),
        ("tmp", true, .setAside), ("backups", true, .setAside), ("quarantine", true, .setAside),
        ("lock", false, .setAside), ("boot.json", false, .setAside), ("boot.json.new", false, .setAside),
        ("recovered.json", false, .setAside), ("clean", false, .setAside), ("ballast", false, .setAside),
        ("audit", false, .setAside), ("writes", false, .setAside), ("seed.json", false, .setAside),
        ("trap", false, .setAside),
    ]

    static let rows: [Row] = places.flatMap { place, isDirectory, outcome in
        let kinds: [Defect] = [isDirectory ? .file : .directory, .link, .dangling, .fifo, .socket]
        let defects = kinds + (getuid() == 0 ? [.owner] : []) + [.mode(0), .mode(0o777), .mode(0o400)]
        return defects.map { Row(place: place, isDirectory: isDirectory, outcome: outcome, defect: $0) }
    }

    /// A data directory with something in each store, as a kill leaves it.
    // Safety: made once, and only read afterwards.
    private nonisolated(unsafe) static let template = try? makeTemplate()

    private static func makeTemplate() throws -> TemporaryDaemon {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"x\",\"value\":2}")
        try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"three\"}")
        try client.result("models.put", "{\"namespace\":\"m\",\"key\":\"k\",\"value\":4}")
        try client.result("storage.backup", "{\"name\":\"made\"}")
        daemon.kill()
        return daemon
    }

    private func expectData(_ daemon: TemporaryDaemon) throws {
        let client = try daemon.connect()
        #expect(try client.result("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")["value"]?.int == 1)
        #expect(try client.result("documents.get", "{\"collection\":\"c\",\"id\":\"x\"}")["value"]?.int == 2)
        let secret = try client.result("secrets.get", "{\"service\":\"s\",\"account\":\"a\"}")
        #expect(secret["secret"]?.text == "three")
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"new\",\"value\":5}")
        try client.result("models.put", "{\"namespace\":\"m\",\"key\":\"new\",\"value\":6}")
        #expect(try client.result("storage.quarantine")["items"] != nil)
    }

    private func shell(_ command: String) -> Int32 { (try? Outsider.run(command).status) ?? -1 }

    private func information(_ path: String) -> stat? {
        var information = stat()
        return lstat(path, &information) == 0 ? information : nil
    }

    /// Puts the defect into its place; what was there goes to `kept`, where there was anything.
    private func damage(_ row: Row, _ path: String, kept: String) throws {
        if information(path) == nil {
            if row.isDirectory { #expect(mkdir(path, 0o700) == 0) } else { close(creat(path, 0o600)) }
        }
        switch row.defect {
        case .mode(let mode): #expect(chmod(path, mode) == 0)
        case .owner: #expect(lchown(path, 2001, 2001) == 0)
        default:
            #expect(rename(path, kept) == 0)
            switch row.defect {
            case .file: TemporaryDaemon.write("theirs", to: path)
            case .directory:
                #expect(mkdir(path, 0o700) == 0)
                TemporaryDaemon.write("theirs", to: path + "/theirs")
            case .link: #expect(symlink(kept, path) == 0)
            case .dangling: #expect(symlink(kept + "-nowhere", path) == 0)
            case .fifo: #expect(mkfifo(path, 0o600) == 0)
            case .socket:
                #expect(
                    shell("python3 -c 'import socket,sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' \(path)")
                        == 0)
            case .owner, .mode: break
            }
        }
    }

    /// What the last line of the log says to do.
    private func command(_ daemon: TemporaryDaemon) throws -> String {
        let commands = [": chown -R ", ": rm ", ": mv "]
        let line = try #require(
            daemon.log.split(separator: "\n").last { line in commands.contains { line.contains($0) } })
        let starts = commands.compactMap { line.firstRange(of: $0)?.lowerBound }
        let rest = line[try #require(starts.first)...].dropFirst(2)
        return String(rest.prefix { $0 != "," && $0 != ";" && $0 != "\"" })
    }

    @Test(arguments: rows)
    func `whatever lies in one of our places, the daemon starts or names the command that helps`(row: Row) throws {
        let template = try #require(Self.template)
        let daemon = try TemporaryDaemon(starts: false)
        #expect(shell("cp -a \(template.data) \(daemon.data)") == 0)
        var place = row.place
        if place == "log/1" {
            let names = try #require(TemporaryDaemon.names(daemon.data + "/log"))
            place = "log/" + (try #require(names.first { $0.first?.isNumber == true && !$0.contains("-") }))
        }
        let (path, kept) = (daemon.data + "/" + place, daemon.root + "/kept")
        try damage(row, path, kept: kept)
        let inode = try #require(information(path)).st_ino
        let before = TemporaryDaemon.tree(kept)

        if row.outcome == .refused, !row.defect.isMode {
            let tree = TemporaryDaemon.tree(daemon.data)
            #expect(try daemon.run(["--data-dir", daemon.data, "--socket", daemon.socket]) == 2)
            #expect(daemon.log.contains(path), "\(daemon.log)")
            #expect(TemporaryDaemon.tree(daemon.data).keys == tree.keys, "nothing was changed")
            #expect(try daemon.run(["doctor", "--data-dir", daemon.data]) == 9)
            #expect(daemon.log.contains("error: places: "), "\(daemon.log)")
            let command = try command(daemon)
            #expect(shell(command) == 0, "\(command)")
            if information(kept) != nil { #expect(rename(kept, path) == 0) }
            try daemon.start()
            return try expectData(daemon)
        }
        // Modes are nothing to root, so that another user has to meet them.
        let isOther = row.defect.isMode && Self.canBeAnother
        if isOther { #expect(shell("chown -R 2001:2001 \(daemon.root)") == 0) }
        try daemon.start(through: isOther ? Self.another : [])
        #expect(daemon.log.contains(path), "\(daemon.log)")
        try expectData(daemon)
        if row.defect.isMode {
            let mode = information(path).map { $0.st_mode & 0o777 }
            // What is made anew at each start has its own.
            if row.place != "clean", row.place != "cache/clean", row.place != "log/spare" {
                #expect(mode == nil || mode == (row.isDirectory ? 0o700 : 0o600))
            }
            return
        }
        // It is there still, as it was.
        let inodes = ["", "/quarantine", "/cache", "/durable", "/log", "/keys"].flatMap { directory in
            (TemporaryDaemon.names(daemon.data + directory) ?? []).compactMap {
                information(daemon.data + directory + "/" + $0)?.st_ino
            }
        }
        #expect(inodes.contains(inode), "\(daemon.log)")
        #expect(TemporaryDaemon.tree(kept) == before, "nothing was written through the link")
    }

    @Test func `the command that helps is safe to paste, wherever a link leads`() throws {
        let template = try #require(Self.template)
        let daemon = try TemporaryDaemon(starts: false)
        #expect(shell("cp -a \(template.data) \(daemon.data)") == 0)
        let target = daemon.root + "/t\u{1B}[8m';touch pasted;'\u{1B}]0;y\u{07}"
        #expect(rename(daemon.data + "/keys", target) == 0 && symlink(target, daemon.data + "/keys") == 0)
        #expect(try daemon.run(["--data-dir", daemon.data, "--socket", daemon.socket]) == 2)
        #expect(!daemon.log.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" })
        let told = daemon.log.split(separator: "\n").last { $0.contains("which is not followed: rm ") }
        let line = try JSON(String(try #require(told)))
        let reason = try #require(line["reason"]?.text)
        let start = try #require(reason.firstRange(of: "not followed: ")?.upperBound)
        TemporaryDaemon.write(String(reason[start...]), to: daemon.root + "/command")
        #expect(shell("cd \(daemon.root) && bash command") == 0, "\(reason)")
        #expect(information(daemon.root + "/pasted") == nil)
        try daemon.start()
        try expectData(daemon)
    }

    private static let canBeAnother = getuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0
    private static let another = ["/usr/bin/setpriv", "--reuid=2001", "--regid=2001", "--clear-groups"]

    @Test(.enabled(if: canBeAnother, "only root can make what is another user's"))
    func `another user's directories are set aside without being entered, by whoever cannot enter them`() throws {
        let template = try #require(Self.template)
        let daemon = try TemporaryDaemon(starts: false)
        #expect(shell("cp -a \(template.data) \(daemon.data) && chown -R 2001:2001 \(daemon.root)") == 0)
        for name in ["cache", "tmp/theirs"] {
            let path = daemon.data + "/" + name
            #expect(shell("mkdir -p \(path) && touch \(path)/theirs && chown -R 0:0 \(path) && chmod 700 \(path)") == 0)
        }
        try daemon.start(through: Self.another)
        try expectData(daemon)
        // A directory of another's cannot be given another parent.
        let aside = (TemporaryDaemon.names(daemon.data) ?? []).first { $0.hasPrefix("cache.aside-") }
        #expect(TemporaryDaemon.contents(daemon.data + "/\(aside ?? "")/theirs") == [])
        #expect(daemon.log.contains("tmp/theirs"), "\(daemon.log)")
    }

    @Test func `a daemon keeps others out when its lock was removed under it`() throws {
        let daemon = try TemporaryDaemon()
        #expect(unlink(daemon.data + "/lock") == 0)
        #expect(try daemon.run(["--data-dir", daemon.data, "--socket", daemon.root + "/other.sock"]) == 1)
        #expect(daemon.log.contains("in use by"), "\(daemon.log)")
        try daemon.connect().result("storage.ping")
    }
}
