public import KuraBytes

/// What the storage measures of its own work since the start. Times in nanoseconds.
public struct StorageMeasures: Sendable {
    /// Changes of a commit: those of one turn, from all connections.
    public var commits = Histogram()
    /// What a sync of the log took, and how many revisions it made durable.
    public var syncTimes = Histogram()
    public var syncRevs = Histogram()
    /// What it took to write a slice to the tables, and how many changes it had.
    public var folds = Histogram()
    public var foldChanges = Histogram()
    /// What checkpoints of the tables took.
    public var checkpoints = Histogram()
    /// Bytes of the tables' WAL that are not checkpointed.
    public var walBytes = 0
    /// Documents looked up by their ids, for reading or changing, that memory knew of, and for which the tables were asked.
    public var documentHits: UInt64 = 0
    public var documentMisses: UInt64 = 0
}

extension Storage {
    public func measures() -> StorageMeasures {
        var measures = tables.folder.measures
        measures.commits = ledger.counts.commitSizes
        (measures.syncTimes, measures.syncRevs) = log.measures
        (measures.documentHits, measures.documentMisses) = (documents.hits, documents.misses)
        return measures
    }
}
