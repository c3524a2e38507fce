public import KuraBytes
public import KuraJSON

/// What an index is configured to be: its name, the places whose values it sorts by, whether those must be unique, and which
/// documents it is about.
///
/// It is kept as JSON, one object of a list: `{"name":"byAge","fields":["age","name"],"unique":true,"where":{"kind":"person"}}`. Two
/// definitions are the same when their texts are: members stand in this order, and what is left out means no, or all.
public final class IndexDefinition: Sendable {
    public let name: [UInt8]
    public let fields: [FieldPath]
    /// No two documents have equal values in all fields. A document that lacks one of the fields is not held to it; null is a
    /// value like others.
    public let isUnique: Bool
    /// What a document must fulfil to be in it; nil: nothing.
    public let filter: Selector?
    /// It has an entry for each id that stands in its one field, be it a string or an array: made for a reference, not for queries.
    public let isEach: Bool
    /// How often it was configured anew after it had failed.
    public let attempt: Int
    /// Its JSON text.
    public let text: [UInt8]

    /// Most indexes of a collection, and most fields of an index.
    public static let limit = 64
    public static let fieldLimit = 16
    /// What attempts are counted up to: nobody has tried more often.
    private static let attemptLimit = 1 << 30
    /// Bytes of a name.
    public static let nameBytes = 128

    /// Why a text is no list of definitions.
    public struct Fault: Error, Equatable {
        /// Where, as a JSON pointer into the list.
        public var pointer: String
        public var message: String
    }

    public init(
        name: [UInt8], fields: [FieldPath], isUnique: Bool = false, filter: Selector? = nil, isEach: Bool = false,
        attempt: Int = 0
    ) {
        self.name = name
        self.fields = fields
        self.isUnique = isUnique
        self.filter = filter
        self.isEach = isEach
        self.attempt = attempt
        var text = ByteBuffer()
        text.append("{\"name\":")
        text.append(jsonString: name)
        text.append(",\"fields\":[")
        for (position, field) in fields.enumerated() {
            if position > 0 { text.append(",") }
            text.append(jsonString: field.text)
        }
        text.append("]")
        if isUnique { text.append(",\"unique\":true") }
        if let filter {
            text.append(",\"where\":")
            text.append(filter.text)
        }
        if isEach { text.append(",\"each\":true") }
        if attempt > 0 { text.append(text: ",\"attempt\":\(attempt)") }
        text.append("}")
        self.text = Array(text.bytes)
    }

    /// The same, to be built anew.
    public var again: IndexDefinition {
        IndexDefinition(
            name: name, fields: fields, isUnique: isUnique, filter: filter, isEach: isEach,
            attempt: min(attempt + 1, Self.attemptLimit))
    }

    /// Whether both say the same, however often they were tried.
    public func isLike(_ other: IndexDefinition) -> Bool {
        name == other.name && fields == other.fields && isUnique == other.isUnique
            && filter?.text == other.filter?.text && isEach == other.isEach
    }

    /// The definitions of a list's text: checked JSON without white space.
    /// `isStored`: it was written by `text(of:)`, not by a client.
    public static func list(_ text: Bytes, isStored: Bool = true) throws(Fault) -> [IndexDefinition] {
        guard text.first == UInt8(ascii: "[") else { throw Fault(pointer: "", message: "indexes are a list") }
        var list: [IndexDefinition] = []
        var names: Set<[UInt8]> = []
        for element in StoredValue(text).elements {
            let place = "/\(list.count)"
            guard list.count < limit else {
                throw Fault(pointer: place, message: "a collection has at most \(limit) indexes")
            }
            let definition = try IndexDefinition(element, at: place, isStored: isStored)
            guard names.insert(definition.name).inserted else {
                throw Fault(pointer: place + "/name", message: "two indexes have this name")
            }
            list.append(definition)
        }
        return list
    }

    /// The list's text.
    public static func text(of list: [IndexDefinition]) -> [UInt8] {
        var text: [UInt8] = [UInt8(ascii: "[")]
        for (position, definition) in list.enumerated() {
            if position > 0 { text.append(UInt8(ascii: ",")) }
            text += definition.text
        }
        text.append(UInt8(ascii: "]"))
        return text
    }

