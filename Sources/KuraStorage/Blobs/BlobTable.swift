import KuraBytes
import SQLite

/// The table of blobs, DATA/cache/blobs.sqlite: what the index is read from at the start, and the small contents.
///
/// A file of its own, so that it can be dropped alone. It is written behind the index: what it lacks at a kill is lost, which a cache may do.
/// One object for each thread that has the file open.
final class BlobTable {
    static let file = "blobs.sqlite"

    static let sql = """
        CREATE TABLE blobNamespaces(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, ttlSeconds INTEGER,
            maxBytes INTEGER, maxEntries INTEGER);
        CREATE TABLE blobs(id INTEGER PRIMARY KEY, namespace INTEGER NOT NULL, key TEXT NOT NULL, variant TEXT NOT NULL,
            digest BLOB NOT NULL, bytes INTEGER NOT NULL, contentType TEXT NOT NULL, createdAt INTEGER NOT NULL,
            expiresAt INTEGER NOT NULL);
        CREATE UNIQUE INDEX blobsByName ON blobs(namespace, key, variant);
        CREATE TABLE blobContents(digest BLOB PRIMARY KEY, data BLOB NOT NULL);
        """

    private let connection: Connection
    private let putBlob: Statement
    private let touchBlob: Statement
    private let removeBlob: Statement
    private let putContent: Statement
    private let removeContent: Statement
    private let putNamespace: Statement
    private let removeNamespace: Statement
    private var scratch = ByteBuffer()

    /// On the thread that writes.
    static func of(_ files: CacheFiles) throws(SQLiteError) -> (file: CacheFile, table: BlobTable) {
        let file = try files.file(Self.file)
        return (file, try file.keep { (connection) throws(SQLiteError) in try BlobTable(connection) })
    }

    private init(_ connection: Connection) throws(SQLiteError) {
        self.connection = connection
        putBlob = try connection.prepare("INSERT OR REPLACE INTO blobs VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")
        touchBlob = try connection.prepare("UPDATE blobs SET expiresAt = ?2 WHERE id = ?1")
        removeBlob = try connection.prepare("DELETE FROM blobs WHERE id = ?1")
        putContent = try connection.prepare("INSERT OR REPLACE INTO blobContents VALUES(?1, ?2)")
        removeContent = try connection.prepare("DELETE FROM blobContents WHERE digest = ?1")
        putNamespace = try connection.prepare("INSERT OR REPLACE INTO blobNamespaces VALUES(?1, ?2, ?3, ?4, ?5)")
        removeNamespace = try connection.prepare("DELETE FROM blobNamespaces WHERE id = ?1")
    }

    // MARK: Writing

    func write(_ change: BlobChange) throws(SQLiteError) {
        switch change {
        case .put(let record): try put(record)
        case .touch(let id, let expiresAt):
            try touchBlob.bind(1, id)
            try touchBlob.bind(2, expiresAt)
            try touchBlob.run()
        case .remove(let id):
            try removeBlob.bind(1, id)
            try removeBlob.run()
        case .content(let digest, let data, _):
            try bind(digest, to: putContent, 1)
            try data.withBytes { (data) throws(SQLiteError) in
                try putContent.bind(2, bytes: data)
                try putContent.run()
            }
        case .removeContent(let digest):
            try bind(digest, to: removeContent, 1)
            try removeContent.run()
        case .namespace(let id, let name, let settings): try put(id, name, settings)
        case .removeNamespace(let id):
            try removeNamespace.bind(1, Int64(id))
            try removeNamespace.run()
        }
    }

    private func put(_ record: BlobRecord) throws(SQLiteError) {
        try putBlob.bind(1, record.id)
        try putBlob.bind(2, Int64(record.namespace))
        try bind(record.digest, to: putBlob, 5)
        try putBlob.bind(6, Int64(record.bytes))
        try putBlob.bind(8, record.createdAt)
        try putBlob.bind(9, record.expiresAt)
        try record.key.withBytes { (key) throws(SQLiteError) in
            try record.variant.withBytes { (variant) throws(SQLiteError) in
                try record.contentType.withBytes { (contentType) throws(SQLiteError) in
                    try putBlob.bind(3, utf8: key)
                    try putBlob.bind(4, utf8: variant)
                    try putBlob.bind(7, utf8: contentType)
                    try putBlob.run()
                }
            }
        }
    }

    private func put(_ id: Int32, _ name: [UInt8], _ settings: BlobNamespaceSettings) throws(SQLiteError) {
        try putNamespace.bind(1, Int64(id))
        for (place, value) in [settings.ttlSeconds, settings.maxBytes, settings.maxEntries].enumerated() {
            if let value {
                try putNamespace.bind(Int32(place) + 3, Int64(value))
            } else {
                try putNamespace.bindNull(Int32(place) + 3)
            }
        }
        try name.withBytes { (name) throws(SQLiteError) in
            try putNamespace.bind(2, utf8: name)
            try putNamespace.run()
        }
    }

