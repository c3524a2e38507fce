import Glibc
import KuraBytes
import SQLite
import Sodium

// What is done with the table of blobs on its threads. A job carries its input in and its outcome back, and has one user at a time.

/// Writes changes, in pieces that hold up nobody who reads.
final class BlobWrites: CacheJob, @unchecked Sendable {
    // Changed by its thread alone until the loop has it back.
    let changes: [BlobChange]
    private static let piece = 256
    private static let attempts = 20

    init(_ changes: [BlobChange]) { self.changes = changes }

    func run(_ files: CacheFiles) throws(SQLiteError) {
        var failure: SQLiteError?
        for attempt in 0..<Self.attempts {
            if attempt > 0 {
                // Room comes back where the disk is full of our own; the WAL gives some.
                usleep(50_000)
                try? BlobTable.of(files).file.emptyWAL()
            }
            failure = nil
            do throws(SQLiteError) { return try write(files) } catch { failure = error }
            if failure?.isFull != true { break }
        }
        if let error = failure {
            // At once: nobody may come to read it without what it lacks.
            files.drop(BlobTable.file)
            throw error
        }
    }

    private func write(_ files: CacheFiles) throws(SQLiteError) {
        if let fault = FaultPoints.hit(.blobTable)?.errno {
            throw SQLiteError(extendedCode: fault == ENOSPC ? 13 : 10, message: "fault")
        }
        let (file, table) = try BlobTable.of(files)
        var start = 0
        while start < changes.count {
            let end = min(start + Self.piece, changes.count)
            try file.transaction { () throws(SQLiteError) in
                for change in changes[start..<end] { try table.write(change) }
            }
            start = end
        }
    }
}

/// Reads a piece of the index.
final class BlobLoad: CacheJob, @unchecked Sendable {
    // Changed by its thread alone until the loop has it back.

    /// A blob with what stands for its name and its parent's.
    struct Entry {
        var name: LookupHash
        var parent: LookupHash?
        var record: BlobRecord
    }
    private let after: Int64
    private let key: LookupHash.Key
    /// With the first piece.
    private(set) var namespaces: [(id: Int32, name: [UInt8], settings: BlobNamespaceSettings)] = []
    private(set) var entries: [Entry] = []
    private(set) var isLast = false
    static let limit = 1000

    init(after: Int64, key: LookupHash.Key) {
        self.after = after
        self.key = key
    }

    func run(_ files: CacheFiles) throws(SQLiteError) {
        let (file, table) = try BlobTable.of(files)
        try file.noticing { () throws(SQLiteError) in
            if after == .min {
                do throws(SQLiteError) { try table.removeUnused() } catch { if !error.isFull { throw error } }
                try table.namespaces { namespaces.append(($0, $1, $2)) }
            }
            let records = try table.blobs(after: after, limit: Self.limit)
            isLast = records.count < Self.limit
            entries = records.map { record in
                Entry(
                    name: LookupHash(record, key: key),
                    parent: record.variant.isEmpty ? nil : LookupHash(record.parent, key: key), record: record)
            }
        }
    }
}

extension BlobRecord {
    /// What it is a variant of, as far as its name goes.
    var parent: BlobRecord {
        var parent = self
        parent.variant = []
        return parent
    }
}

extension LookupHash {
    /// Names have no zeros in them, and namespaces have numbers.
    init(namespace: Int32, key name: Bytes, variant: Bytes, _ scratch: inout ByteBuffer, key: Key) {
        scratch.removeAll()
        scratch.append(littleEndian: namespace)
        scratch.append(name)
        scratch.append(0)
        scratch.append(variant)
        self.init(scratch.bytes, key: key)
    }

    init(_ record: BlobRecord, key: Key) {
        var scratch = ByteBuffer(capacity: 256)
        self = record.key.withBytes { name in
            record.variant.withBytes { variant in
                LookupHash(namespace: record.namespace, key: name, variant: variant, &scratch, key: key)
            }
        }
    }
}

