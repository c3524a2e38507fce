public import KuraBytes
public import KuraJSON

/// What a collection's full text search is configured to be: the fields whose text is found, how much each counts, and what
/// makes words of the text.
///
/// It is kept as JSON: `{"fields":["body",{"path":"title","weight":2}],"tokenizer":"unicode61"}`.
public final class SearchDefinition: Sendable {
    /// What is one thing to be found.
    public enum Tokenizer: String, Sendable, CaseIterable {
        /// Words: letters and digits, without case and diacritics.
        case unicode61
        /// Every three characters in a row, so that parts of words are found, without case.
        case trigram

        /// As SQLite is told.
        var argument: String {
            switch self {
            case .unicode61: "unicode61 remove_diacritics 2"
            case .trigram: "trigram"
            }
        }

        /// Bytes of a document's text that are looked at; what is behind is not found. So no document takes long: each of these
        /// took 15 ms to be put in, and as long to be taken out.
        var textBytes: Int {
            switch self {
            case .unicode61: 256 << 10
            case .trigram: 64 << 10
            }
        }
    }

    public struct Field: Sendable {
        public let path: FieldPath
        /// How much a match there counts; 1 is ordinary.
        public let weight: Double
    }

    public let fields: [Field]
    public let tokenizer: Tokenizer
    /// The fields' JSON text.
    public let fieldsText: [UInt8]
    /// Its JSON text.
    public let text: [UInt8]
    /// What the index depends on: how much a field counts is said with each query.
    let tableText: [UInt8]

    /// Most fields, and the most that one may count.
    public static let fieldLimit = 16
    public static let weightLimit = 1000.0
    /// Goes up when the same definition means another text, or SQLite is told something else: what older versions have built is built
    /// anew.
    static let version: Int64 = 1

    /// `fields`: a list of paths and of `{"path", "weight"}`, checked JSON.
    /// Throws: where and why it is no such list.
    public init(fields list: Bytes, tokenizer: Tokenizer) throws(IndexDefinition.Fault) {
        guard list.first == UInt8(ascii: "[") else { throw Fault(pointer: "", message: "searchFields are a list") }
        var fields: [Field] = []
        var all = ByteBuffer()
        var paths = ByteBuffer()
        for element in StoredValue(list).elements {
            let place = "/\(fields.count)"
            guard fields.count < Self.fieldLimit else {
                throw Fault(pointer: place, message: "a collection has at most \(Self.fieldLimit) searchFields")
            }
            let (field, weight) = try Self.field(element, at: place)
            guard !field.path.isID else {
                throw Fault(pointer: place, message: "_id is the document's own, and no text to be searched")
            }
            guard !fields.contains(where: { $0.path == field.path }) else {
                throw Fault(pointer: place, message: "the field comes twice")
            }
            all.append(fields.isEmpty ? "[" : ",")
            paths.append(fields.isEmpty ? "[" : ",")
            paths.append(jsonString: field.path.text)
            if let weight {
                all.append("{\"path\":")
                all.append(jsonString: field.path.text)
                all.append(",\"weight\":")
                all.append(weight)
                all.append("}")
            } else {
                all.append(jsonString: field.path.text)
            }
            fields.append(field)
        }
        guard !fields.isEmpty else { throw Fault(pointer: "", message: "searchFields name at least one field") }
        all.append("]")
        paths.append(text: "],\"tokenizer\":\"\(tokenizer.rawValue)\"")
        self.fields = fields
        self.tokenizer = tokenizer
        fieldsText = Array(all.bytes)
        text = Array("{\"fields\":".utf8) + fieldsText + Array(",\"tokenizer\":\"\(tokenizer.rawValue)\"}".utf8)
        tableText = Array("{\"fields\":".utf8) + Array(paths.bytes) + [UInt8(ascii: "}")]
    }

    /// One that is kept; nil when it is of a later version and not understood.
    convenience init?(stored text: Bytes) {
        var fields: Bytes?
        var tokenizer: Tokenizer?
        for member in StoredValue(text).members {
            if member.name.equals("fields") { fields = member.value.text }
            if member.name.equals("tokenizer") { tokenizer = Tokenizer(rawValue: String(member.value.quoted)) }
        }
        guard let fields, let tokenizer else { return nil }
        do throws(IndexDefinition.Fault) { try self.init(fields: fields, tokenizer: tokenizer) } catch { return nil }
    }

    private typealias Fault = IndexDefinition.Fault

    /// - Returns: the field, and its weight as it is written when that is not 1.
    private static func field(_ value: StoredValue, at place: String) throws(Fault) -> (Field, Bytes?) {
        guard value.kind == .object else { return (Field(path: try path(value, at: place), weight: 1), nil) }
        var path: FieldPath?
        var weight = 1.0
        var written: Bytes?
        for member in value.members {
            if member.name.equals("path") {
                path = try Self.path(member.value, at: place + "/path")
            } else if member.name.equals("weight") {
                guard member.value.kind == .number, let number = Double(String(member.value.text)), number > 0,
                    number <= weightLimit
                else {
                    throw Fault(
                        pointer: place + "/weight",
                        message: "a weight is a number above 0, and at most \(Int(weightLimit))")
                }
                weight = number
                written = number == 1 ? nil : member.value.text
            } else {
                throw Fault(pointer: place, message: "members of a field are path and weight")
            }
        }
        guard let path else { throw Fault(pointer: place, message: "a field has a path") }
        return (Field(path: path, weight: weight), written)
    }

    private static func path(_ value: StoredValue, at place: String) throws(Fault) -> FieldPath {
        guard value.kind == .string else { throw Fault(pointer: place, message: "a field is a path") }
        do throws(FieldPathError) {
            return try ResolvedText.bytes(value.quoted).withBytes { (text) throws(FieldPathError) in
                try FieldPath(text)
            }
        } catch { throw Fault(pointer: place, message: error.message) }
    }
}
