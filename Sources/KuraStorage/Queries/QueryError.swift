/// Why what was asked on a reader thread was not found out.
public enum QueryError: Error, Equatable, Sendable {
    case engine(EngineError)
    /// It took longer than it was allowed to.
    case timeout(milliseconds: Int)
    /// Holding a text against a regular expression would take too long.
    case patternTooComplex(at: String)
    /// The index that a query was to walk over, or that a position stands in, is no longer there, or its collection.
    case indexGone
    /// What a document was at the revision that was asked for is not kept any more. `oldestRev`: the oldest one that the log has.
    case compacted(oldestRev: UInt64)
    /// The collection has no search fields.
    case searchNotDeclared
    /// The collection's full text index has so many of its documents, deleted ones counted.
    case searchBuilding(done: Int, total: Int)
    /// No index fits, and more than `limit` documents would have to be looked at.
    case indexNeeded(limit: Int, IndexAdvice)
    /// More groups, or more bytes of them, than a query may hold.
    case tooManyGroups(limit: Int)
    /// A live query would keep more documents than this, or more bytes.
    case liveQueryTooLarge(limit: Int, isBytes: Bool)
    /// What a client has passed did not answer in time.
    case unresponsive
    /// So many reads of what the user has passed hang that no other is begun.
    case hanging
}
