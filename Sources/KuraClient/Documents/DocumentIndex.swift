/// An index that a collection is to have: what its queries look for and sort by, in that order.
///
///     try await cards.addIndexes([.init("byDeck", on: { [$0.deck, $0.due] })])
public struct DocumentIndex<Model>: Sendable {
    private let name: String
    private let isUnique: Bool
    private let condition: @Sendable (Fields<Model>) -> Condition<Model>
    private let fields: @Sendable (Fields<Model>) -> [any IndexableField<Model>]

    /// - Parameters:
    ///   - name: one of the collection's indexes has it, 1 to 128 bytes.
    ///   - unique: no two documents have equal values in all of the fields; one that lacks a field is not held to it.
    ///   - fields: 1 to 16, the first counts first. An index serves both directions.
    ///   - condition: only documents that have this are in it; all of them when it is left out. No regular expression, and not the id.
    public init(
        _ name: String, unique: Bool = false,
        on fields: @escaping @Sendable (Fields<Model>) -> [any IndexableField<Model>],
        where condition: @escaping @Sendable (Fields<Model>) -> Condition<Model> = { _ in .everything }
    ) {
        self.name = name
        self.isUnique = unique
        self.fields = fields
        self.condition = condition
    }

    /// - Throws: what was wrong with a field or a value.
    func definition(_ names: Fields<Model>) throws(KuraError) -> IndexDefinition {
        var paths: [String] = []
        for field in fields(names) { paths.append(try field.indexPath.get()) }
        return IndexDefinition(
            name: name, fields: paths, isUnique: isUnique, condition: try condition(names).selector())
    }
}

/// What an index can be on: a `Field`.
public protocol IndexableField<Model> {
    associatedtype Model
    /// In the daemon's notation.
    var indexPath: Result<String, KuraError> { get }
}

extension Field: IndexableField {
    /// Where the values of the field lie in a document, in the daemon's notation.
    public var indexPath: Result<String, KuraError> { path }
}

/// One index as the daemon is told of it.
struct IndexDefinition: Equatable {
    let name: String
    let fields: [String]
    let isUnique: Bool
    /// A selector, compact.
    let condition: [UInt8]?

    init(name: String, fields: [String], isUnique: Bool, condition: [UInt8]?) {
        self.name = name
        self.fields = fields
        self.isUnique = isUnique
        self.condition = condition
    }

    var text: [UInt8] {
        var text = ParameterText()
        text.add("name", name)
        text.add("fields", strings: fields)
        text.add("unique", flag: isUnique)
        text.add("where", json: condition)
        return text.object
    }
}

/// How an index of a collection stands.
public struct DocumentIndexStatus: Sendable, Equatable {
    public enum State: Sendable, Equatable {
        /// Documents are gone through; no query uses it yet.
        case building(done: Int, total: Int)
        case ready
        /// It was to be unique, and these two documents are equal. Nothing is held to it.
        case failed(conflict: [String])
    }

    public let name: String
    /// In the daemon's notation, the first counts first.
    public let fields: [String]
    public let isUnique: Bool
    /// The selector of the documents that are in it; nil for all.
    public let condition: RawJSON?
    /// It was made for a reference to another collection, and goes with that.
    public let isOfReference: Bool
    public let state: State
    /// Documents in it.
    public let count: Int
    /// Bytes of its keys.
    public let bytes: Int

    /// - Returns: nil when the text is not what the protocol promises.
    init?(_ text: [UInt8]) {
        func strings(_ text: [UInt8]?) -> [String] {
            text.flatMap(JSONElements.read)?.compactMap { JSONObject.string($0) } ?? []
        }
        guard let index = JSONObject(text), let name = index.string("name"), let state = index.string("state") else {
            return nil
        }
        func count(_ name: String) -> Int { Int(clamping: index.integer(name) ?? 0) }
        self.name = name
        fields = strings(index["fields"])
        isUnique = index.boolean("unique") ?? false
        condition = index["where"].flatMap { try? RawJSON($0) }
        isOfReference = index.boolean("each") ?? false
        switch state {
        case "ready": self.state = .ready
        case "failed": self.state = .failed(conflict: strings(index["conflict"]))
        default: self.state = .building(done: count("done"), total: count("total"))
        }
        self.count = count("entries")
        bytes = count("bytes")
    }

    var definition: IndexDefinition {
        IndexDefinition(name: name, fields: fields, isUnique: isUnique, condition: condition?.text)
    }

    var isBuilding: Bool {
        if case .building = state { true } else { false }
    }

    var hasFailed: Bool {
        if case .failed = state { true } else { false }
    }
}
