import SQLite

/// What a store has made for it: apart from its description, which is a constant on the hot path.
struct StoreParts {
    /// What it keeps with each of its scopes, and what it has of its own in the ledger; nil for nothing.
    var makeState: (() -> ScopeState)?
    var makePart: ((Ledger) -> any LedgerPart)?
    /// What takes its changes in from the log, and what writes them into the tables. Resident stores have these in common.
    var makeReplay: (Ledger, DocumentReader) -> any StoreReplay = { (ledger, _) in ResidentReplay(ledger) }
    var makeFolder: (FoldTables) throws(SQLiteError) -> any StoreFolder = { (tables) throws(SQLiteError) in
        try ResidentFolder(tables)
    }
    /// What its records have to be in backups, seed bundles, and whatever else is no request.
    var rules = RecordRules()
}

extension Store {
    var parts: StoreParts {
        switch self {
        case .settings: StoreParts(rules: .ofSettings)
        case .requests: StoreParts(rules: .ofRequests)
        case .configuration: StoreParts(rules: .ofConfiguration)
        case .documents:
            StoreParts(
                makeState: { CollectionState() }, makePart: { CollectionLedger($0) },
                makeReplay: { DocumentReplay($0, $1) }, makeFolder: { DocumentFolder($0) },
                rules: .ofDocuments)
        case .attachments:
            StoreParts(
                makeState: { CollectionState() }, makeReplay: { DocumentReplay($0, $1) },
                makeFolder: { AttachmentFolder($0) }, rules: .ofAttachments)
        case .secrets:
            StoreParts(makeReplay: { (ledger, _) in SecretHeadReplay(ledger) }, rules: .ofSecretHeads)
        case .secretVersions:
            StoreParts(makeReplay: { SecretVersionReplay($0, $1) }, makeFolder: { SecretVersionFolder($0) })
        // A resident store need not have any.
        default: StoreParts()
        }
    }
}
