import CSyscalls
import Glibc
import KuraBytes
public import KuraStorage
import SQLite

// Safety: Swift lends paths as C strings for a call, and the kernel fills a `statvfs` that is ours.

/// A look at a data directory and the host it is on, without changing anything: a daemon may run meanwhile, or not.
public struct DirectoryExamination {
    let configuration: StorageConfiguration
    private let minFreeBytes: Int?
    /// Seconds between two snapshots, where they are made by themselves.
    private let backupsEvery: Int?
    /// Seconds since 1970.
    private let now: Int64
    private var findings: [Finding] = []

    private init(_ configuration: StorageConfiguration, now: Int64, backupsEvery: Int?) {
        self.backupsEvery = backupsEvery
        self.configuration = configuration
        minFreeBytes = configuration.caches.minFreeBytes
        self.now = now
    }

    /// What was found, in the order in which it was looked at.
    /// `now`: seconds since 1970, as the host's clock says.
    /// `backupsEvery`: seconds, when the configuration has snapshots made.
    public static func run(
        _ configuration: StorageConfiguration, now: Int64? = nil, backupsEvery: Int? = nil
    ) -> [Finding] {
        var examination = Self(
            configuration, now: now ?? configuration.clock.wall / 1000, backupsEvery: backupsEvery)
        let isThere = examination.lookAtDirectory()
        if isThere {
            examination.lookAtPlaces()
            examination.lookAtModes()
            examination.lookAtFormats()
            examination.lookAtKeys()
            examination.lookAtTables()
            examination.lookAtLog()
            examination.lookAtStarts()
        }
        examination.lookAtDisk()
        examination.lookAtClock(isThere)
        examination.findings += lookAtSQLite(SQLiteLibrary.number)
        if isThere { examination.lookAtBackups() }
        return examination.findings
    }

    mutating func add(_ severity: Finding.Severity, _ check: String, _ message: String, advice: String = "") {
        findings.append(Finding(severity, check, message, advice: advice))
    }

    static let starts = "kurad does not start while this is so"

    // MARK: Directory and modes

    /// - Returns: whether there is one whose contents this user can look at.
    private mutating func lookAtDirectory() -> Bool {
        let path = configuration.dataDirectory
        guard let (mode, owner) = Self.mode(path) else {
            let code = errno
            if code == ENOENT {
                add(
                    .note, "directory", "\(path) is not there",
                    advice: "the first start of kurad makes it; or name another with --data-dir")
            } else {
                add(
                    .warning, "directory", "\(path) cannot be looked at: \(Errno.text(code))",
                    advice: "run this as the daemon's user")
            }
            return false
        }
        guard owner == geteuid() || geteuid() == 0 else {
            add(
                .note, "directory",
                "\(path) belongs to user \(owner), this is user \(geteuid()): what is inside was not looked at",
                advice: "run this as the daemon's user")
            return false
        }
        do throws(StorageFault) {
            try DataDirectory.check(path, anyOwner: geteuid() == 0)
        } catch {
            add(.error, "directory", "\(error)", advice: Self.starts)
            return mode & UInt32(S_IFMT) == UInt32(S_IFDIR)
        }
        if let found = try? PathWalk.stranger(along: PathWalk.parent(of: path), for: owner) {
            add(
                owner == 0 ? .error : .warning, "directory",
                "\(found.words), so that others could put another directory in the place of \(path)",
                advice: owner == 0
                    ? "\(found.refusal("kurad …")); \(Self.starts)"
                    : "move it below directories of root's or of its user's own")
        }
        if let memory = Self.memoryFileSystems[unsafe csys_file_system_type(path)] {
            add(
                .note, "directory", "\(path) is on \(memory): a restart of the host takes everything",
                advice: "put it on a disk, unless nothing in it has to last")
        } else {
            add(.ok, "directory", "\(path): mode \(Self.octal(mode)), user \(owner), a local file system")
        }
        return true
    }

    /// Source: statfs(2), linux/magic.h.
    private static let memoryFileSystems: [Int: String] = [0x0102_1994: "tmpfs", 0x8584_58F6: "ramfs"]

    static func mode(_ path: String) -> (mode: UInt32, owner: UInt32)? {
        var mode: UInt32 = 0
        var owner: UInt32 = 0
        return unsafe csys_mode(path, &mode, &owner, 0) == 0 ? (mode, owner) : nil
    }

