import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// Answers `documents.search`: reads the query on the loop, has a reader thread do it, and answers with what that has found.
extension DocumentsHandlers {
    static func search(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        throw call.wait(for: storage.submit(try page(call, storage))) {
            (call, page: SearchPage, error, out, storage) throws(Refusal) in
            // An index that has gone since: it is begun anew.
            if error == .indexGone { return try search(call, &out, storage) }
            try call.check(error)
            call.shows(page.rev)
            try page.append(to: &out)
        }
    }

    private static func page(_ call: Call, _ storage: isolated Storage) throws(Refusal) -> SearchPage {
        let collection = call[InDocuments.collection]
        // What the query means depends on how the collection is searched; without that there is nothing to say about it.
        let tokenizer = storage.documents.search(collection)?.definition.tokenizer
        let expression = try expression(call, tokenizer ?? .unicode61)
        let list = try call.queryPage(
            cursor: DocumentsSearch.cursor, of: DocumentsSearch.query, DocumentsSearch.where, in: storage)
        let position = try call.position(of: list, DocumentsSearch.cursor)
        let selector = try call.selector(DocumentsSearch.where)
        let fields = try call.paths(DocumentsSearch.fields)
        let words = Int(call[DocumentsSearch.snippetWords] ?? 16)
        let control = try call.queryControl(DocumentsSearch.timeoutMs)
        let search: DocumentSearch
        do throws(QueryError) {
            search = try storage.documents.search(
                collection, for: expression, selector, limit: Int(call[DocumentsSearch.limit] ?? 20),
                after: position, snippetWords: words, control: control)
        } catch {
            call.shows(storage.configurations.rev(.documents, collection))
            throw Refusal(error, call: call)
        }
        let marks = SearchPage.Marks(
            start: mark(DocumentsSearch.markStart, "[", call), end: mark(DocumentsSearch.markEnd, "]", call))
        return SearchPage(
            search, list: list, fields: call.has(DocumentsSearch.fields) ? Projection(fields) : nil,
            marks: words > 0 ? marks : nil)
    }

    private static func mark(_ parameter: TextParameter, _ standard: StaticString, _ call: Call) -> [UInt8] {
        Array(call.has(parameter) ? call[parameter] : Bytes(standard))
    }

    private static func expression(
        _ call: Call, _ tokenizer: SearchDefinition.Tokenizer
    ) throws(Refusal) -> SearchExpression {
        do throws(SearchFault) {
            return try SearchExpression(String(call[DocumentsSearch.query]), tokenizer)
        } catch {
            var fault = call.errorTexts.fault(
                .invalidParams, path: "", error.message, parameter: call.name(DocumentsSearch.query))
            fault.offset = error.offset
            throw .error(fault)
        }
    }
}

extension Call {
    /// Why a collection cannot be searched.
    func searchFault(_ kind: ErrorKind, _ reason: String) -> RPCError {
        var error = RPCError(
            kind,
            hint: kind == .indexNeeded
                ? "documents.configure with searchFields declares what is searched"
                : "documents.describe with waitMs waits for it")
        errorTexts.explain(&error, reason)
        return error
    }
}
