/// The fields of a model in a query: `$0.deck`, `$0.address.city`.
@dynamicMemberLookup
public struct Fields<Model> {
    let names: FieldNames

    /// A stored property, by its key path. What it is called in the document is found out from the model's own `init(from:)`;
    /// where that is not possible (a computed property) the query throws, and says what to write instead.
    public subscript<Value>(dynamicMember member: KeyPath<Model, Value>) -> Field<Model, Value> {
        let path = names.path(of: member, under: nil)
        return Field(names: names, path: path, isID: names.isID(path))
    }

    /// A field by what it is called in the document, in the daemon's notation: names with dots between them, `\.` for a dot in a
    /// name. For what the model does not have, or calls by a key that cannot be found out.
    public func field<Value>(_ path: String, as type: Value.Type = Value.self) -> Field<Model, Value> {
        Field(names: names, path: .success(path), isID: false)
    }
}

/// One field of a model, whose values are of type `Value`, to compare with and to sort by.
@dynamicMemberLookup
public struct Field<Model, Value> {
    let names: FieldNames
    /// In the daemon's notation.
    let path: Result<String, KuraError>
    /// It is the model's id, which the daemon knows as `_id`.
    let isID: Bool

    init(names: FieldNames, path: Result<String, KuraError>, isID: Bool) {
        self.names = names
        self.path = path
        self.isID = isID
    }

    /// A field whose name in the document is given, beside the property that holds it.
    /// - Parameters:
    ///   - path: in the daemon's notation: names with dots between them, `\.` for a dot in a name.
    ///   - property: which says of what type the field's values are; it is not looked at otherwise.
    public init(_ path: String, _ property: KeyPath<Model, Value>) {
        self.init(names: .none, path: .success(path), isID: false)
    }

    /// A part of the field's value.
    public subscript<Part>(dynamicMember member: KeyPath<Value, Part>) -> Field<Model, Part> {
        Field<Model, Part>(names: names, path: names.path(of: member, under: path), isID: false)
    }

    /// A part of the field's value, where there is one.
    public subscript<Whole, Part>(dynamicMember member: KeyPath<Whole, Part>) -> Field<Model, Part?>
    where Value == Whole? {
        Field<Model, Part?>(names: names, path: names.path(of: member, under: path), isID: false)
    }

    /// A part of the field's value that may be nil itself.
    public subscript<Whole, Part>(dynamicMember member: KeyPath<Whole, Part?>) -> Field<Model, Part?>
    where Value == Whole? {
        Field<Model, Part?>(names: names, path: names.path(of: member, under: path), isID: false)
    }

    // MARK: Conditions

    /// The field is one of these.
    public func isIn(_ values: some Sequence<Value>) -> Condition<Model> where Value: Encodable {
        var texts: [[UInt8]] = []
        var isWithNil = false
        for value in values {
            switch text(of: value) {
            case .failure(let error): return Condition(.fault(error))
            case .success(let text): if text == Self.null { isWithNil = true } else { texts.append(text) }
            }
        }
        let keys = isID ? DocumentKey.names(ofJSON: texts) : []
        let known =
            keys.count == texts.count && isID
            ? test("$in", JSONElements.array(keys), on: .success("_id"))
            : test("$in", JSONElements.array(texts), on: path)
        return isWithNil ? known || isAbsent : known
    }

    /// The text begins so.
    public func beginsWith(_ prefix: String) -> Condition<Model> where Value: TextField {
        let text = ParameterText.quoted(prefix)
        return test("$beginsWith", text, on: idField(of: text))
    }

    @available(*, unavailable, renamed: "beginsWith(_:)")
    public func hasPrefix(_ prefix: String) -> Condition<Model> { .nothing }

    /// A part of the text matches a regular expression of ECMA 262, with case; `(?i)` at its beginning ignores case.
    public func matches(_ pattern: String) -> Condition<Model> where Value: TextField {
        let text = ParameterText.quoted(pattern)
        return test("$regex", text, on: idField(of: text))
    }