    private func bind(_ digest: ContentDigest, to statement: borrowing Statement, _ place: Int32) throws(SQLiteError) {
        scratch.removeAll()
        scratch.append(bytesOf: digest)
        try statement.bind(place, bytes: scratch.bytes)
    }

    // MARK: Reading

    /// Calls `body` for each namespace.
    func namespaces(_ body: (Int32, [UInt8], BlobNamespaceSettings) -> Void) throws(SQLiteError) {
        let select = try connection.prepare("SELECT id, name, ttlSeconds, maxBytes, maxEntries FROM blobNamespaces")
        while try select.step() {
            let settings = BlobNamespaceSettings(
                ttlSeconds: select.isNull(2) ? nil : Int(select.int64(2)),
                maxBytes: select.isNull(3) ? nil : Int(select.int64(3)),
                maxEntries: select.isNull(4) ? nil : Int(select.int64(4)))
            body(Int32(clamping: select.int64(0)), Array(select.bytes(1)), settings)
        }
    }

    /// The blobs behind a row, in the order of rows: a variant comes after its parent.
    func blobs(after id: Int64, limit: Int) throws(SQLiteError) -> [BlobRecord] {
        let select = try connection.prepare("SELECT * FROM blobs WHERE id > ?1 ORDER BY id LIMIT ?2")
        try select.bind(1, id)
        try select.bind(2, Int64(limit))
        return try Self.records(select)
    }

    /// The blobs of a namespace behind a name, in the order of the names' bytes; a variant comes after its parent.
    func blobs(
        of namespace: Int32, prefix: [UInt8], after key: [UInt8], variant: [UInt8], limit: Int
    ) throws(SQLiteError) -> [BlobRecord] {
        let select = try connection.prepare(
            """
            SELECT * FROM blobs WHERE namespace = ?1 AND (key, variant) > (?2, ?3) AND key >= ?4
            ORDER BY key, variant LIMIT ?5
            """)
        try select.bind(1, Int64(namespace))
        try select.bind(2, text: String(decoding: key, as: UTF8.self))
        try select.bind(3, text: String(decoding: variant, as: UTF8.self))
        try select.bind(4, text: String(decoding: prefix, as: UTF8.self))
        try select.bind(5, Int64(limit))
        return try Self.records(select).prefix { $0.key.starts(with: prefix) }.map { $0 }
    }

    private static func records(_ select: borrowing Statement) throws(SQLiteError) -> [BlobRecord] {
        var records: [BlobRecord] = []
        while try select.step() {
            // What is not of ours is not read: the file may be damaged in ways that its own check does not see.
            guard let digest = ContentDigest(bytes: select.bytes(4)), select.int64(5) >= 0 else { continue }
            records.append(
                BlobRecord(
                    id: select.int64(0), namespace: Int32(clamping: select.int64(1)), key: Array(select.bytes(2)),
                    variant: Array(select.bytes(3)), digest: digest, bytes: Int(select.int64(5)),
                    contentType: Array(select.bytes(6)), createdAt: select.int64(7), expiresAt: select.int64(8)))
        }
        return records
    }

    /// A small content; nil when there is none.
    static func content(_ digest: ContentDigest, _ file: CacheFile) throws(SQLiteError) -> [UInt8]? {
        let select = try file.connection.prepare("SELECT data FROM blobContents WHERE digest = ?1")
        var bytes = ByteBuffer()
        bytes.append(bytesOf: digest)
        try select.bind(1, bytes: bytes.bytes)
        return try select.step() ? Array(select.bytes(0)) : nil
    }

    /// Contents that no blob has: a kill came between.
    func removeUnused() throws(SQLiteError) {
        try connection.execute("DELETE FROM blobContents WHERE digest NOT IN (SELECT digest FROM blobs)")
    }
}

/// A blob as the table has it.
struct BlobRecord: Sendable {
    var id: Int64
    var namespace: Int32
    var key: [UInt8]
    var variant: [UInt8]
    var digest: ContentDigest
    var bytes: Int
    var contentType: [UInt8]
    var createdAt: Int64
    var expiresAt: Int64
}

/// A change of the index that the table has to learn of.
enum BlobChange: Sendable {
    case put(BlobRecord)
    case touch(id: Int64, expiresAt: Int64)
    case remove(id: Int64)
    /// `write`: its number, by which the index knows it again.
    case content(ContentDigest, [UInt8], write: UInt32)
    case removeContent(ContentDigest)
    case namespace(id: Int32, name: [UInt8], BlobNamespaceSettings)
    case removeNamespace(Int32)

    /// What it takes in memory, about.
    var footprint: Int {
        switch self {
        case .put(let record): 160 + record.key.count + record.variant.count
        case .content(_, let data, _): 64 + data.count
        default: 64
        }
    }
}
