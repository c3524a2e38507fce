import JSONSchema
import KuraBytes
import KuraProtocol
import KuraStorage

/// The schema of a collection: what its documents may be. Read once, kept with the collection, and read anew after its
/// configuration has changed.
final class CollectionRules {
    let mode: SchemaMode
    /// Nil when there is none, or one that this version does not understand: that never stops anybody.
    let schema: JSONSchema?

    init(_ schema: JSONSchema?, mode: SchemaMode) {
        self.schema = schema
        self.mode = mode
    }

    /// The collection's; nil when nothing is configured for it.
    static func of(_ collection: Bytes, _ storage: isolated Storage) -> CollectionRules? {
        of(collection, storage.documents, storage.configurations)
    }

    /// From now on what deletions change is held against schemas that are enforced.
    static func judgeDeletions(_ storage: isolated Storage) {
        let configured = storage.configurations
        storage.documents.judge = { documents, collection, value in
            guard let rules = of(collection, documents, configured), rules.mode == .enforce else { return nil }
            return rules.violation(value).map { ($0.instancePointer, $0.message) }
        }
    }

    private static func of(
        _ collection: Bytes, _ documents: DocumentsStore, _ configured: ConfigurationStore
    ) -> CollectionRules? {
        guard let annex = documents.annex(collection) else { return nil }
        if !annex.isStale, let reading = annex.reading {
            // Safety: an annex of documents is kept here alone, with rules.
            return unsafe unsafeDowncast(reading, to: CollectionRules.self)
        }
        let schema = configured.get(.documents, collection, ConfigurationStore.schema).item
        let mode = configured.get(.documents, collection, ConfigurationStore.mode).item.flatMap { SchemaMode($0.value) }
        let rules = CollectionRules(schema.flatMap { try? StoredSchema.ofCollection($0.value) }, mode: mode ?? .warn)
        annex.keep(rules)
        return rules
    }

    /// How a document breaks the schema; nil when it does not, or nobody asks.
    func violation(_ document: Bytes) -> Violation? {
        // One that is too large is refused by the store, and costs nothing here.
        guard mode != .off, let schema, document.count <= DocumentsStore.valueLimit else { return nil }
        return schema.validate(document)
    }
}

extension Call {
    /// Holds a document that is to be written against the collection's schema.
    /// - Returns: what the reply warns of.
    /// - Throws: `schemaViolation`, when the schema is enforced.
    func check(_ rules: CollectionRules?, _ document: Bytes) throws(Refusal) -> Violation? {
        guard let rules, let violation = rules.violation(document) else { return nil }
        if rules.mode == .enforce { throw violates(violation) }
        return violation
    }

    /// Others refer to the document: who they are is told to who may read there.
    func fault(_ document: ReferencedDocument) -> RPCError {
        shows(document.rev)
        var error = RPCError(.referenced)
        if shows(.read, .documents, scope: document.target) { errorTexts.name(document: document.id, in: &error) }
        guard shows(.read, .documents, scope: document.collection) else { return error }
        errorTexts.name(
            referrer: document.collection, field: document.field, ids: document.ids, count: document.count, in: &error)
        return error
    }

    /// What would lose its reference would break its schema: that is told to who may read there.
    func fault(_ document: UnfitDocument) -> RPCError {
        shows(document.rev)
        guard shows(.read, .documents, scope: document.collection) else { return RPCError(.schemaViolation) }
        var error = errorTexts.fault(.schemaViolation, path: document.pointer, document.message)
        errorTexts.name(referrer: document.collection, ids: [document.id], in: &error)
        return error
    }

    /// Another document stands in the way; its id is shown to who may read there (`perform`).
    func fault(_ violation: UniqueViolation) -> RPCError {
        shows(violation.rev)
        var error = RPCError(.uniqueViolation)
        errorTexts.name(index: violation.index, in: &error)
        errorTexts.name(document: violation.id, in: &error)
        return error
    }
}
