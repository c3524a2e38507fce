/// Why documents were not changed.
public enum DocumentsError: Error, Equatable, Sendable {
    case engine(EngineError)
    /// The selector that tells which documents are deleted could not be asked.
    case query(QueryError)
    /// There is no such document to change; `shownRev` is the revision of its tombstone, which the answer gives away.
    case absent(shownRev: UInt64)
    /// Another document has the key in a unique index.
    case uniqueViolation(UniqueViolation)
    /// The document is not deleted: others refer to it.
    case referenced(ReferencedDocument)
    /// The document is not deleted: what would lose its reference to it would not be what its collection's schema asks for.
    case unfit(UnfitDocument)
    /// More documents would be deleted or changed in one transaction than this.
    case tooManyDocuments(limit: Int)
    /// Which documents of this collection refer to one cannot be told yet: the index of their reference, of this name, is being built.
    case referencesBuilding(collection: [UInt8], index: [UInt8])
    /// A document may not have more attachments, or bytes of them.
    case attachmentsFull(limit: Int, of: QuotaAccount.Measure)
    /// The document is to be migrated, and that cannot be done ahead of the run: ask again when it has come to it.
    case migrating
}
