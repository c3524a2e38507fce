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

    /// What a document with an id that is encoded so is called, as JSON text: a text as it is, a whole number's digits as one.
    /// nil where what is equal can be written in two ways.
    static func name(ofJSON json: [UInt8]) -> [UInt8]? {
        if json.first == UInt8(ascii: "\"") { return json }
        let digits = json.first == UInt8(ascii: "-") ? json.dropFirst() : json[...]
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return [UInt8(ascii: "\"")] + json + [UInt8(ascii: "\"")]
    }

    /// Those of several, without those that have none.
    static func names(ofJSON texts: [[UInt8]]) -> [[UInt8]] { texts.compactMap { name(ofJSON: $0) } }
}
