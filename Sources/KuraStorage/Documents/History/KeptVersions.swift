import KuraBytes
import SQLite

/// What the tables have had of a document's versions.
struct KeptVersions {
    /// They reach back to the document's first version.
    var hasFirst = false
    /// Older ones were left out.
    var hasMore = false
    /// What the document was is not known: a version is missing there.
    var misses = false
}

extension ItemVersions {
    /// Adds what the log has no more: the tables' own row of the document, and what it was before.
    ///
    /// The log was looked through first, so the snapshot has every version that was replaced by what the log has not. A version of the tables was
    /// good until the revision that replaced it, which is how a missing one is found.
    public func run(_ tables: TableReader) throws(QueryError) {
        guard let row = wanted.row else { return }
        do throws(EngineError) {
            try tables.snapshot { (_) throws(SQLiteError) in
                // What is asked for may be older than all that the log has of the document.
                var next = firstFound
                if let own = try tables.history.own(row), own.rev <= wanted.upTo, own.rev < next ?? .max {
                    next = own.rev
                    let isNew = versions.first?.rev != own.rev
                    guard !isNew || room > 0 else { return kept.hasMore = true }
                    if isNew { add(own) }
                    kept.hasFirst = own.version == 1
                }
                try addFormer(tables.history, row, before: next)
            }
        } catch { throw .engine(error) }
    }

    private func addFormer(_ history: HistoryStatements, _ row: Int64, before next: UInt64?) throws(SQLiteError) {
        var next = next
        var isJoined = true
        let upTo = min(wanted.upTo, next.map { $0 - 1 } ?? wanted.upTo)
        try history.former(row, upTo: upTo) { former in
            let size = wanted.values ? former.bytes : 0
            guard room > 0, versions.isEmpty || size <= roomOfBytes else {
                kept.hasMore = true
                return false
            }
            // The first that is older than what is asked for was good then, or it is not known what was.
            if versions.isEmpty, former.until <= wanted.upTo { kept.misses = true }
            if let next, former.until != next { isJoined = false }
            next = former.rev
            kept.hasFirst = isJoined && former.version == 1
            add(former)
            return true
        }
        if kept.hasMore { kept.hasFirst = false }
    }

    private func add(_ former: FormerVersion) {
        prepend(
            Version(
                rev: former.rev, at: former.writtenAt, isDeleted: former.isDeleted, client: [], members: nil,
                value: wanted.values && !former.isDeleted ? former.body() : nil, bytes: former.bytes, ordinal: 0))
    }
}

extension UndoneRevision.Item {
    /// What it was before may be in the tables.
    var isKept: Bool { wantsBefore && before == nil && row != nil }
}

extension UndoneRevision {
    /// Reads from the tables what the log has no more: the version that the revision has replaced.
    public func run(_ tables: TableReader) throws(QueryError) {
        do throws(EngineError) {
            try tables.snapshot { (_) throws(SQLiteError) in
                for position in items.indices where items[position].isKept { try look(position, tables.history) }
            }
        } catch { throw .engine(error) }
        finish()
    }

    private func look(_ position: Int, _ history: HistoryStatements) throws(SQLiteError) {
        guard let row = items[position].row else { return }
        // The log has what follows the tables' row; so it is what was before, if it is older.
        if let own = try history.own(row), own.rev < rev { return take(own, position) }
        try history.former(row, upTo: rev - 1) { former in
            if former.until == rev { take(former, position) }
            return false
        }
    }

    private func take(_ former: FormerVersion, _ position: Int) {
        guard !former.isDeleted else { return }
        items[position].isOmitted = bytes + former.bytes > Self.mostBytes
        guard !items[position].isOmitted else { return }
        bytes += former.bytes
        items[position].before = (former.body(), former.rev)
    }
}
