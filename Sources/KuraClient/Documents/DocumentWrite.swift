/// One change of one document, as a request or as an operation of a transaction.
struct DocumentWrite: Sendable {
    enum What: Sendable {
        case put([UInt8])
        case patch([UInt8])
        case delete
    }

    let key: String
    let what: What
    let ifRev: Int64?

    /// What makes `new` of a document whose value was `old`: its members that differ, or all of it.
    /// - Parameters:
    ///   - key: the document's id.
    ///   - old: the value as the application has read it.
    ///   - new: the value as it is to be.
    ///   - row: the document as the daemon has it, with members that the application may not know.
    /// - Returns: nil when there is nothing to change.
    static func change(key: String, from old: [UInt8], to new: [UInt8], over row: DocumentRow) -> DocumentWrite? {
        guard let change = DocumentChange(from: old, to: new), let there = JSONObject(row.text) else {
            return DocumentWrite(key: key, what: .put(new), ifRev: row.rev)
        }
        if change.isEmpty { return nil }
        if change.names.count > DocumentChange.mostMembers, let whole = change.applied(to: row.text) {
            return DocumentWrite(key: key, what: .put(whole), ifRev: row.rev)
        }
        return DocumentWrite(key: key, what: .patch(change.jsonPatch(present: Set(there.names))), ifRev: row.rev)
    }

    var method: String {
        switch what {
        case .put: "documents.put"
        case .patch: "documents.patch"
        case .delete: "documents.delete"
        }
    }

    func parameters(collection: String) -> ParameterText {
        var parameters = ParameterText()
        parameters.add("collection", collection)
        parameters.add("id", key)
        switch what {
        case .put(let text): parameters.add("value", json: text)
        case .patch(let operations): parameters.add("jsonPatch", json: operations)
        case .delete: break
        }
        parameters.add("ifRev", ifRev)
        return parameters
    }

    /// As an operation of `transaction.apply`.
    func operation(collection: String) -> [UInt8] {
        var operation = ParameterText()
        operation.add("method", method)
        operation.add("params", json: parameters(collection: collection).object)
        return operation.object
    }
}
