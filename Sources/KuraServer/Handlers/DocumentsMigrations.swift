import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// What `documents.configure` and `describe` say of versions and migrations.
extension DocumentsHandlers {
    /// A version that a request declares, and what follows from it.
    struct Declaration {
        var version: Int
        var plan: Storage.VersionPlan

        /// The migrations that it begins.
        var migrations: [Migration] {
            if case .migrate(_, let migrations) = plan { migrations } else { [] }
        }
    }

    /// - Returns: nil when the request declares none.
    /// - Throws: `schemaTooNew`, and what is wrong with the migrations.
    static func declaration(
        _ call: Call, _ counted: TombstoneCount?, _ storage: isolated Storage
    ) throws(Refusal) -> Declaration? {
        guard let declared = call[DocumentsConfigure.version] else {
            let others: [any Parameter] = [
                DocumentsConfigure.migrations, DocumentsConfigure.dryRun, DocumentsConfigure.timeoutMs,
            ]
            for parameter in others where call.has(parameter) {
                throw .error(
                    RPCError(
                        .invalidParams, hint: "goes with version only", parameter: call.name(parameter)))
            }
            return nil
        }
        var migrations: [Migration] = []
        if call.has(DocumentsConfigure.migrations) {
            let text = call[DocumentsConfigure.migrations]
            do throws(MigrationError) { migrations = try Migration.list(text) } catch {
                throw call.refusal(DocumentsConfigure.migrations, path: error.pointer, error.message)
            }
        }
        let plan = storage.plan(version: Int(declared), migrations, of: call[InDocuments.collection])
        switch plan {
        case .tooNew(let stored):
            call.declares(Int(declared), of: call[InDocuments.collection])
            throw .error(.schemaTooNew(stored: stored, declared: Int(declared)))
        case .gap(let version, let position):
            if try isEmpty(call, counted, storage) { return Declaration(version: Int(declared), plan: .first) }
            let hasTombstones = storage.documents.count(call[InDocuments.collection]).count == 0
            throw call.refusal(
                DocumentsConfigure.migrations, path: position.map { "/\($0)/to" } ?? "",
                "no migration leads to version \(version)"
                    + (hasTombstones ? ", and deleted documents could be brought back: purge them first" : ""))
        case .beyond(let position):
            throw call.refusal(
                DocumentsConfigure.migrations, path: "/\(position)/to", "it leads beyond the version that is declared")
        case .stored, .first, .migrate: return Declaration(version: Int(declared), plan: plan)
        }
    }

    /// Whether nothing is there that a migration could be about: no documents, and no deleted ones that could be brought back.
    private static func isEmpty(
        _ call: Call, _ counted: TombstoneCount?, _ storage: isolated Storage
    ) throws(Refusal) -> Bool {
        let collection = call[InDocuments.collection]
        // An operation of a transaction does not wait for the tables.
        guard storage.documents.count(collection).count == 0, !call.isOperation else { return false }
        if let counted, counted.foldedTo == storage.documents.lastRev(collection) { return counted.count == 0 }
        guard let count = storage.documents.tombstones(collection) else { return true }
        throw call.wait(for: storage.submit(count)) {
            (call, count: TombstoneCount, error, out, storage) throws(Refusal) in
            try call.check(error)
            try configure(call, counted: count, &out, storage)
        }
    }

