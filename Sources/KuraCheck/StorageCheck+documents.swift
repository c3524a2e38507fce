import KuraBytes
import KuraStorage
import SQLite

/// Documents, collection by collection: what is damaged of one says nothing about the others.
extension StorageCheck {
    private struct Collection {
        var id: Int64
        var name: String
    }

    func lookAtDocuments() throws(StorageFault) {
        let path = configuration.tablesPath
        do throws(SQLiteError) {
            let connection = try Connection(path: path, mode: .readOnly)
            try connection.setBusyTimeout(milliseconds: 5000)
            try connection.execute("PRAGMA cache_size=-2048;")
            var collections: [Collection] = []
            do throws(SQLiteError) {
                let select = try connection.prepare("SELECT id, name FROM scopes ORDER BY id")
                while try select.step() { collections.append(Collection(id: select.int64(0), name: select.text(1))) }
            } catch {
                // That table has been told of.
                guard error.isDamage else { throw error }
            }
            for collection in collections where goesOn {
                do throws(SQLiteError) { try look(at: collection, connection) } catch {
                    if connection.isInTransaction { try? connection.execute("ROLLBACK") }
                    guard error.isDamage else { throw error }
                    note(.collection, collection.name, "its documents cannot all be read: \(error.message)")
                }
            }
            counts.tables += 1
        } catch { throw .database(error, file: path) }
    }

    /// Reads every row, in snapshots that are given up, and looks it up by its id.
    private func look(at collection: Collection, _ connection: Connection) throws(SQLiteError) {
        let folded = try connection.prepare("SELECT value FROM meta WHERE name = 'foldedRev'")
        let rows = try connection.prepare(
            "SELECT row, collection, id, rev, body FROM documents WHERE row > ?1 AND row < ?2 ORDER BY row")
        let byID = try connection.prepare(
            "SELECT row FROM documents INDEXED BY documents_id WHERE collection = ?1 AND id = ?2")
        var last = collection.id << 40
        let end = (collection.id + 1) << 40
        var isThrough = false
        while goesOn, !isThrough {
            try connection.execute("BEGIN")
            let snapshot = TableReader.Snapshot(
                rev: 0, until: configuration.clock.deadline(milliseconds: configuration.snapshotMilliseconds))
            let rev = try folded.step() ? folded.int64(0) : 0
            folded.reset()
            try rows.bind(1, last)
            try rows.bind(2, end)
            isThrough = true
            var bytes = 0
            while try rows.step() {
                last = rows.int64(0)
                counts.documents += 1
                bytes += rows.bytes(4).count
                if rows.int64(1) != collection.id {
                    note(.collection, collection.name, "row \(last) says that it is of another collection")
                } else if rows.int64(3) < 1 || rows.int64(3) > rev {
                    note(
                        .collection, collection.name,
                        "row \(last) is of revision \(rows.int64(3)), the tables of \(rev)")
                } else {
                    try byID.bind(1, collection.id)
                    try byID.bind(2, utf8: rows.bytes(2))
                    if try !byID.step() || byID.int64(0) != last {
                        note(.collection, collection.name, "row \(last) is not found by its id")
                    }
                    byID.reset()
                }
                guard snapshot.isStale || !goesOn else { continue }
                isThrough = false
                break
            }
            rows.reset()
            try connection.execute("COMMIT")
            advance(bytes)
        }
    }
}
