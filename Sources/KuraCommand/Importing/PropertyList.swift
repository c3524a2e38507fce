import KuraBytes

/// A property list: what `NSUserDefaults` and most of Apple's tools keep their settings in. XML and binary ones are read; those of
/// NeXTSTEP's form (`{ key = value; }`) are not.
indirect enum PropertyList: Equatable {
    case string(String)
    /// A number's text as JSON has it; every digit kept.
    case number(String)
    /// No number of JSON: infinite, or none at all.
    case notFinite(String)
    case boolean(Bool)
    /// RFC 3339 UTC.
    case date(String)
    case data([UInt8])
    case array([PropertyList])
    /// In the order of the file, each key once.
    case dictionary([Entry])
    /// A reference within an archive of `NSKeyedArchiver`.
    case reference(Int)

    struct Entry: Equatable {
        let key: String
        var value: PropertyList
    }

    /// Deeper ones are refused: nobody writes them, and reading goes by the stack.
    static let maximumDepth = 128
    /// More values are refused; in a binary list a few bytes can stand for very many.
    static let maximumValues = 1_000_000
    /// So many bytes of texts and data more than the file has are refused: many references can be to one long text.
    static let maximumBytes = 64 << 20

    static func matches(_ bytes: [UInt8]) -> Bool {
        if bytes.starts(with: Array("bplist".utf8)) { return true }
        let head = String(decoding: bytes.prefix(512), as: UTF8.self)
        return head.contains("<plist") || head.contains("<!DOCTYPE plist")
    }

    /// - Throws: a usage failure that says where the list is broken.
    static func read(_ bytes: [UInt8]) throws(Failure) -> PropertyList {
        if bytes.starts(with: Array("bplist".utf8)) {
            var reader = try BinaryPropertyList(bytes)
            return try reader.read()
        }
        guard matches(bytes) else {
            throw .usage(
                "this is no property list in XML or binary form",
                hint: "an old one ('{ key = value; }') is converted by: plutil -convert xml1 FILE")
        }
        var reader = PropertyListXML(bytes)
        return try reader.read()
    }

    /// JSON of it. Dates become text, data base64.
    /// - Returns: nil when it, or something in it, cannot be JSON; `reason` says what.
    func json(reason: inout String) -> [UInt8]? {
        switch self {
        case .string(let text), .date(let text): return JSONParts.string(text)
        case .number(let text): return Array(text.utf8)
        case .boolean(let value): return Array((value ? "true" : "false").utf8)
        case .data(let bytes):
            var output = ByteBuffer()
            bytes.withBytes { Base64.encode($0, into: &output) }
            return JSONParts.string(Array(output.bytes))
        case .array(let items):
            var texts: [[UInt8]] = []
            for item in items {
                guard let text = item.json(reason: &reason) else { return nil }
                texts.append(text)
            }
            return [UInt8(ascii: "[")] + texts.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "]")]
        case .dictionary(let entries):
            var members: [(name: String, value: [UInt8])] = []
            for entry in entries {
                guard let text = entry.value.json(reason: &reason) else { return nil }
                members.append((entry.key, text))
            }
            return JSONParts.object(members)
        case .notFinite(let text):
            reason = "\(text) is no number of JSON"
            return nil
        case .reference:
            reason = "it is an archived object, which only its application understands"
            return nil
        }
    }
}
