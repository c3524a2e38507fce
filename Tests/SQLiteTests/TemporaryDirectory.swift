import Glibc
import SQLite
import Testing

// What the test targets share is known in all files of this one.
@_exported public import KuraTestSupport

/// All suites, one test at a time. Tests that count or arm faults do so in a scope of their own: other modules' tests run beside them.
@Suite(.serialized) enum SQLiteModule {}

extension TemporaryDirectory {
    /// With the roles' directories in it.
    convenience init() { self.init(prefix: "sqlite-tests", folders: ["log", "durable", "cache", "copy"]) }

    var log: String { "\(path)/log/1.sqlite" }
    var durable: String { "\(path)/durable/kura.sqlite" }

    /// Copies database and WAL as a crash of the process would leave them, and opens the copy.
    func crashed(_ database: String) throws -> Connection {
        let copy = "\(path)/copy/crashed.sqlite"
        for end in ["", "-wal", "-shm"] {
            unlink(copy + end)
            if end != "-shm", let bytes = contents(database + end) { write(bytes, to: copy + end) }
        }
        return try Connection(path: copy, mode: .readWrite)
    }
}

func contents(_ path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: size(path))
    let count = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
    // Closing drops the locks that this process has on the file: no other process is there to notice.
    close(descriptor)
    return count == bytes.count ? bytes : nil
}

func write(_ bytes: [UInt8], to path: String) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    precondition(descriptor >= 0, "open: \(errno)")
    let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    precondition(count == bytes.count, "write: \(errno)")
    close(descriptor)
}

func size(_ path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : -1
}

extension Connection {
    /// As the log keeps its segments: exclusive, WAL, never checkpointed by itself.
    static func segment(_ path: String, synchronous: String = "NORMAL") throws -> Connection {
        let connection = try Connection(path: path, mode: .readWriteCreate)
        try connection.configure(synchronous: synchronous, isExclusive: true)
        return connection
    }

    /// As the fold thread keeps its database: WAL, with readers.
    static func writer(_ path: String) throws -> Connection {
        let connection = try Connection(path: path, mode: .readWriteCreate)
        try connection.configure(synchronous: "NORMAL", isExclusive: false)
        return connection
    }

    func configure(synchronous: String, isExclusive: Bool) throws {
        if isExclusive { try execute("PRAGMA locking_mode=EXCLUSIVE") }
        try execute("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; PRAGMA synchronous=\(synchronous)")
        try setPersistWAL(true)
        try setCheckpointOnClose(false)
    }

    /// `integrity_check` finds nothing.
    var isIntact: Bool {
        get throws {
            let statement = try prepare("PRAGMA integrity_check")
            guard try statement.step() else { return false }
            return statement.text(0) == "ok"
        }
    }
}
