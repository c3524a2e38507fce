public import KuraBytes
public import KuraJSON

/// What a field of a collection's documents is configured to refer to, and what becomes of them when that is deleted.
///
/// It is kept as JSON, one object of a list: `{"field":"author","collection":"people","onDelete":"deny"}`. Each has an index of its own,
/// which comes and goes with it, so that who refers to a document is found without looking at all of them.
public final class ReferenceDefinition: Sendable {
    public enum Action: String, Sendable, CaseIterable {
        /// What is referred to is not deleted.
        case deny
        /// The field becomes null; an array loses the id.
        case nullify
        /// Who refers to it is deleted as well.
        case cascade
    }

    public typealias Fault = IndexDefinition.Fault

    /// Where the id stands, or an array of ids.
    public let field: FieldPath
    /// The collection whose documents are meant.
    public let collection: [UInt8]
    public let onDelete: Action
    /// Its JSON text.
    public let text: [UInt8]
    /// The index that finds who refers to a document: an entry for each id.
    public let index: IndexDefinition
    /// Of the hashes of its keys.
    let seed: UInt64

    /// Most references of a collection.
    public static let limit = 16
    /// What the names of their indexes begin with; no other index may be called so.
    public static let indexPrefix = "reference:"

    public init(field: FieldPath, collection: [UInt8], onDelete: Action) {
        self.field = field
        self.collection = collection
        self.onDelete = onDelete
        var text = ByteBuffer()
        text.append("{\"field\":")
        text.append(jsonString: field.text)
        text.append(",\"collection\":")
        text.append(jsonString: collection)
        text.append(text: ",\"onDelete\":\"\(onDelete.rawValue)\"}")
        self.text = Array(text.bytes)
        seed = field.text.withBytes { Hash.bytes($0, seed: 0x7265_6665) }
        index = IndexDefinition(name: Self.indexName(of: field), fields: [field], isEach: true)
    }

    /// The field's own text, unless that is too long for a name.
    private static func indexName(of field: FieldPath) -> [UInt8] {
        let name = Array(indexPrefix.utf8) + field.text
        let isPlain = name.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        guard name.count > IndexDefinition.nameBytes || !isPlain else { return name }
        let hash = field.text.withBytes { LastingHash.bytes($0, seed: 0) }
        return Array("\(indexPrefix)\(String(hash, radix: 16))".utf8)
    }

    /// The definitions of a list's text: checked JSON without white space.
    public static func list(_ text: Bytes) throws(Fault) -> [ReferenceDefinition] {
        guard text.first == UInt8(ascii: "[") else { throw Fault(pointer: "", message: "references are a list") }
        var list: [ReferenceDefinition] = []
        for element in StoredValue(text).elements {
            let place = "/\(list.count)"
            guard list.count < limit else {
                throw Fault(pointer: place, message: "a collection has at most \(limit) references")
            }
            let definition = try read(element, at: place)
            guard !list.contains(where: { $0.field == definition.field }) else {
                throw Fault(pointer: place + "/field", message: "the field comes twice")
            }
            list.append(definition)
        }
        return list
    }

    /// The list's text.
    public static func text(of list: [ReferenceDefinition]) -> [UInt8] {
        Array("[".utf8) + list.map(\.text).joined(separator: [UInt8(ascii: ",")]) + Array("]".utf8)
    }

    private static func read(_ value: StoredValue, at place: String) throws(Fault) -> ReferenceDefinition {
        guard value.kind == .object else { throw Fault(pointer: place, message: "a reference is an object") }
        var field: FieldPath?
        var collection: [UInt8]?
        var action: Action?
        for member in value.members {
            switch ResolvedText.bytes(member.name).withBytes({ String($0) }) {
            case "field": field = try path(member.value, at: place + "/field")
            case "collection": collection = try name(member.value, at: place + "/collection")
            case "onDelete":
                let word = member.value.kind == .string ? ResolvedText.bytes(member.value.quoted) : []
                action = Action(rawValue: word.withBytes { String($0) })
                guard action != nil else {
                    throw Fault(pointer: place + "/onDelete", message: "onDelete is deny, nullify or cascade")
                }
            default:
                throw Fault(pointer: place, message: "members of a reference are field, collection and onDelete")
            }
        }
        guard let field else { throw Fault(pointer: place, message: "a reference has a field") }
        guard let collection else { throw Fault(pointer: place, message: "a reference has a collection") }
        guard let action else { throw Fault(pointer: place, message: "a reference has onDelete") }
        return ReferenceDefinition(field: field, collection: collection, onDelete: action)
    }

    private static func path(_ value: StoredValue, at place: String) throws(Fault) -> FieldPath {
        guard value.kind == .string else { throw Fault(pointer: place, message: "a field is a path") }
        let text = ResolvedText.bytes(value.quoted)
        guard text.count <= pathBytes else { throw Fault(pointer: place, message: "a path is too long") }
        let path: FieldPath
        do throws(FieldPathError) {
            path = try text.withBytes { (text) throws(FieldPathError) in try FieldPath(text) }
        } catch { throw Fault(pointer: place, message: error.message) }
        guard !path.isID else { throw Fault(pointer: place, message: "_id is the document's own") }
        return path
    }

    /// Bytes of a field's path, and of a collection's name.
    private static let pathBytes = 1024
    private static let collectionBytes = 128

    private static func name(_ value: StoredValue, at place: String) throws(Fault) -> [UInt8] {
        let name = value.kind == .string ? ResolvedText.bytes(value.quoted) : []
        guard (1...collectionBytes).contains(name.count), !name.withBytes({ $0.hasControlCharacters }) else {
            throw Fault(
                pointer: place, message: "a collection's name is a string of 1 to 128 bytes without control characters")
        }
        return name
    }
}

/// A document was not deleted: others refer to it.
public struct ReferencedDocument: Equatable, Sendable {
    /// The collection of those who do, and their field.
    public var collection: [UInt8]
    public var field: [UInt8]
    /// Some of their ids.
    public var ids: [[UInt8]]
    /// How many there are; `countLimit` stands for that or more.
    public var count: Int
    /// What they refer to.
    public var target: [UInt8]
    public var id: [UInt8]
    /// Newest revision that this gives away.
    public var rev: UInt64

    public static let countLimit = 1000
    static let shownIDs = 10
}

/// A document was not deleted: another one would have lost its reference, and not be as it has to be then.
public struct UnfitDocument: Equatable, Sendable {
    /// The other document.
    public var collection: [UInt8]
    public var id: [UInt8]
    /// Where it would break its schema, as a JSON pointer, and how.
    public var pointer: String
    public var message: String
    /// Newest revision that this gives away.
    public var rev: UInt64
}