    static func octal(_ mode: UInt32) -> String {
        let digits = String(mode & 0o7777, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    /// Which formats there are, and whether this version reads them.
    private mutating func lookAtFormats() {
        let found = Formats.look(configuration)
        let newer = found.filter(\.isNewer)
        let older = found.filter(\.isOlder)
        if let first = newer.first {
            add(
                .error, "formats", "\(first.line)" + Self.more(newer.count - 1),
                advice: "a newer version has written it, and \(Self.starts): \(Formats.advice)")
        } else if let first = older.first {
            add(
                .note, "formats", "\(first.line)" + Self.more(older.count - 1),
                advice:
                    "the next start brings it to that: make a backup before, if an older version may have to read it again"
            )
        } else if !found.isEmpty {
            let names = found.map { "\($0.file) \($0.kind) \($0.version)" }.joined(separator: ", ")
            add(.ok, "formats", names)
        }
    }

    static func more(_ count: Int) -> String { count > 0 ? ", and \(count) more" : "" }

    // MARK: Starts

    private mutating func lookAtStarts() {
        if let trap = TrapFile(configuration).read()?.note {
            add(
                .warning, "trap", "a run ended in a trap on \(Quarantine.name(at: trap.at)): \(trap.line)",
                advice: trap.advice)
        }
        if let record = BootFile(configuration).read() {
            let failures = record.durableFailures + record.cacheFailures + record.traps.count
            if failures > 0 {
                // The last one has not come to serve.
                add(
                    record.durableFailures > 0 ? .error : .warning, "starts",
                    "\(failures) failed starts, the last in phase \(record.failure.phase.isEmpty ? record.phase.rawValue : record.failure.phase): \(record.failure.reason)",
                    advice: "look at the daemon's log; after two the next start sets tables and log aside")
            } else if record.phase.isDurable, record.attempts > 1 {
                add(
                    .warning, "starts",
                    "\(record.attempts) starts have not come to serve, and the last came to phase \(record.phase.rawValue)",
                    advice:
                        "kills count as nothing, and nothing is set aside for them: look at who ends it, for want of time or of memory"
                )
            } else {
                add(.ok, "starts", "the last start came to phase \(record.phase.rawValue)")
            }
            lookAtDamage(record)
        }
        do throws(StorageFault) {
            let file = RecoveredFile(configuration)
            if file.hasSetAside {
                add(
                    .recovered, "recovery",
                    "recovered.json was damaged, and what it said of earlier recoveries is lost",
                    advice: "look at what lies in quarantine/ and at the daemon's log, then 'kura storage acknowledge'")
            }
            for notice in try file.read() {
                add(.recovered, "recovery", notice.line, advice: notice.advice)
            }
        } catch { add(.warning, "recovery", "\(error)") }
        let aside = (try? Quarantine.entries(configuration)) ?? []
        if !aside.isEmpty {
            add(
                .note, "quarantine", "\(aside.count) in quarantine/, \(aside.reduce(0) { $0 + $1.bytes }) bytes",
                advice: "the daemon never removes it; 'kura storage quarantine' lists it")
        }
    }

    // MARK: Disk, clock, SQLite, backups

    private mutating func lookAtDisk() {
        // Where it will be, while it is not there.
        var path = configuration.dataDirectory
        while !FileSystem.exists(path), path.count > 1, let slash = path.lastIndex(of: "/") {
            path = slash == path.startIndex ? "/" : String(path[..<slash])
        }
        var information = statvfs()
        guard unsafe statvfs(path, &information) == 0, information.f_frsize > 0 else {
            add(.warning, "disk", "how much room there is cannot be learnt: \(Errno.text(errno))")
            return
        }
        let unit = Int(information.f_frsize)
        let (free, total) = (Int(information.f_bavail) * unit, Int(information.f_blocks) * unit)
        let threshold = minFreeBytes ?? min(FreeSpace.usualBytes, total / FreeSpace.usualPart)
        let told = "\(free >> 20) MiB free of \(total >> 20) MiB"
        if information.f_flag & UInt(ST_RDONLY) != 0 {
            add(
                .error, "disk", "the file system is mounted read-only",
                advice: "look at the kernel's log: a disk that fails is mounted so")
        } else if free < 2 * configuration.log.segmentBytes {
            addFull("\(told): changes are refused, or soon will be")
        } else if free < threshold {
            add(
                .warning, "disk", "\(told): caches store nothing below \(threshold >> 20) MiB",
                advice: "make room, or set --min-free")
        } else {
            add(.ok, "disk", told)
        }
        if information.f_files > 0, information.f_favail < 1000 {
            add(
                .error, "disk", "\(information.f_favail) inodes are free of \(information.f_files)",
                advice: "remove files: none can be made soon, whatever room there is")
        }
    }

    /// What takes the room, and what helps once a daemon runs.
    private mutating func addFull(_ told: String) {
        let parts = RoomUsage.measure(configuration).parts
        guard !parts.isEmpty else { return add(.error, "disk", told, advice: "make room") }
        let all = parts.reduce(0) { $0 + $1.bytes }
        let help = parts.filter { $0.bytes >= all / 20 }.prefix(3).map { "\($0.name): \($0.help)" }.joined(
            separator: "; ")
        add(
            .error, "disk",
            "\(told). It has: " + parts.map { "\($0.name) \($0.bytes >> 10) KiB" }.joined(separator: ", "),
            advice: "a daemon starts all the same and takes deletions. \(help); or a larger file system")
    }

    private mutating func lookAtClock(_ isThere: Bool) {
        guard now >= Self.earliest else {
            add(
                .error, "clock", "the host's clock stands before 2025",
                advice: "set it: times to live are counted from it")
            return
        }
        // What the daemon wrote last, by that clock as it was then.
        let last =
            isThere
            ? [configuration.bootPath, configuration.tablesPath + "-wal", configuration.dataDirectory + "/lock"]
                .map { FileSystem.modified($0) / 1000 }.max() ?? 0 : 0
        if last > now + 60 {
            add(
                .warning, "clock", "files were written \(last - now) seconds from now: the clock has been put back",
                advice: "set the clock; what has a time to live lasts longer by as much")
            return
        }
        if csys_clock_is_synchronised() == 0 {
            add(
                .note, "clock", "the kernel does not say that the clock is synchronised",
                advice: "run chrony or systemd-timesyncd; in a container the host does")
        } else {
            add(.ok, "clock", "nothing was written in the future")
        }
    }

    /// 2025-01-01: no version is older.
    private static let earliest: Int64 = 1_735_689_600

    static func lookAtSQLite(_ number: Int) -> [Finding] {
        let version = "\(number / 1_000_000).\(number / 1000 % 1000).\(number % 1000)"
        var findings: [Finding] = []
        if number < SQLiteLibrary.least {
            findings.append(
                Finding(
                    .error, "sqlite", "SQLite \(version) is older than 3.40.0", advice: "install a newer libsqlite3"))
        }
        if number < SQLiteLibrary.numberMadeWith {
            findings.append(
                Finding(
                    .warning, "sqlite", "SQLite \(version) is older than what kurad was made with",
                    advice: "install the libsqlite3 that it was made with, or a newer one"))
        }
        if !SQLiteLibrary.isThreadSafe {
            findings.append(
                Finding(
                    .error, "sqlite", "SQLite was made without threads",
                    advice: "install one made with SQLITE_THREADSAFE=1"))
        }
        for fault in SQLiteLibrary.faults(of: number) {
            findings.append(
                Finding(.note, "sqlite", "SQLite \(version), \(fault.name): \(fault.what)", advice: fault.here))
        }
        if findings.isEmpty {
            findings.append(Finding(.ok, "sqlite", "SQLite \(version), no known fault that concerns it"))
        }
        return findings
    }

    private mutating func lookAtBackups() {
        guard FileSystem.exists(configuration.tablesPath) else { return }
        let backups = (try? BackupDirectory.list(configuration)) ?? []
        guard let newest = backups.map(\.createdAt).max() else {
            add(
                backupsEvery == nil ? .note : .warning, "backups", "there is no backup in backups/",
                advice:
                    "'kura backup FILE' writes one elsewhere; backups.every of the configuration makes them by itself")
            return
        }
        let seconds = max(0, now - newest / 1000)
        let isLate = seconds > backupsEvery.map { 2 * Int64($0) } ?? 30 * 86_400
        let age = seconds < 2 * 86_400 ? "\(seconds / 60) minutes" : "\(seconds / 86_400) days"
        add(
            isLate ? .warning : .ok, "backups", "\(backups.count) in backups/, the newest \(age) old",
            advice: isLate
                ? backupsEvery == nil
                    ? "make one, or have them made: backups.every of the configuration"
                    : "backups.every of the configuration asks for more: the daemon's log says why none was made" : "")
    }
}
