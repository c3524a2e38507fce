import JSONSchema
import KuraBytes
import KuraStorage

/// Holds what migrations make of documents against the collection's schema, when that is enforced. Of its own, since it is asked on
/// another thread than writes are.
final class MigrationJudge: DocumentJudge, @unchecked Sendable {
    // Safety: the query that has it uses it on one thread at a time, and the loop never asks it.

    /// What it was made of.
    private let rules: CollectionRules?
    private let schema: JSONSchema

    init(_ schema: JSONSchema, of rules: CollectionRules?) {
        self.schema = schema
        self.rules = rules
    }

    func fault(of document: Bytes) -> (pointer: String, message: String)? {
        schema.validate(document).map { ($0.instancePointer, $0.message) }
    }

    /// The collection's; nil when no schema is enforced. `last`: the one before, which goes on as long as nothing has changed.
    static func of(
        _ collection: Bytes, _ last: (any DocumentJudge)?, _ storage: isolated Storage
    ) -> (any DocumentJudge)? {
        guard let rules = CollectionRules.of(collection, storage), rules.mode == .enforce, rules.schema != nil else {
            return nil
        }
        if let last = last as? MigrationJudge, last.rules === rules { return last }
        let text = storage.configurations.get(.documents, collection, ConfigurationStore.schema).item?.value
        return text.flatMap { try? StoredSchema.ofCollection($0) }.map { MigrationJudge($0, of: rules) }
    }
}
