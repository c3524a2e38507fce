import JSONSchema
import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// What a collection is configured to be, and its description.
extension DocumentsHandlers {
    // MARK: Configuring

    static func configure(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let collection = call[DocumentsConfigure.collection]
        try call.checkFlushSeconds(
            of: DocumentsConfigure.collection, durability: DocumentsConfigure.durability,
            flushSeconds: DocumentsConfigure.flushSeconds, .documents, storage)
        let references = try call.wantedReferences(DocumentsConfigure.references)
        let indexes = try wantedIndexes(call, references, storage)
        let search = try call.wantedSearch(DocumentsConfigure.searchFields, DocumentsConfigure.searchTokenizer, storage)
        try checkSchema(call)
        let days = (
            tombstones: try days(DocumentsConfigure.tombstoneDays, call),
            documents: try days(DocumentsConfigure.retainDays, call)
        )
        let declaration = try declaration(call, storage)
        try call.run { () throws(StoreError) in
            try storage.configurations.check(call.condition(DocumentsConfigure.ifRev), .documents, collection)
        }
        if let declaration, call.reader[DocumentsConfigure.dryRun] {
            return try dryRun(declaration, call, &out, storage)
        }
        let transaction = storage.beginTransaction()
        do throws(Refusal) {
            try stage(call, indexes, references, search, days, storage)
            if let declaration {
                try call.run { () throws(StoreError) in
                    try storage.declare(version: declaration.version, declaration.plan, of: collection)
                }
            }
        } catch {
            storage.abandon(transaction)
            throw error
        }
        let rev = storage.end(transaction) ?? storage.configurations.rev(.documents, collection)
        call.append(rev: rev, to: &out)
        out.append(",\"building\":[")
        var isFirst = true
        for index in storage.documents.indexes(collection)?.all ?? [] where index.state == .building {
            if !isFirst { out.append(",") }
            isFirst = false
            index.definition.name.withBytes { out.append(quoted: $0) }
        }
        out.append("]")
        if let declaration {
            append(declarationOf: collection, to: &out, storage)
            call.declares(declaration.version, of: collection)
        }
        if let search = storage.documents.search(collection) {
            out.append(search.isReady ? ",\"search\":\"ready\"" : ",\"search\":\"building\"")
        }
        out.append("}")
    }

