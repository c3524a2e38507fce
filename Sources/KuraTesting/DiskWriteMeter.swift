import Glibc
public import KuraClient

/// Measures what an operation has a daemon write to its disk, for tests of applications.
///
///     let meter = try DiskWriteMeter(socket: path)
///     let baseline = DiskWriteBaseline(file: "Tests/disk-writes.json")
///     let written = try meter.measure { try model.save(thousandNotes) }
///     try baseline.check("saving 1,000 notes", written)
///
/// The daemon is to be one for the test alone (`Kura.inMemory()`, `kurad --ephemeral --socket …`): it counts what everybody has written. Reads `storage.status`, as a role
/// with `admin` on the store `storage`. Belongs to one thread at a time.
public final class DiskWriteMeter {
    private var client: Client
    private let seconds: Int

    /// - Parameters:
    ///   - path: the daemon's socket.
    ///   - seconds: how long to wait until what was asked for is written, before and after an operation.
    /// - Throws: `noDaemon`, `notAllowed`, `badPath`.
    public init(socket path: String, seconds: Int = 60) throws(ClientError) {
        client = try Client.connect(to: path, timeoutMilliseconds: 60_000)
        self.seconds = seconds
    }

    /// Runs an operation and waits until everything that it asked for is written: changes folded into the tables, caches' entries in their files.
    /// - Returns: what was written meanwhile. Checkpoints and room for the log, which come by size and time, are not in it.
    /// - Throws: what the operation throws; `DiskWriteFault` when the daemon does not tell or does not come to rest.
    public func measure(_ operation: () throws -> Void) throws -> DiskWrites {
        let before = try settled()
        try operation()
        return try settled() - before
    }

    /// The same for an operation that waits.
    public func measure(
        isolation: isolated (any Actor)? = #isolation, _ operation: () async throws -> Void
    ) async throws -> DiskWrites {
        let before = try settled()
        try await operation()
        return try settled() - before
    }

    /// What has been written since the daemon's start, once there is nothing left to write.
    private func settled() throws -> DiskWrites {
        for _ in 0..<max(1, seconds * 100) {
            let status = try status()
            guard let rev = status.integer("rev"), let disk = status.object("disk"),
                let written = DiskWrites(disk), let unwritten = disk.integer("unwritten")
            else {
                throw DiskWriteFault("the daemon does not tell what it has written: the role needs admin on storage")
            }
            let isFolded =
                status.integer("foldedRev") == rev && status.object("overlay")?.integer("items") == 0
            if isFolded, unwritten == 0 { return written }
            usleep(10_000)
        }
        throw DiskWriteFault("the daemon has not come to rest within \(seconds) s")
    }

    private func status() throws -> JSONObject {
        switch try client.call("storage.status") {
        case .result(let text):
            guard let status = JSONObject(text) else { throw DiskWriteFault("storage.status is no object") }
            return status
        case .error(let refusal): throw DiskWriteFault("storage.status was refused: \(refusal.message)")
        }
    }
}

/// Bytes that were written to the disk, by what their files are for.
public struct DiskWrites: Sendable, Equatable, CustomStringConvertible {
    /// The log: what makes changes durable.
    public var log = 0
    /// The tables' WAL, and contents of attachments.
    public var tables = 0
    /// The caches' WALs, and contents of blobs.
    public var caches = 0
    /// Syncs of all of them.
    public var syncs = 0

    public init(log: Int = 0, tables: Int = 0, caches: Int = 0, syncs: Int = 0) {
        self.log = log
        self.tables = tables
        self.caches = caches
        self.syncs = syncs
    }

    public var bytes: Int { log + tables + caches }

    public var description: String {
        "\(bytes) bytes (log \(log), tables \(tables), caches \(caches)), \(syncs) syncs"
    }

    /// - Throws: `DiskWriteFault` when more was written.
    public func require(atMost limit: Int) throws(DiskWriteFault) {
        guard bytes > limit else { return }
        throw DiskWriteFault("\(self) were written, \(limit) bytes are allowed")
    }

    /// `disk` of `storage.status`.
    init?(_ disk: JSONObject) {
        func bytes(_ name: String) -> Int? {
            guard let kinds = disk.object(name)?.object("kinds") else { return nil }
            return ["wal", "journal", "content", "temporary"].reduce(0) { $0 + Int(kinds.integer($1) ?? 0) }
        }
        guard let log = bytes("log"), let tables = bytes("durable"), let caches = bytes("cache") else { return nil }
        (self.log, self.tables, self.caches) = (log, tables, caches)
        syncs = ["log", "durable", "cache"].reduce(0) { $0 + Int(disk.object($1)?.integer("syncs") ?? 0) }
    }

    static func - (later: Self, earlier: Self) -> Self {
        DiskWrites(
            log: later.log - earlier.log, tables: later.tables - earlier.tables, caches: later.caches - earlier.caches,
            syncs: later.syncs - earlier.syncs)
    }
}

/// More was written than a test allows, or that could not be found out. A test that throws it fails with its text.
public struct DiskWriteFault: Error, Equatable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}
