import KuraBytes
import SQLite

/// A version of a document as the tables have it; good while its row is looked at.
struct FormerVersion {
    var rev: UInt64
    /// The revision that has replaced it; 0 while none has.
    var until: UInt64 = 0
    /// Which of the document's changes it is, counted from 1.
    var version: Int64
    var writtenAt: Int64
    var isDeleted: Bool
    /// Of its value.
    var bytes: Int
    var body: () -> [UInt8]
}

/// How former versions of documents are read.
final class HistoryStatements {
    private let present, replaced, erased: Statement

    init(_ connection: Connection) throws(SQLiteError) {
        present = try connection.prepare(
            "SELECT rev, version, updatedAt, isDeleted, body FROM documents WHERE row = ?1")
        erased = try connection.prepare(
            "SELECT erasedTo FROM histories WHERE collection = ?1 AND definition IS NOT NULL")
        // Rows that are being erased are left out.
        replaced = try connection.prepare(
            """
            SELECT h.rev, h.until, h.version, h.writtenAt, h.isDeleted, h.bytes, h.body
            FROM history h JOIN histories k ON k.collection = h.collection
            WHERE h.row = ?1 AND h.rev <= ?2 AND h.number > k.erasedTo AND k.definition IS NOT NULL
            ORDER BY h.rev DESC
            """)
    }

    /// Up to which number former versions of a collection are not there any more.
    func erasedTo(_ collection: UInt32) throws(SQLiteError) -> Int64 {
        defer { erased.reset() }
        try erased.bind(1, Int64(collection))
        return try erased.step() ? erased.int64(0) : .max
    }

    /// The document as the tables have it; nil when they do not have it.
    func own(_ row: Int64) throws(SQLiteError) -> FormerVersion? {
        defer { present.reset() }
        try present.bind(1, row)
        guard try present.step() else { return nil }
        let isDeleted = present.int64(3) != 0
        let body = isDeleted ? [] : Array(present.bytes(4))
        return FormerVersion(
            rev: UInt64(present.int64(0)), version: present.int64(1), writtenAt: present.int64(2), isDeleted: isDeleted,
            bytes: body.count, body: { body })
    }

    /// Calls `body` with what was replaced, from revision `upTo` back, until it returns false.
    func former(_ row: Int64, upTo: UInt64, _ body: (FormerVersion) -> Bool) throws(SQLiteError) {
        defer { replaced.reset() }
        try replaced.bind(1, row)
        try replaced.bind(2, Int64(clamping: upTo))
        while try replaced.step() {
            let version = FormerVersion(
                rev: UInt64(replaced.int64(0)), until: UInt64(replaced.int64(1)), version: replaced.int64(2),
                writtenAt: replaced.int64(3), isDeleted: replaced.int64(4) != 0, bytes: Int(replaced.int64(5)),
                body: { [unowned self] in Array(replaced.bytes(6)) })
            guard body(version) else { return }
        }
    }
}