/// What is done with the files, and not with the table.
final class BlobFileJob: CacheJob {
    enum Task {
        /// Removes it if nobody holds it.
        case remove(ContentDigest)
        /// Removes all that nobody holds.
        case sweep
        /// Closes a draft that came to nothing, which can take as long as removing a file.
        case close(Int32, temporary: String?)
    }
    private let task: Task
    private let files: BlobFiles

    init(_ task: Task, _ files: BlobFiles) {
        self.task = task
        self.files = files
    }

    func run(_ files: CacheFiles) {
        switch task {
        case .remove(let digest): self.files.remove(digest)
        case .sweep: self.files.sweep()
        case .close(let descriptor, let temporary): BlobFiles.close(descriptor, temporary: temporary)
        }
    }
}

/// Drops the table, since it does not have what it should.
final class BlobReset: CacheJob {
    func run(_ files: CacheFiles) { files.drop(BlobTable.file) }
}

/// A look into the table that a request waits for.
///
/// It is no query of kura.sqlite's; it goes the same way back to its request.
public class BlobLook: CacheJob, TableQuery, @unchecked Sendable {
    // Changed by its thread alone until the loop has it back.
    let ticket: UInt64

    init(ticket: UInt64) { self.ticket = ticket }

    public var foldedTo: UInt64 { 0 }
    public var isLong: Bool { false }
    public var footprint: Int { 0 }
    public func discard() {}
    public func run(_ tables: TableReader) throws(QueryError) {}
    func run(_ files: CacheFiles) throws(SQLiteError) {}
}

/// Reads a small content that is not in memory.
public final class BlobSmallRead: BlobLook, @unchecked Sendable {
    public let digest: ContentDigest
    /// Nil when it is not there, or not what it was.
    public private(set) var bytes: [UInt8]?
    /// The table could not be opened or read, though it is not damaged: nothing is known of the content.
    public private(set) var isUnavailable = false

    init(_ digest: ContentDigest, ticket: UInt64) {
        self.digest = digest
        super.init(ticket: ticket)
    }

    override func run(_ files: CacheFiles) throws(SQLiteError) {
        let found: [UInt8]?
        do throws(SQLiteError) {
            let file = try files.file(BlobTable.file)
            found = try file.noticing { () throws(SQLiteError) in try BlobTable.content(digest, file) }
        } catch {
            // The next look opens what is there then.
            if error.isCorrupt { files.giveUp(damaged: BlobTable.file) } else { files.forget(BlobTable.file) }
            isUnavailable = !error.isCorrupt
            throw error
        }
        guard let found else { return }
        var hash = GenericHash()
        found.withBytes { hash.update($0) }
        if ContentDigest(hash.finish()) == digest { bytes = found }
    }
}

/// Reads a page of a namespace's names.
public final class BlobListing: BlobLook, @unchecked Sendable {
    private let namespace: Int32
    private let prefix: [UInt8]
    private let after: (key: [UInt8], variant: [UInt8])
    private let limit: Int
    private(set) var records: [BlobRecord] = []
    /// There are more.
    public private(set) var hasMore = false

    init(
        _ namespace: Int32, prefix: [UInt8], after: (key: [UInt8], variant: [UInt8]), limit: Int, ticket: UInt64
    ) {
        self.namespace = namespace
        self.prefix = prefix
        self.after = after
        self.limit = limit
        super.init(ticket: ticket)
    }

    override func run(_ files: CacheFiles) throws(SQLiteError) {
        let (file, table) = try BlobTable.of(files)
        records = try file.noticing { () throws(SQLiteError) in
            try table.blobs(
                of: namespace, prefix: prefix, after: after.key, variant: after.variant, limit: limit + 1)
        }
        hasMore = records.count > limit
        if hasMore { records.removeLast(records.count - limit) }
    }

    /// Calls `body` for each with its key and variant, as long as it returns true.
    public func forEach(_ body: (_ key: [UInt8], _ variant: [UInt8], BlobFacts) -> Bool) {
        for record in records {
            let facts = BlobFacts(
                digest: record.digest, bytes: record.bytes, contentType: record.contentType,
                createdAt: record.createdAt, expiresAt: record.expiresAt)
            guard body(record.key, record.variant, facts) else { return }
        }
    }
}
