import KuraBytes
import KuraJSON

/// What a collection has beside its documents. Belongs to the loop.
final class CollectionState: ScopeState {
    /// Its indexes; nil when it has none.
    var indexes: CollectionIndexes?
    /// What its documents refer to, and the revision that says so.
    var references: [ReferenceDefinition] = []
    var referencesRev: UInt64 = 0
    /// Its version and migrations; nil when no version was ever declared.
    var migrations: CollectionMigrations?
    /// How it is searched.
    var search = ScopeSearch()
    /// What it keeps of what its documents were; nil for nothing.
    var history: HistoryRule?
    /// Where the lists of its attachments are, and how many scopes had come to be when they were looked for.
    var lists: Scope?
    var listsAsked: UInt32 = 0

    /// An index of full text is as many pages as four others.
    override var pagesOfChange: Int {
        ((indexes?.all.count ?? 0) + (search.current == nil ? 0 : 4) + (history == nil ? 0 : 2)) * RoomRule.indexPages
    }
}

extension Scope {
    /// Of a collection of documents or of the lists of its attachments, and of nothing else.
    var collection: CollectionState {
        assert(store.owner == .documents)
        // Safety: scopes of these two are made with one.
        return unsafe unsafeDowncast(state!, to: CollectionState.self)
    }
}

/// What the ledger knows of collections beyond their documents: how their indexes stand in the tables, which of these may be told to be unique,
/// which collections refer to which, and what is being migrated.
final class CollectionLedger: LedgerPart {
    var store: Store { .documents }
    private unowned let ledger: Ledger
    /// Keys of unique indexes that changes hold which are not folded.
    let claims = UniqueClaims()
    private var references = ReferenceCatalog()
    /// Collections whose indexes the tables have told of.
    private var published: Set<UInt32> = []
    /// The same of full text indexes.
    private var publishedSearches: Set<UInt32> = []
    /// Indexes that are complete, and the revision up to which writes may have missed a conflict.
    private var unconfirmed: [Int64: UInt64] = [:]
    /// Collections that are being migrated, by their numbers; some of them may be through.
    var migrating: Set<UInt32> = []

    init(_ ledger: Ledger) { self.ledger = ledger }

    private func known(_ number: UInt32) -> CollectionState? { ledger.scopes.known(number)?.collection }

    // MARK: What the tables have

    /// Takes in how the indexes stand in the tables.
    func publish(_ statuses: [IndexStatus]) {
        let byCollection = Dictionary(grouping: statuses, by: \.collection)
        for number in published.union(byCollection.keys) {
            guard let collection = known(number) else { continue }
            let indexes = collection.indexes ?? CollectionIndexes()
            collection.indexes = indexes
            indexes.publish(byCollection[number] ?? [])
        }
        published = Set(byCollection.keys)
        // From now on writes are held against all of such an index.
        var waiting: [Int64: UInt64] = [:]
        for status in statuses where status.state == .built {
            waiting[status.number] = unconfirmed[status.number] ?? ledger.rev
        }
        unconfirmed = waiting
    }

    /// Takes in how the full text indexes stand in the tables.
    func publish(_ statuses: [SearchStatus]) {
        let byCollection = Dictionary(grouping: statuses, by: \.collection)
        for number in publishedSearches.union(byCollection.keys) {
            known(number)?.search.publish(byCollection[number] ?? [])
        }
        publishedSearches = Set(byCollection.keys)
    }

    /// Indexes for which no change is left that may have missed a conflict.
    private func confirmable(_ ledger: Ledger) -> [Int64] {
        let oldest = ledger.overlay.queue.first?.pointee.rev ?? .max
        return unconfirmed.filter { $0.value < oldest }.map(\.key)
    }

    func awaitsSlice(_ ledger: Ledger) -> Bool { !unconfirmed.isEmpty && !confirmable(ledger).isEmpty }

    func cut(_ slice: FoldSlice, _ ledger: Ledger) {
        slice.confirmed = confirmable(ledger)
        for number in slice.confirmed { unconfirmed[number] = nil }
    }

    func replayed(to rev: UInt64) {
        // They may have missed a conflict before the stop.
        for number in unconfirmed.keys { unconfirmed[number] = rev }
    }

    func forget(_ item: ItemRef) { claims.remove(item) }

    // MARK: What is configured

    func noteConfiguration(_ configuration: Scope, of scope: Scope) {
        let collection = scope.collection
        let text = ledger.configured(ConfigurationStore.indexes, configuration)
        if collection.indexes != nil || !text.isEmpty {
            let indexes = collection.indexes ?? CollectionIndexes()
            collection.indexes = indexes
            indexes.define(text)
        }
        noteReferences(configuration, of: collection)
        noteMigrations(configuration, of: scope)
        collection.search.define(ledger.configured(ConfigurationStore.search, configuration))
        collection.history = HistoryRule(stored: ledger.configured(ConfigurationStore.history, configuration))
    }

    private func noteReferences(_ configuration: Scope, of collection: CollectionState) {
        let item = ledger.find(configuration, Bytes(ConfigurationStore.references))
        let text = item.flatMap { $0.isTombstone ? nil : $0.value } ?? Bytes()
        guard !collection.references.isEmpty || !text.isEmpty else { return }
        // A text that this version does not understand never stops anybody.
        collection.referencesRev = item?.pointee.rev ?? 0
        collection.references = text.isEmpty ? [] : (try? ReferenceDefinition.list(text)) ?? []
        references.invalidate()
    }

    private func noteMigrations(_ configuration: Scope, of scope: Scope) {
        guard let version = Int(String(ledger.configured(ConfigurationStore.version, configuration))) else {
            scope.collection.migrations = nil
            return
        }
        let migrations = scope.collection.migrations ?? CollectionMigrations()
        scope.collection.migrations = migrations
        migrations.define(
            version: version, list: ledger.configured(ConfigurationStore.migrations, configuration),
            progress: ledger.configured(ConfigurationStore.migration, configuration))
        if migrations.isRunning { migrating.insert(scope.id) }
    }

    /// A migration has come further.
    func takesProgress(_ item: ItemRef, of scope: Scope?) -> Bool {
        guard ConfigurationStore.isProgress(item.key) else { return false }
        scope?.collection.migrations?.define(progress: item.isTombstone ? Bytes() : item.value)
        return true
    }

    func tellsTables(of key: Bytes) -> Bool {
        ConfigurationStore.toldToTables.contains { key.equals(Bytes($0)) }
    }

    // MARK: References

    /// The collections that refer to documents of this one.
    func referrers(to scope: Scope) -> [Referrer] { references.referrers(to: scope, ledger.scopes) }

    /// A change that is about to be staged, or has been replayed, refers to these documents until it is folded.
    ///
    /// One that refers to very many is found by the field alone, and then looked through: what a document costs here is bounded.
    func claimReferences(_ item: ItemRef, _ scope: Scope, _ buffer: inout ByteBuffer) {
        for definition in scope.collection.references {
            let seed = Referrer(scope: scope, definition: definition).seed
            let ids = definition.field.ids(in: StoredValue(item.value), limit: Self.claimedIDs + 1)
            guard ids.count <= Self.claimedIDs else {
                claims.add(item, seed)
                continue
            }
            for id in ids {
                buffer.removeAll()
                IndexKey.append(id, to: &buffer)
                claims.add(item, Hash.bytes(buffer.bytes, seed: seed))
            }
        }
    }

    /// Ids of one document that are told apart.
    private static let claimedIDs = 256
}