    private convenience init(_ value: StoredValue, at place: String, isStored: Bool) throws(Fault) {
        guard value.kind == .object else { throw Fault(pointer: place, message: "an index is an object") }
        var name: [UInt8]?
        var fields: [FieldPath] = []
        var isUnique = false
        var filter: Selector?
        var isEach = false
        var attempt = 0
        for member in value.members {
            switch ResolvedText.bytes(member.name).withBytes({ String($0) }) {
            case "name": name = try Self.name(member.value, at: place + "/name")
            case "fields": fields = try Self.fields(member.value, at: place + "/fields", isStored: isStored)
            case "unique":
                guard member.value.kind == .true || member.value.kind == .false else {
                    throw Fault(pointer: place + "/unique", message: "unique is true or false")
                }
                isUnique = member.value.kind == .true
            case "where": filter = try Self.filter(member.value, at: place + "/where")
            case "each" where isStored: isEach = member.value.kind == .true
            case "attempt" where isStored:
                guard let number = Int(String(member.value.text)), 0...Self.attemptLimit ~= number else {
                    throw Fault(pointer: place + "/attempt", message: "attempts are counted up to \(Self.attemptLimit)")
                }
                attempt = number
            default:
                throw Fault(pointer: place, message: "members of an index are name, fields, unique and where")
            }
        }
        guard let name else { throw Fault(pointer: place, message: "an index has a name") }
        guard !fields.isEmpty else { throw Fault(pointer: place, message: "an index has fields") }
        guard isStored || !name.starts(with: ReferenceDefinition.indexPrefix.utf8) else {
            throw Fault(
                pointer: place + "/name", message: "names that begin with reference: are for indexes of references")
        }
        self.init(name: name, fields: fields, isUnique: isUnique, filter: filter, isEach: isEach, attempt: attempt)
    }

    /// Patterns may take long, and an id never changes: neither is for an index to ask.
    private static func filter(_ value: StoredValue, at place: String) throws(Fault) -> Selector? {
        let selector: Selector
        do throws(SelectorError) { selector = try Selector(value) } catch {
            throw Fault(pointer: place + error.pointer, message: error.message)
        }
        guard !selector.usesID else {
            throw Fault(pointer: place, message: "the condition of an index cannot speak of _id")
        }
        return selector.isEmpty ? nil : selector
    }

    private static func name(_ value: StoredValue, at place: String) throws(Fault) -> [UInt8] {
        let name = value.kind == .string ? ResolvedText.bytes(value.quoted) : []
        guard (1...nameBytes).contains(name.count), !name.withBytes({ $0.hasControlCharacters }) else {
            throw Fault(
                pointer: place,
                message: "an index's name is a string of 1 to \(nameBytes) bytes without control characters")
        }
        return name
    }

    private static func fields(
        _ value: StoredValue, at place: String, isStored: Bool
    ) throws(Fault) -> [FieldPath] {
        guard value.kind == .array else { throw Fault(pointer: place, message: "fields are a list of paths") }
        var fields: [FieldPath] = []
        for element in value.elements {
            let place = "\(place)/\(fields.count)"
            guard fields.count < fieldLimit else {
                throw Fault(pointer: place, message: "an index has at most \(fieldLimit) fields")
            }
            guard element.kind == .string else { throw Fault(pointer: place, message: "a field is a path") }
            let path: FieldPath
            do throws(FieldPathError) {
                path = try ResolvedText.bytes(element.quoted).withBytes { (text) throws(FieldPathError) in
                    try FieldPath(text)
                }
            } catch { throw Fault(pointer: place, message: error.message) }
            // In a selector it would be the document's id, which its members do not have.
            guard isStored || !path.isID else {
                throw Fault(
                    pointer: place, message: "_id is the document's own, which is found and sorted by without an index")
            }
            guard !fields.contains(path) else { throw Fault(pointer: place, message: "the field comes twice") }
            fields.append(path)
        }
        return fields
    }

    // MARK: Keys

    /// Whether documents like this one are in the index.
    public func covers(_ document: StoredValue) -> Bool { filter?.matches(document) ?? true }

    /// Appends the document's key.
    /// - Returns: whether the document has all fields, so that the key must be unique in an index that is.
    public func appendKey(of document: StoredValue, to key: inout ByteBuffer) -> Bool {
        var isWhole = true
        for field in fields {
            let value = field.find(in: document)
            if value == nil { isWhole = false }
            IndexKey.append(value, to: &key)
        }
        return isWhole
    }
}

extension ByteBuffer {
    /// A string's JSON text, of UTF-8.
    mutating func append(jsonString utf8: [UInt8]) { utf8.withBytes { append(quotedName: $0) } }
}
