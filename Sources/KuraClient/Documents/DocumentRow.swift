/// A document as a reply has it; its value is still text.
struct DocumentRow: Sendable {
    let key: String
    let rev: Int64
    let text: [UInt8]

    init?(_ object: JSONObject) {
        guard let key = object.string("id"), let rev = object.integer("rev"), let text = object["value"] else {
            return nil
        }
        self.init(key: key, rev: rev, text: text)
    }

    init(key: String, rev: Int64, text: [UInt8]) {
        self.key = key
        self.rev = rev
        self.text = text
    }

    /// The rows of a list.
    static func rows(_ text: [UInt8]?, _ method: String) throws(KuraError) -> [DocumentRow] {
        guard let text, let parts = JSONElements.read(text) else { throw .badAnswer(method) }
        var rows: [DocumentRow] = []
        rows.reserveCapacity(parts.count)
        for part in parts {
            guard let object = JSONObject(part), let row = DocumentRow(object) else { throw .badAnswer(method) }
            rows.append(row)
        }
        return rows
    }
}
