import KuraProtocol

/// What an `Identifiable`'s id is called in the daemon: itself for a text, its digits for a number, and for everything else
/// what it is encoded as, which has to be one of the two (a `UUID` is a text).
enum DocumentKey {
    static func text<ID: Encodable>(_ id: ID) throws(KuraError) -> String {
        if let id = id as? String { return id }
        guard let text = text(ofJSON: try FaceCoding.encode(id)) else {
            throw .unusableID("\(ID.self) cannot be a document's id: it is encoded neither as a text nor as a number")
        }
        return text
    }

    /// nil when the JSON text is neither a string nor a number.
    static func text(ofJSON json: [UInt8]) -> String? {
        if let string = JSONObject.string(json) { return string }
        guard let first = json.first, first == UInt8(ascii: "-") || (0x30...0x39).contains(first) else { return nil }
        return String(decoding: json, as: UTF8.self)
    }
}
