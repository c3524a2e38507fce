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
        guard reader.has(searchFields) || reader.has(searchTokenizer) else { return nil }
        let known = storage.documents.search(reader[InDocuments.collection])?.definition
        let named = reader.has(searchTokenizer) ? String(reader[searchTokenizer]) : nil
        let tokenizer = named.flatMap { SearchDefinition.Tokenizer(rawValue: $0) } ?? known?.tokenizer ?? .unicode61
        guard reader.has(searchFields) else {
            guard let known else {
                throw refusal(
                    searchTokenizer, path: "", "the collection has no searchFields, and the request names none")
            }
            return try known.fieldsText.withBytes { (fields) throws(Refusal) in
                try definition(fields, tokenizer, searchTokenizer)
            }
        }
        let fields = reader[searchFields]
        if fields.equals("null") || fields.equals("[]") { return [] }
        return try definition(fields, tokenizer, searchFields)
    }

    private func definition(
        _ fields: Bytes, _ tokenizer: SearchDefinition.Tokenizer, _ parameter: some Parameter
    ) throws(Refusal) -> [UInt8] {
        do throws(IndexDefinition.Fault) {
            return try SearchDefinition(fields: fields, tokenizer: tokenizer).text
        } catch {
            throw .error(fault(.invalidParams, path: error.pointer, error.message, parameter: reader.name(parameter)))
        }
    }
}

extension CollectionSearch {
    /// Members of a description. `rows`: documents to go through when it is built, deleted ones counted.
    func append(of rows: Int, to out: inout ByteBuffer) {
        out.append(",\"searchFields\":")
        out.append(definition.fieldsText)
        out.append(",\"searchTokenizer\":")
        out.append(quoted: definition.tokenizer.rawValue)
        out.append(isReady ? ",\"search\":{\"state\":\"ready\"" : ",\"search\":{\"state\":\"building\"")
        if !isReady {
            out.append(",\"done\":")
            out.append(integer: Int64(min(done, rows)))
            out.append(",\"total\":")
            out.append(integer: Int64(rows))
        }
        out.append(",\"entries\":")
        out.append(integer: Int64(entries))
        out.append("}")
    }
}
