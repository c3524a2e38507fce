import KuraBytes
import SQLite

/// Counts how often the tables' lists of attachments name each content. On the fold thread, within a slice's transaction, so that the
/// counts and the lists are never of different revisions.
///
/// A tombstone's list counts too: it can be brought back.
final class ContentUses {
    private let select: Statement
    private let add: Statement
    private let find: Statement
    private let delete: Statement
    private var changes: [ContentDigest: Int64] = [:]
    /// Contents that nobody uses since something else than a slice was written.
    private var unusedSince: [ContentDigest] = []

    init(_ connection: Connection) throws(SQLiteError) {
        select = try connection.prepare("SELECT body FROM documents WHERE row = ?1")
        add = try connection.prepare(
            """
            INSERT INTO contents(digest, uses) VALUES(?1, ?2) ON CONFLICT(digest) DO UPDATE SET uses = uses + ?2
            """)
        find = try connection.prepare("SELECT uses FROM contents WHERE digest = ?1")
        delete = try connection.prepare("DELETE FROM contents WHERE digest = ?1 AND uses = 0")
    }

    /// A slice begins; another may have been given up half-way.
    func begin() { changes = [:] }

    /// A list is about to be written: the slice's newest of its document.
    func note(_ item: ItemRef) throws(SQLiteError) {
        try noteRemoval(ofRow: item.pointee.row)
        count(AttachmentList(item.value), 1)
    }

    /// A list is about to go, or to be replaced.
    func noteRemoval(ofRow row: Int64) throws(SQLiteError) {
        defer { select.reset() }
        try select.bind(1, row)
        if try select.step() { count(AttachmentList(select.bytes(0)), -1) }
    }

    func noteRemoval(ofList text: Bytes) { count(AttachmentList(text), -1) }

    private func count(_ list: AttachmentList, _ change: Int64) {
        for attachment in list.attachments { changes[attachment.digest, default: 0] += change }
    }

    /// Writes the counts in a transaction that is no slice's; what nobody uses any more is told with the next slice, or asked for.
    func writeLater() throws(SQLiteError) { unusedSince = try write(forgetting: []) }

    var hasUnused: Bool { !unusedSince.isEmpty }

    func takeUnused() -> [ContentDigest] {
        defer { unusedSince = [] }
        return unusedSince
    }

    /// Writes the counts, and lets go of those that are none and whose contents are gone.
    /// - Returns: contents that nobody uses any more.
    func write(forgetting: [ContentDigest]) throws(SQLiteError) -> [ContentDigest] {
        var unused = unusedSince
        unusedSince = []
        let changes = changes
        self.changes = [:]
        for (digest, change) in changes where change != 0 {
            try add.bind(1, text: digest.text)
            try add.bind(2, change)
            try add.run()
            guard change < 0 else { continue }
            defer { find.reset() }
            try find.bind(1, text: digest.text)
            if try find.step(), find.int64(0) <= 0 { unused.append(digest) }
        }
        for digest in forgetting {
            try delete.bind(1, text: digest.text)
            try delete.run()
        }
        return unused
    }
}
