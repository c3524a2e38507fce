public import KuraBytes
public import KuraJSON

/// Versions of collections, and the migrations between them.
extension Storage {
    /// What declaring a version asks for.
    public enum VersionPlan: Sendable {
        /// It is the stored one.
        case stored
        /// There are no documents that could be of another.
        case first
        case migrate(from: Int, [Migration])
        /// The stored version is a higher one.
        case tooNew(stored: Int)
        /// No migration leads to this version. `position`: of the one that stands in its place; nil behind the last.
        case gap(version: Int, position: Int?)
        /// A migration leads beyond the declared version.
        case beyond(position: Int)
    }

    /// The collection's version: the one that was declared last, 1 when none was and documents are there; nil when neither.
    public func version(of collection: Bytes) -> Int? {
        guard let scope = ledger.scopes.find(.documents, collection) else { return nil }
        if let migrations = scope.collection.migrations { return migrations.version }
        return scope.lastRev > 0 ? 1 : nil
    }

    /// Whether a version of the collection was ever declared.
    public func hasVersion(_ collection: Bytes) -> Bool {
        ledger.scopes.find(.documents, collection)?.collection.migrations != nil
    }

    /// How the collection's migration stands; nil when it never had any.
    public func migration(of collection: Bytes) -> MigrationProgress? {
        ledger.scopes.find(.documents, collection)?.collection.migrations?.progress
    }

    /// `migrations`: in the order of their versions.
    public func plan(version: Int, _ migrations: [Migration], of collection: Bytes) -> VersionPlan {
        if let last = migrations.last, last.version > version { return .beyond(position: migrations.count - 1) }
        guard let stored = self.version(of: collection) else { return .first }
        guard version >= stored else { return .tooNew(stored: stored) }
        guard version > stored else { return .stored }
        var expected = stored + 1
        var wanted: [Migration] = []
        for (position, migration) in migrations.enumerated() where migration.version > stored {
            guard migration.version == expected else { return .gap(version: expected, position: position) }
            wanted.append(migration)
            expected += 1
        }
        guard expected > version else { return .gap(version: expected, position: nil) }
        return .migrate(from: stored, wanted)
    }

    /// Stages the declaration of a version, and begins the run that it asks for.
    public func declare(
        version: Int, _ plan: VersionPlan, of collection: Bytes, by author: Author
    ) throws(EngineError) {
        let text = Array(String(version).utf8)
        if case .migrate(let from, let migrations) = plan, let scope = ledger.scopes.find(.documents, collection),
            scope.lastRev > 0
        {
            let rev = ledger.rev + 1
            let known = scope.collection.migrations
            let all = (known?.recorded ?? []) + migrations.map { RecordedMigration(rev: rev, migration: $0) }
            // What is under way goes on with the new one: both lead to the new version.
            let isRunning = known?.isRunning ?? false
            let progress = MigrationProgress(
                from: isRunning ? known!.progress!.from : from, to: version, rev: rev, row: Int64(scope.id) << 40,
                total: documents.numbers(collection)?.rows ?? 0)
            try set(ConfigurationStore.migrations, RecordedMigration.text(of: all), collection, author)
            try set(ConfigurationStore.migration, progress.text, collection, author)
        }
        switch plan {
        case .first, .migrate: try set(ConfigurationStore.version, text, collection, author)
        // The first time that it is said: from now on it is known.
        case .stored where configurations.get(.documents, collection, ConfigurationStore.version).item == nil:
            try set(ConfigurationStore.version, text, collection, author)
        case .stored, .tooNew, .gap, .beyond: break
        }
    }

    private func set(
        _ key: StaticString, _ text: [UInt8], _ collection: Bytes, _ author: Author
    ) throws(EngineError) {
        try text.withBytes { (text) throws(EngineError) in
            _ = try configurations.put(.documents, collection, key, text, by: author)
        }
    }

    /// What the migrations would do, for `submit`; nil when there is no such collection.
    public func trial(
        _ collection: Bytes, _ migrations: [Migration], from: Int, to: Int, judge: (any DocumentJudge)?,
        control: QueryControl
    ) -> MigrationTrial? {
        ledger.scopes.find(.documents, collection).map {
            MigrationTrial(
                $0, foldedTo: ledger.scopes.newestRev($0), migrations, from: from, to: to, judge: judge,
                control: control)
        }
    }

    /// Has what migrations make of documents held against something.
    /// `make`: gives a collection's judge; it gets the last one, to be used again.
    public func judgeMigrations(
        _ make: @escaping @Sendable (Bytes, (any DocumentJudge)?, isolated Storage) -> (any DocumentJudge)?
    ) {
        chores.migrations.makeJudge = make
    }

    // MARK: The runs

    /// Looks for documents to migrate, when it is time.
    func migrate(_ time: UInt64) {
        chores.migrate(time) { chores.migrations.makeJudge?($0, $1, self) }
    }
}