    /// The array has such an element.
    public func contains<Element: Encodable>(_ element: Element) -> Condition<Model> where Value == [Element] {
        contains(element, ())
    }

    /// There is an array, and it has such an element.
    public func contains<Element: Encodable>(_ element: Element) -> Condition<Model> where Value == [Element]? {
        contains(element, ())
    }

    private func contains(_ element: some Encodable, _: Void) -> Condition<Model> {
        switch Self.encoded(element) {
        case .failure(let error): return Condition(.fault(error))
        case .success(let text):
            var operators = ParameterText()
            operators.add("$eq", json: text)
            return test("$elemMatch", operators.object, on: path)
        }
    }

    // MARK: Sorting

    /// Smallest first; what is nil comes before everything.
    public var ascending: SortKey<Model> { SortKey(path: sortPath, isDescending: false) }

    /// Largest first; what is nil comes last.
    public var descending: SortKey<Model> { SortKey(path: sortPath, isDescending: true) }

    private var sortPath: Result<String, KuraError> {
        if FieldProbe.isObject(Value.self) { return .failure(.noOrder(Value.self)) }
        return isID && names.idIsText ? .success("_id") : path
    }

    // MARK: Texts

    static var null: [UInt8] { Array("null".utf8) }

    static func encoded(_ value: some Encodable) -> Result<[UInt8], KuraError> {
        do throws(KuraError) { return .success(try FaceCoding.encode(value)) } catch { return .failure(error) }
    }

    func text(of value: Value) -> Result<[UInt8], KuraError> where Value: Encodable { Self.encoded(value) }

    /// Where an id that is encoded so is to be looked for: the daemon's own ids are texts.
    func idField(of text: [UInt8]?) -> Result<String, KuraError> {
        isID && text?.first == UInt8(ascii: "\"") ? .success("_id") : path
    }

    func isEqual(to text: [UInt8]) -> Condition<Model> {
        if isID, let key = DocumentKey.name(ofJSON: text) { return test("$eq", key, on: .success("_id")) }
        return test("$eq", text, on: path)
    }

    /// The field is nil: it is not there, or null.
    var isAbsent: Condition<Model> {
        // Where it is not there it is not there: what negates this has no exception for that.
        let isMissing = test("$exists", Array("false".utf8), on: path, mayBeAbsent: false)
        return isMissing || test("$eq", Self.null, on: path)
    }

    func test(
        _ name: String, _ operand: [UInt8], on path: Result<String, KuraError>, isLess: Bool = false,
        mayBeAbsent: Bool = Self.mayBeNil
    ) -> Condition<Model> {
        switch path {
        case .failure(let error): return Condition(.fault(error))
        case .success(let path):
            var operators = ParameterText()
            operators.add(name, json: operand)
            // null is less than every number and text.
            if isLess, Self.mayBeNil { operators.add("$gt", json: Self.null) }
            return Condition(
                .test(path: path, operators: operators.object, mayBeAbsent: mayBeAbsent, isNegated: false))
        }
    }

    static var mayBeNil: Bool { Value.self is any OptionalValue.Type }
}

protocol OptionalValue {}
extension Optional: OptionalValue {}

/// What can hold a text: `String` and `String?`.
public protocol TextField {}
extension String: TextField {}
extension Optional: TextField where Wrapped: TextField {}

/// What a query is sorted by: `{ [$0.due.ascending, $0.name.descending] }`.
public struct SortKey<Model>: Sendable {
    let path: Result<String, KuraError>
    let isDescending: Bool

    /// The element of `sort`.
    func text() throws(KuraError) -> [UInt8] {
        let path = try path.get()
        guard isDescending else { return ParameterText.quoted(path) }
        var text = ParameterText()
        text.add(path, "desc")
        return text.object
    }
}
