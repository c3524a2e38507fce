import JSONSchema
import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// What a collection is configured to be, and its description.
extension DocumentsHandlers {
    // MARK: Configuring

    static func configure(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try configure(call, counted: nil, &out, storage)
    }

    /// `counted`: the collection's tombstones, when the request has had them counted.
    static func configure(
        _ call: Call, counted: TombstoneCount?, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        let collection = call[DocumentsConfigure.collection]
        try call.checkFlushSeconds(
            of: DocumentsConfigure.collection, durability: DocumentsConfigure.durability,
            flushSeconds: DocumentsConfigure.flushSeconds, .documents, storage)
        let references = try call.wantedReferences(DocumentsConfigure.references)
        let indexes = try wantedIndexes(call, references, storage)
        let search = try call.wantedSearch(DocumentsConfigure.searchFields, DocumentsConfigure.searchTokenizer, storage)
        try checkSchema(call)
        let ages = [
            (ConfigurationStore.tombstoneDays, try days(DocumentsConfigure.tombstoneDays, call)),
            (ConfigurationStore.retainDays, try days(DocumentsConfigure.retainDays, call)),
            (ConfigurationStore.history, try wantedHistory(call)),
        ]
        let declaration = try declaration(call, counted, storage)
        try call.run { () throws(EngineError) in
            try storage.configurations.check(call.condition(DocumentsConfigure.ifRev), .documents, collection)
        }
        if let declaration, call[DocumentsConfigure.dryRun] {
            return try dryRun(declaration, call, &out, storage)
        }
        let transaction = storage.beginTransaction(by: call.author(storage))
        do throws(Refusal) {
            try stage(call, indexes, references, search, ages, storage)
            if let declaration {
                try call.run { () throws(EngineError) in
                    try storage.declare(
                        version: declaration.version, declaration.plan, of: collection, by: call.author(storage))
                }
            }
        } catch {
            storage.abandon(transaction)
            throw error
        }
        let rev = storage.end(transaction) ?? storage.configurations.rev(.documents, collection)
        call.append(rev: rev, to: &out)
        out.openList(.building)
        for index in storage.documents.indexes(collection)?.all ?? [] where index.state == .building {
            index.definition.name.withBytes { out.append(element: $0) }
        }
        out.closeList()
        if let declaration {
            append(declarationOf: collection, to: &out, storage)
            call.declares(declaration.version, of: collection)
        }
        if let search = storage.documents.search(collection) {
            out.append(.search, word: search.isReady ? "ready" : "building")
        }
        out.closeObject()
    }