    /// The definitions' list as it is to be kept, those of references included; nil when the request names neither.
    private static func wantedIndexes(
        _ call: Call, _ references: [ReferenceDefinition]?, _ storage: isolated Storage
    ) throws(Refusal) -> [UInt8]? {
        guard call.reader.has(DocumentsConfigure.indexes) || references != nil else { return nil }
        let known = storage.documents.indexes(call[InDocuments.collection])?.all ?? []
        let referring = (references ?? storage.documents.references(call[InDocuments.collection])).map(\.index)
        var wanted = known.map(\.definition).filter { !$0.isEach }
        if call.reader.has(DocumentsConfigure.indexes) {
            let text = call.reader[DocumentsConfigure.indexes]
            do throws(IndexDefinition.Fault) {
                wanted = text.equals("null") ? [] : try IndexDefinition.list(text, isStored: false)
            } catch {
                throw .error(
                    call.fault(
                        .invalidParams, path: error.pointer, error.message,
                        parameter: call.reader.name(DocumentsConfigure.indexes)))
            }
        }
        guard wanted.count + referring.count <= IndexDefinition.limit else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "too many indexes, those of references included",
                    parameter: call.reader.name(
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
        let text = call.reader[DocumentsConfigure.schema]
        guard call.reader.has(DocumentsConfigure.schema), !text.equals("null") else { return }
        do throws(SchemaError) { _ = try StoredSchema.ofCollection(text) } catch {
            throw .error(
                call.fault(
                    .invalidParams, path: error.pointer, error.message,
                    parameter: call.reader.name(DocumentsConfigure.schema)))
        }
    }

    /// A number of days, or null, as it is kept, however it was written; nil when the parameter is absent.
    private static func days(_ parameter: JSONParameter, _ call: Call) throws(Refusal) -> [UInt8]? {
        guard call.reader.has(parameter) else { return nil }
        let text = call.reader[parameter]
        guard !text.equals("null") else { return Array(text) }
        guard let days = ConfiguredValue.days(text) else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "days are a whole number of 1 to 36,500, or null",
                    parameter: call.reader.name(parameter)))
        }
        return Array(String(days).utf8)
    }

    /// Stages what the request says; what it does not name stays.
    private static func stage(
        _ call: Call, _ indexes: [UInt8]?, _ references: [ReferenceDefinition]?,
        _ search: [UInt8]?, _ days: (tombstones: [UInt8]?, documents: [UInt8]?), _ storage: isolated Storage
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
        if call.reader.has(DocumentsConfigure.schema) {
            let text = call.reader[DocumentsConfigure.schema]
            try set(ConfigurationStore.schema, text, from: DocumentsConfigure.schema, call, storage)
        }
        try call.run { () throws(StoreError) in
            if call.reader.has(DocumentsConfigure.backup) {
                // As at first: what is not kept is true.
                let isKept = call.reader[DocumentsConfigure.backup]
                try configured.set(
                    .documents, collection, ConfigurationStore.backup, isKept ? Bytes() : Bytes("false"))
            }
            if call.reader.has(DocumentsConfigure.schemaMode) {
                let word = Array("\"\(String(call.reader[DocumentsConfigure.schemaMode]))\"".utf8)
                try word.withBytes { (word) throws(StoreError) in
                    try configured.set(.documents, collection, ConfigurationStore.mode, word)
                }
            }
            for (days, key) in [
                (days.tombstones, ConfigurationStore.tombstoneDays),
                (days.documents, ConfigurationStore.retainDays),
            ] {
                guard let days else { continue }
                try days.withBytes { (text) throws(StoreError) in
                    try configured.set(.documents, collection, key, text)
                }
            }
            if call.reader.has(DocumentsConfigure.durability) || call.reader.has(DocumentsConfigure.flushSeconds) {
                let isDurable = call.reader[DocumentsConfigure.durability].elementsEqual("durable".utf8)
                let known = configured.flushSeconds(.documents, collection) ?? ConfigurationStore.standardFlushSeconds
                let seconds = call.reader[DocumentsConfigure.flushSeconds].map { Int($0) } ?? known
                try configured.setDurability(.documents, collection, flushSeconds: isDurable ? nil : seconds)
            }
        }
    }

    /// Stages what a parameter says, and names it when that is too long.
    private static func set(
        _ key: StaticString, _ text: Bytes, from parameter: some Parameter, _ call: Call, _ storage: isolated Storage
    ) throws(Refusal) {
        do throws(StoreError) {
            try storage.configurations.set(.documents, call[InDocuments.collection], key, text)
        } catch {
            guard case .valueTooLarge(let limit) = error else { throw Refusal(error, call: call) }
            throw .error(RPCError(.valueTooLarge, parameter: call.reader.name(parameter), limit: limit))
        }
    }

    // MARK: Describing

    static func describe(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let collection = call[DocumentsDescribe.collection]
        let answer = call.takeAnswer()
        if let declared = call[DocumentsDescribe.version] {
            call.declares(Int(declared), of: collection)
            if let stored = storage.version(of: collection), declared < stored {
                throw .error(.schemaTooNew(stored: stored, declared: Int(declared)))
            }
        }
        if answer == nil, let milliseconds = call[DocumentsDescribe.waitMs], milliseconds > 0,
            let ticket = storage.awaitIndexes(collection, milliseconds: Int(milliseconds))
        {
            throw .query(ticket: ticket)
        }
        var tombstones = 0
        if let count = answer?.query as? TombstoneCount {
            if let error = answer?.error, error != .noSpace { throw Refusal(error, call: call) }
            tombstones = count.count
        } else if let count = storage.documents.tombstones(collection) {
            throw .query(ticket: storage.submit(count))
        }
        append(description: collection, tombstones, call, &out, storage)
    }

    private static func append(
        description collection: Bytes, _ tombstones: Int, _ call: Call, _ out: inout ByteBuffer,
        _ storage: isolated Storage
    ) {
        let configured = storage.configurations
        call.append(rev: configured.rev(.documents, collection), to: &out)
        let numbers = storage.documents.numbers(collection)
        out.append(",\"count\":")
        out.append(integer: Int64(numbers?.count ?? 0))
        out.append(",\"bytes\":")
        out.append(integer: Int64(numbers?.bytes ?? 0))
        out.append(",\"tombstones\":")
        out.append(integer: Int64(tombstones))
        out.append(",\"indexes\":[")
        for (position, index) in (storage.documents.indexes(collection)?.all ?? []).enumerated() {
            if position > 0 { out.append(",") }
            append(index, of: numbers?.rows ?? 0, to: &out)
        }
        out.append("]")
        append(versionOf: collection, to: &out, storage)
        if let search = storage.documents.search(collection) { search.append(of: numbers?.rows ?? 0, to: &out) }
        if let schema = configured.get(.documents, collection, ConfigurationStore.schema).item {
            out.append(",\"schema\":")
            out.append(schema.value)
        }
        if let rules = CollectionRules.of(collection, storage), rules.schema != nil {
            out.append(",\"schemaMode\":")
            out.append(quoted: rules.mode.rawValue)
        }
        if let days = configured.get(.documents, collection, ConfigurationStore.tombstoneDays).item {
            out.append(",\"tombstoneDays\":")
            out.append(days.value)
        }
        if let days = configured.get(.documents, collection, ConfigurationStore.retainDays).item {
            out.append(",\"retainDays\":")
            out.append(days.value)
        }
        if let seconds = configured.flushSeconds(.documents, collection) {
            out.append(",\"durability\":\"relaxed\",\"flushSeconds\":")
            out.append(integer: Int64(seconds))
        } else {
            out.append(",\"durability\":\"durable\"")
        }
        if let references = configured.get(.documents, collection, ConfigurationStore.references).item {
            out.append(",\"references\":")
            out.append(references.value)
        }
        let isLeftOut = configured.get(.documents, collection, ConfigurationStore.backup).item != nil
        out.append(isLeftOut ? ",\"backup\":false" : ",\"backup\":true")
        out.append("}")
        call.shows(storage.rev)
    }

    /// `rows`: documents to go through when the index is built, deleted ones counted.
    private static func append(_ index: CollectionIndex, of rows: Int, to out: inout ByteBuffer) {
        out.append("{\"name\":")
        index.definition.name.withBytes { out.append(quoted: $0) }
        out.append(",\"fields\":[")
        for (position, field) in index.definition.fields.enumerated() {
            if position > 0 { out.append(",") }
            field.text.withBytes { out.append(quoted: $0) }
        }
        out.append("],\"unique\":")
        out.append(index.definition.isUnique ? "true" : "false")
        if let filter = index.definition.filter {
            out.append(",\"where\":")
            out.append(filter.text)
        }
        if index.definition.isEach { out.append(",\"each\":true") }
        out.append(",\"state\":")
        out.append(quoted: index.state.rawValue)
        if index.state == .building {
            out.append(",\"done\":")
            out.append(integer: Int64(min(index.done, rows)))
            out.append(",\"total\":")
            out.append(integer: Int64(rows))
        }
        if let conflict = index.conflict {
            out.append(",\"conflict\":[")
            conflict.first.withBytes { out.append(quoted: $0) }
            out.append(",")
            conflict.second.withBytes { out.append(quoted: $0) }
            out.append("]")
        }
        out.append(",\"entries\":")
        out.append(integer: Int64(index.entries))
        out.append(",\"bytes\":")
        out.append(integer: Int64(index.bytes))
        out.append("}")
    }
}
