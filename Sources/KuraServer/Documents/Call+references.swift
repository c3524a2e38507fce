import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

extension Call {
    /// What a collection's documents are to refer to; nil when the request does not say.
    /// - Throws: `invalidParams`; `forbidden` for who does not administer a collection that is to be referred to, since its documents
    ///   may not be deletable any more.
    func wantedReferences(_ parameter: JSONParameter) throws(Refusal) -> [ReferenceDefinition]? {
        guard has(parameter) else { return nil }
        let text = self[parameter]
        if text.equals("null") { return [] }
        let wanted: [ReferenceDefinition]
        do throws(ReferenceDefinition.Fault) { wanted = try ReferenceDefinition.list(text) } catch {
            throw .error(
                errorTexts.fault(.invalidParams, path: error.pointer, error.message, parameter: name(parameter)))
        }
        for reference in wanted { try demand(.admin, of: reference.collection) }
        return wanted
    }

    /// - Throws: `forbidden` when the connection may not do this with the collection.
    func demand(_ verbs: Verbs, of collection: [UInt8]) throws(Refusal) {
        guard let permissions = connection?.permissions else { return }
        let missing = verbs.subtracting(collection.withBytes { permissions.verbs(.documents, $0) })
        guard !missing.isEmpty else { return }
        throw .error(.forbidden(errorTexts.missing(missing, .documents, scope: collection)))
    }
}
