import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// How a collection is searched, in `documents.configure` and `documents.describe`.
extension Call {
    /// The definition as it is to be kept, empty for none; nil when the request does not name it.
    func wantedSearch(
        _ searchFields: JSONParameter, _ searchTokenizer: TextParameter, _ storage: isolated Storage
    ) throws(Refusal) -> [UInt8]? {
        guard has(searchFields) || has(searchTokenizer) else { return nil }
        let known = storage.documents.search(self[InDocuments.collection])?.definition
        let named = has(searchTokenizer) ? String(self[searchTokenizer]) : nil
        let tokenizer = named.flatMap { SearchDefinition.Tokenizer(rawValue: $0) } ?? known?.tokenizer ?? .unicode61
        guard has(searchFields) else {
            guard let known else {
                throw refusal(
                    searchTokenizer, path: "", "the collection has no searchFields, and the request names none")
            }
            return try known.fieldsText.withBytes { (fields) throws(Refusal) in
                try definition(fields, tokenizer, searchTokenizer)
            }
        }
        let fields = self[searchFields]
        if fields.equals("null") || fields.equals("[]") { return [] }
        return try definition(fields, tokenizer, searchFields)
    }

    private func definition(
        _ fields: Bytes, _ tokenizer: SearchDefinition.Tokenizer, _ parameter: some Parameter
    ) throws(Refusal) -> [UInt8] {
        do throws(IndexDefinition.Fault) {
            return try SearchDefinition(fields: fields, tokenizer: tokenizer).text
        } catch {
            throw .error(
                errorTexts.fault(.invalidParams, path: error.pointer, error.message, parameter: name(parameter)))
        }
    }
}

extension CollectionSearch {
    /// Members of a description. `rows`: documents to go through when it is built, deleted ones counted.
    func append(of rows: Int, to out: inout ByteBuffer) {
        out.append(name: .searchFields)
        out.append(definition.fieldsText)
        out.append(.searchTokenizer, definition.tokenizer.rawValue)
        out.openObject(.search)
        out.append(.state, word: isReady ? "ready" : "building")
        if !isReady {
            out.append(.done, min(done, rows))
            out.append(.total, rows)
        }
        out.append(.entries, entries)
        out.closeObject()
    }
}