    /// Tells what migrations would do; nothing is changed.
    static func dryRun(
        _ declaration: Declaration, _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        let collection = call[InDocuments.collection]
        let others: [any Parameter] = [
            DocumentsConfigure.indexes, DocumentsConfigure.tombstoneDays, DocumentsConfigure.retainDays,
            DocumentsConfigure.history,
            DocumentsConfigure.durability, DocumentsConfigure.flushSeconds, DocumentsConfigure.references,
            DocumentsConfigure.backup, DocumentsConfigure.searchFields, DocumentsConfigure.searchTokenizer,
        ]
        for parameter in others where call.has(parameter) {
            throw .error(
                RPCError(
                    .invalidParams, hint: "a dry run is about version, migrations and schema",
                    parameter: call.name(parameter)))
        }
        guard !call.isOperation, call.reader.requestKey == nil else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "a dry run stands alone: it changes nothing",
                    parameter: call.name(DocumentsConfigure.dryRun)))
        }
        let from: Int
        if case .migrate(let stored, _) = declaration.plan { from = stored } else { from = declaration.version }
        let query = storage.trial(
            collection, declaration.migrations, from: from, to: declaration.version, judge: try judge(call, storage),
            control: QueryControl(milliseconds: Int(call[DocumentsConfigure.timeoutMs] ?? 60_000), call.clock))
        let version = declaration.version
        guard let query else { return append(nil, to: version, call, &out, storage) }
        throw call.wait(for: storage.submit(query)) {
            (call, trial: MigrationTrial, error, out, storage) throws(Refusal) in
            try call.check(error)
            append(trial, to: version, call, &out, storage)
        }
    }

    /// `trial`: nil when there is nothing to migrate.
    private static func append(
        _ trial: MigrationTrial?, to version: Int, _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) {
        call.append(rev: storage.configurations.rev(.documents, call[InDocuments.collection]), to: &out)
        out.openList(.building)
        out.closeList()
        out.openObject(.dryRun)
        out.append(.from, trial?.from ?? version)
        out.append(.to, version)
        out.append(.documents, trial?.documents ?? 0)
        out.append(.changed, trial?.changed ?? 0)
        out.append(.failed, trial?.failed ?? 0)
        out.openList(.steps)
        for step in trial?.steps ?? [] {
            out.openObject()
            out.append(.to, step.version)
            out.append(.step, step.step)
            out.append(.changed, step.changed)
            out.append(.unconverted, step.unconverted)
            out.closeObject()
        }
        out.closeList()
        append(failures: trial?.failures ?? [], to: &out)
        out.closeObject()
        out.closeObject()
        call.shows(trial?.rev ?? storage.rev)
    }

    /// What a dry run holds results against: the schema of the request, else the collection's.
    private static func judge(_ call: Call, _ storage: isolated Storage) throws(Refusal) -> (any DocumentJudge)? {
        let collection = call[InDocuments.collection]
        let rules = CollectionRules.of(collection, storage)
        let isEnforced =
            call.has(DocumentsConfigure.schemaMode)
            ? call[DocumentsConfigure.schemaMode].elementsEqual("enforce".utf8) : rules?.mode == .enforce
        guard isEnforced else { return nil }
        let stored = storage.configurations.get(.documents, collection, ConfigurationStore.schema).item?.value
        let text = call.has(DocumentsConfigure.schema) ? call[DocumentsConfigure.schema] : stored
        guard let text, !text.equals("null"), let schema = try? StoredSchema.ofCollection(text) else { return nil }
        return MigrationJudge(schema, of: nil)
    }

    /// The members `version` and `migrating`.
    static func append(declarationOf collection: Bytes, to out: inout ByteBuffer, _ storage: isolated Storage) {
        out.append(.version, storage.version(of: collection) ?? 1)
        out.append(.migrating, storage.migration(of: collection).map { !$0.isDone } ?? false)
    }

    /// The members `version` and `migration`, what there is of them.
    static func append(versionOf collection: Bytes, to out: inout ByteBuffer, _ storage: isolated Storage) {
        guard storage.hasVersion(collection) else { return }
        out.append(.version, storage.version(of: collection) ?? 1)
        guard let progress = storage.migration(of: collection) else { return }
        out.openObject(.migration)
        out.append(.state, word: progress.isDone ? "done" : "running")
        out.append(.from, progress.from)
        out.append(.to, progress.to)
        out.append(.done, progress.done)
        out.append(.total, progress.total)
        out.append(.changed, progress.changed)
        out.append(.failed, progress.failed)
        append(failures: progress.failures, to: &out)
        out.closeObject()
    }

    private static func append(failures: [MigrationFailure], to out: inout ByteBuffer) {
        out.openList(.failures)
        for failure in failures {
            out.beginElement()
            failure.append(to: &out)
        }
        out.closeList()
    }
}

extension RPCError {
    static func schemaTooNew(stored: Int, declared: Int) -> RPCError {
        var error = RPCError(.schemaTooNew)
        error.storedVersion = stored
        error.declaredVersion = declared
        return error
    }
}