    /// The definitions' list as it is to be kept, those of references included; nil when the request names neither.
    private static func wantedIndexes(
        _ call: Call, _ references: [ReferenceDefinition]?, _ storage: isolated Storage
    ) throws(Refusal) -> [UInt8]? {
        guard call.has(DocumentsConfigure.indexes) || references != nil else { return nil }
        let known = storage.documents.indexes(call[InDocuments.collection])?.all ?? []
        let referring = (references ?? storage.documents.references(call[InDocuments.collection])).map(\.index)
        var wanted = known.map(\.definition).filter { !$0.isEach }
        if call.has(DocumentsConfigure.indexes) {
            let text = call[DocumentsConfigure.indexes]
            do throws(IndexDefinition.Fault) {
                wanted = text.equals("null") ? [] : try IndexDefinition.list(text, isStored: false)
            } catch {
                throw .error(
                    call.errorTexts.fault(
                        .invalidParams, path: error.pointer, error.message,
                        parameter: call.name(DocumentsConfigure.indexes)))
            }
        }
        guard wanted.count + referring.count <= IndexDefinition.limit else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "too many indexes, those of references included",
                    parameter: call.name(
                        references == nil ? DocumentsConfigure.indexes : DocumentsConfigure.references),
                    limit: IndexDefinition.limit))
        }
        wanted += referring
        if wanted.isEmpty { return [] }
        return IndexDefinition.text(
            of: wanted.map { definition in
                guard let index = known.first(where: { $0.definition.isLike(definition) }) else { return definition }
                // Whoever names one again that has failed wants it to be tried again.
                return index.state == .failed ? index.definition.again : index.definition
            })
    }

    private static func checkSchema(_ call: Call) throws(Refusal) {
        let text = call[DocumentsConfigure.schema]
        guard call.has(DocumentsConfigure.schema), !text.equals("null") else { return }
        do throws(SchemaError) { _ = try StoredSchema.ofCollection(text) } catch {
            throw .error(
                call.errorTexts.fault(
                    .invalidParams, path: error.pointer, error.message,
                    parameter: call.name(DocumentsConfigure.schema)))
        }
    }

    /// A number of days, or null, as it is kept, however it was written; nil when the parameter is absent.
    private static func days(_ parameter: JSONParameter, _ call: Call) throws(Refusal) -> [UInt8]? {
        guard call.has(parameter) else { return nil }
        let text = call[parameter]
        guard !text.equals("null") else { return Array(text) }
        guard let days = ConfiguredValue.days(text) else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "days are a whole number of 1 to 36,500, or null",
                    parameter: call.name(parameter)))
        }
        return Array(String(days).utf8)
    }

    /// What is kept of documents' versions, or null, as it is kept, however it was written; nil when the parameter is absent.
    private static func wantedHistory(_ call: Call) throws(Refusal) -> [UInt8]? {
        guard call.has(DocumentsConfigure.history) else { return nil }
        let text = call[DocumentsConfigure.history]
        guard !text.equals("null") else { return Array(text) }
        do throws(HistoryRule.Fault) { return try HistoryRule(text).text } catch {
            throw .error(
                call.errorTexts.fault(
                    .invalidParams, path: error.pointer, error.message,
                    parameter: call.name(DocumentsConfigure.history)))
        }
    }

    /// Stages what the request says; what it does not name stays.
    private static func stage(
        _ call: Call, _ indexes: [UInt8]?, _ references: [ReferenceDefinition]?,
        _ search: [UInt8]?, _ ages: [(key: StaticString, text: [UInt8]?)], _ storage: isolated Storage
    ) throws(Refusal) {
        let collection = call[InDocuments.collection]
        let configured = storage.configurations
        if let indexes {
            try indexes.withBytes { (text) throws(Refusal) in
                try set(ConfigurationStore.indexes, text, from: DocumentsConfigure.indexes, call, storage)
            }
        }
        if let search {
            try search.withBytes { (text) throws(Refusal) in
                try set(ConfigurationStore.search, text, from: DocumentsConfigure.searchFields, call, storage)
            }
        }
        if let references {
            try ReferenceDefinition.text(of: references).withBytes { (text) throws(Refusal) in
                try set(
                    ConfigurationStore.references, references.isEmpty ? Bytes() : text,
                    from: DocumentsConfigure.references,
                    call, storage)
            }
        }
        if call.has(DocumentsConfigure.schema) {
            let text = call[DocumentsConfigure.schema]
            try set(ConfigurationStore.schema, text, from: DocumentsConfigure.schema, call, storage)
        }
        let author = call.author(storage)
        try call.run { () throws(EngineError) in
            if call.has(DocumentsConfigure.backup) {
                // As at first: what is not kept is true.
                let isKept = call[DocumentsConfigure.backup]
                try configured.set(
                    .documents, collection, ConfigurationStore.backup, isKept ? Bytes() : Bytes("false"), by: author)
            }
            if call.has(DocumentsConfigure.schemaMode) {
                let word = Array("\"\(String(call[DocumentsConfigure.schemaMode]))\"".utf8)
                try word.withBytes { (word) throws(EngineError) in
                    try configured.set(.documents, collection, ConfigurationStore.mode, word, by: author)
                }
            }
            for (key, text) in ages {
                guard let text else { continue }
                try text.withBytes { (text) throws(EngineError) in
                    try configured.set(.documents, collection, key, text, by: author)
                }
            }
            if call.has(DocumentsConfigure.durability) || call.has(DocumentsConfigure.flushSeconds) {
                let isDurable = call[DocumentsConfigure.durability].elementsEqual("durable".utf8)
                let known = configured.flushSeconds(.documents, collection) ?? ConfigurationStore.standardFlushSeconds
                let seconds = call[DocumentsConfigure.flushSeconds].map { Int($0) } ?? known
                try configured.setDurability(
                    .documents, collection, flushSeconds: isDurable ? nil : seconds, by: author)
            }
        }
    }

    /// Stages what a parameter says, and names it when that is too long.
    private static func set(
        _ key: StaticString, _ text: Bytes, from parameter: some Parameter, _ call: Call, _ storage: isolated Storage
    ) throws(Refusal) {
        do throws(EngineError) {
            try storage.configurations.set(
                .documents, call[InDocuments.collection], key, text, by: call.author(storage))
        } catch {
            guard case .valueTooLarge(let limit) = error else { throw Refusal(error, call: call) }
            throw .error(RPCError(.valueTooLarge, parameter: call.name(parameter), limit: limit))
        }
    }

    // MARK: Describing

    static func describe(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let collection = call[DocumentsDescribe.collection]
        try declare(call, storage)
        if let milliseconds = call[DocumentsDescribe.waitMs], milliseconds > 0,
            let ticket = storage.awaitIndexes(collection, milliseconds: Int(milliseconds))
        {
            throw call.wait(for: ticket) { (call, out, storage) throws(Refusal) in
                try declare(call, storage)
                try describeNow(call, &out, storage)
            }
        }
        try describeNow(call, &out, storage)
    }

    private static func declare(_ call: Call, _ storage: isolated Storage) throws(Refusal) {
        guard let declared = call[DocumentsDescribe.version] else { return }
        call.declares(Int(declared), of: call[DocumentsDescribe.collection])
        if let stored = storage.version(of: call[DocumentsDescribe.collection]), declared < stored {
            throw .error(.schemaTooNew(stored: stored, declared: Int(declared)))
        }
    }

    private static func describeNow(
        _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        let collection = call[DocumentsDescribe.collection]
        guard let count = storage.documents.tombstones(collection) else {
            return append(description: collection, 0, call, &out, storage)
        }
        let incarnation = storage.documents.incarnation(collection)
        throw call.wait(for: storage.submit(count)) {
            (call, count: TombstoneCount, error, out, storage) throws(Refusal) in
            try declare(call, storage)
            // The collection was dropped meanwhile, and another one has its name: the count is not that one's.
            guard storage.documents.incarnation(call[DocumentsDescribe.collection]) == incarnation else {
                return try describeNow(call, &out, storage)
            }
            if let error, error != .engine(.noSpace) { throw Refusal(error, call: call) }
            append(description: call[DocumentsDescribe.collection], count.count, call, &out, storage)
        }
    }

    private static func append(
        description collection: Bytes, _ tombstones: Int, _ call: Call, _ out: inout ByteBuffer,
        _ storage: isolated Storage
    ) {
        let configured = storage.configurations
        call.append(rev: configured.rev(.documents, collection), to: &out)
        let numbers = storage.documents.numbers(collection)
        out.append(.count, numbers?.count ?? 0)
        out.append(.bytes, numbers?.bytes ?? 0)
        out.append(.tombstones, tombstones)
        out.openList(.indexes)
        for index in storage.documents.indexes(collection)?.all ?? [] {
            append(index, of: numbers?.rows ?? 0, to: &out)
        }
        out.closeList()
        append(versionOf: collection, to: &out, storage)
        if let search = storage.documents.search(collection) { search.append(of: numbers?.rows ?? 0, to: &out) }
        if let schema = configured.get(.documents, collection, ConfigurationStore.schema).item {
            out.append(.schema, json: schema.value)
        }
        if let rules = CollectionRules.of(collection, storage), rules.schema != nil {
            out.append(.schemaMode, rules.mode.rawValue)
        }
        if let days = configured.get(.documents, collection, ConfigurationStore.tombstoneDays).item {
            out.append(name: .tombstoneDays)
            out.append(days.value)
        }
        if let days = configured.get(.documents, collection, ConfigurationStore.retainDays).item {
            out.append(name: .retainDays)
            out.append(days.value)
        }
        if let history = configured.get(.documents, collection, ConfigurationStore.history).item {
            out.append(.history, json: history.value)
        }
        if let seconds = configured.flushSeconds(.documents, collection) {
            out.append(.durability, word: "relaxed")
            out.append(.flushSeconds, seconds)
        } else {
            out.append(.durability, word: "durable")
        }
        if let references = configured.get(.documents, collection, ConfigurationStore.references).item {
            out.append(.references, json: references.value)
        }
        out.append(.backup, configured.get(.documents, collection, ConfigurationStore.backup).item == nil)
        out.closeObject()
        call.shows(storage.rev)
    }

    /// `rows`: documents to go through when the index is built, deleted ones counted.
    private static func append(_ index: CollectionIndex, of rows: Int, to out: inout ByteBuffer) {
        out.openObject()
        out.append(.name, index.definition.name)
        out.openList(.fields)
        for field in index.definition.fields { field.text.withBytes { out.append(element: $0) } }
        out.closeList()
        out.append(.unique, index.definition.isUnique)
        if let filter = index.definition.filter {
            out.append(name: AnyMember.where)
            out.append(filter.text)
        }
        if index.definition.isEach { out.append(.each, true) }
        out.append(.state, index.state.rawValue)
        if index.state == .building {
            out.append(.done, min(index.done, rows))
            out.append(.total, rows)
        }
        if let conflict = index.conflict {
            out.openList(.conflict)
            conflict.first.withBytes { out.append(element: $0) }
            conflict.second.withBytes { out.append(element: $0) }
            out.closeList()
        }
        out.append(.entries, index.entries)
        out.append(.bytes, index.bytes)
        out.closeObject()
    }
}
