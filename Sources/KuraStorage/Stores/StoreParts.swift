import SQLite

/// What a store has made for it: apart from its description, which is a constant on the hot path.
struct StoreParts: Sendable {
    /// What it keeps with each of its scopes, and what it has of its own in the ledger; nil for nothing.
    var makeState: (@Sendable () -> ScopeState)?
    var makePart: (@Sendable (Ledger) -> any LedgerPart)?
    /// What takes its changes in from the log, and what writes them into the tables. Resident stores have these in common.
    var makeReplay: @Sendable (Ledger, DocumentReader) -> any StoreReplay = { (ledger, _) in ResidentReplay(ledger) }
    var makeFolder: @Sendable (FoldTables) throws(SQLiteError) -> any StoreFolder = { (tables) throws(SQLiteError) in
        try ResidentFolder(tables)
    }
    /// What its records have to be in backups, seed bundles, and whatever else is no request.
    var rules = RecordRules()
}

extension Store {
    var parts: StoreParts { Self.ownParts[self] ?? StoreParts() }

    /// A resident store need not have any.
    private static let ownParts: [Store: StoreParts] = [
        .settings: StoreParts(rules: .ofSettings),
        .requests: StoreParts(rules: .ofRequests),
        .configuration: StoreParts(rules: .ofConfiguration),
        .documents: StoreParts(
            makeState: { CollectionState() }, makePart: { CollectionLedger($0) },
            makeReplay: { DocumentReplay($0, $1) },
            makeFolder: { (tables) throws(SQLiteError) in try DocumentFolder(tables) }, rules: .ofDocuments),
        .attachments: StoreParts(
            makeState: { CollectionState() }, makeReplay: { DocumentReplay($0, $1) },
            makeFolder: { AttachmentFolder($0) }, rules: .ofAttachments),
        .secrets: StoreParts(makeReplay: { (ledger, _) in SecretHeadReplay(ledger) }, rules: .ofSecretHeads),
        .secretVersions: StoreParts(
            makeReplay: { SecretVersionReplay($0, $1) }, makeFolder: { SecretVersionFolder($0) }),
    ]
}
