import KuraBytes
import SQLite

/// Documents go into their rows and into the tables that are made of them.
final class DocumentFolder: StoreFolder {
    private let rows: FoldedRows
    private let documents: DocumentSource
    private let indexes: TableKeeper<IndexTable>
    private let searches: TableKeeper<SearchTable>
    private let history: HistoryTable

    init(_ tables: FoldTables) throws(SQLiteError) {
        rows = tables.rows
        documents = try DocumentSource(tables.connection, memory: tables.memory)
        indexes = try TableKeeper(tables.connection, documents)
        searches = try TableKeeper(tables.connection, documents)
        history = tables.history
        // What a version has built that made other text of documents.
        try searches.renew(
            SearchRow.all(tables.connection).filter(\.isOutdated).map { ($0.status.collection, $0.definition) })
    }

    func configure(_ scope: UInt32, _ key: Bytes, _ text: Bytes) throws(SQLiteError) {
        if ConfigurationStore.isHistory(key) {
            try history.define(scope, text)
        } else if ConfigurationStore.isSearch(key) {
            try searches.define(scope, text.isEmpty ? [] : SearchDefinition(stored: text).map { [$0] } ?? [])
        } else {
            try indexes.define(scope, text.isEmpty ? [] : (try? IndexDefinition.list(text)) ?? [])
        }
    }

    func drop(_ scope: UInt32) throws(SQLiteError) {
        try indexes.define(scope, [])
        try searches.define(scope, [])
        if history.has(scope) { try history.define(scope, Bytes()) }
    }

    func begin(_ slice: FoldSlice) { history.begin(slice) }

    func write(_ item: ItemRef) throws(SQLiteError) {
        try note(item)
        try history.note(item)
        try rows.write(item)
    }

    private func note(_ item: ItemRef) throws(SQLiteError) {
        defer { documents.release() }
        try indexes.note(item)
        try searches.note(item)
    }

    func finish(_ slice: FoldSlice) throws(SQLiteError) {
        try indexes.finish(confirmed: slice.confirmed)
        try searches.finish()
        try history.finish()
    }

    var work: [any TableWork] { [indexes, searches, history] }

    var newsUrgency: NewsUrgency { indexes.hasNews || searches.hasNews ? .inTime : .none }

    func takeNews() -> (any FoldNews)? {
        let news = IndexNews(indexes: indexes.takeNews(), searches: searches.takeNews())
        return news.indexes == nil && news.searches == nil ? nil : news
    }
}

/// How all indexes stand, and all full text indexes; nil when nothing has changed.
struct IndexNews: FoldNews {
    var indexes: [IndexStatus]?
    var searches: [SearchStatus]?

    /// Tells the collections, and the operator which builds are through.
    func tell(_ tables: TablesKeeper, _ time: UInt64) {
        var lines: [IndexBuilds.Line] = []
        if let indexes {
            tables.documents.collections.publish(indexes)
            lines = tables.builds.note(indexes, time)
        }
        if let searches {
            tables.documents.collections.publish(searches)
            lines += tables.builds.note(searches, time)
        }
        for line in lines { if line.isFailure { tables.host.report(line.text) } else { tables.host.remark(line.text) } }
    }
}

/// Lists of attachments go into rows, and their contents are counted.
final class AttachmentFolder: StoreFolder {
    private let rows: FoldedRows
    private let uses: ContentUses

    init(_ tables: FoldTables) { (rows, uses) = (tables.rows, tables.uses) }

    func begin(_ slice: FoldSlice) { uses.begin() }

    func write(_ item: ItemRef) throws(SQLiteError) {
        try uses.note(item)
        try rows.write(item)
    }

    func finish(_ slice: FoldSlice) throws(SQLiteError) { slice.unused = try uses.write(forgetting: slice.forgotten) }

    var newsUrgency: NewsUrgency { uses.hasUnused ? .atOnce : .none }

    func takeNews() -> (any FoldNews)? { uses.hasUnused ? UnusedContents(digests: uses.takeUnused()) : nil }
}

/// Contents that nobody uses any more, but for what a slice says.
struct UnusedContents: FoldNews {
    var digests: [ContentDigest]

    func tell(_ tables: TablesKeeper, _ time: UInt64) {
        tables.attachments.folded(to: tables.schedule.tablesRev, unused: digests)
    }
}
