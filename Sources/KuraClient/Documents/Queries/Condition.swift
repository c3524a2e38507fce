/// What documents must have to be found. Made by comparing fields, put together with `&&`, `||` and `!`:
///
///     cards.find { $0.deck == "fr" && $0.due < now }
///
/// It means what the same expression means of the values in Swift: a condition holds or it does not, `!` turns it around, and
/// what is nil equals nil only. Two things differ: texts are ordered by their code points (as the daemon's indexes are), and an
/// optional that is nil is neither less nor more than anything.
public struct Condition<Model>: Sendable {
    indirect enum Node: Sendable {
        /// `operators`: a JSON object. `mayBeAbsent`: the field can be nil, and is not there then.
        case test(path: String, operators: [UInt8], mayBeAbsent: Bool, isNegated: Bool)
        case selector([UInt8], isNegated: Bool)
        case all([Node])
        case any([Node])
        /// It could not be made; the query throws this.
        case fault(KuraError)
    }

    let node: Node

    init(_ node: Node) { self.node = node }

    /// What every document has.
    public static var everything: Condition { Condition(.all([])) }

    /// What no document has.
    public static var nothing: Condition { Condition(.any([])) }

    /// A selector in the daemon's dialect (proto-docs/queries.md), for what cannot be said with fields. The daemon judges it.
    /// What is no JSON object has the query throw `notEncodable`.
    public init(selector json: String) {
        do throws(KuraError) {
            let selector = try RawJSON(json)
            guard selector.text.first == UInt8(ascii: "{") else {
                throw KuraError(
                    .notEncodable, "a selector is a JSON object", advice: "See proto-docs/queries.md.")
            }
            node = .selector(selector.text, isNegated: false)
        } catch { node = .fault(error) }
    }

    /// The selector for `where`; nil when every document has it.
    /// - Throws: what was wrong with a field or a value.
    func selector() throws(KuraError) -> [UInt8]? {
        if case .all(let parts) = node, parts.isEmpty { return nil }
        return try Self.text(of: node)
    }

    private static func text(of node: Node) throws(KuraError) -> [UInt8] {
        switch node {
        case .fault(let error): throw error
        case .selector(let json, let isNegated): return isNegated ? object("$not", json) : json
        case .all(let parts):
            if parts.isEmpty { return Array("{}".utf8) }
            if parts.count == 1 { return try text(of: parts[0]) }
            return object("$and", JSONElements.array(try texts(of: parts)))
        case .any(let parts):
            // Of nothing it is false.
            if parts.count == 1 { return try text(of: parts[0]) }
            return object("$or", JSONElements.array(try texts(of: parts)))
        case .test(let path, let operators, let mayBeAbsent, let isNegated):
            let test = object(path, operators)
            guard isNegated else { return test }
            let opposite = object("$not", test)
            // The daemon's opposites do not hold where nothing is; Swift's do.
            return mayBeAbsent
                ? object("$or", JSONElements.array([opposite, object(path, Array(#"{"$exists":false}"#.utf8))]))
                : opposite
        }
    }

    private static func texts(of nodes: [Node]) throws(KuraError) -> [[UInt8]] {
        var texts: [[UInt8]] = []
        for node in nodes { texts.append(try text(of: node)) }
        return texts
    }

    private static func object(_ name: String, _ value: [UInt8]) -> [UInt8] {
        var text = ParameterText()
        text.add(name, json: value)
        return text.object
    }

    private static func negated(_ node: Node) -> Node {
        switch node {
        case .fault: node
        case .selector(let json, let isNegated): .selector(json, isNegated: !isNegated)
        case .all(let parts): .any(parts.map(negated))
        case .any(let parts): .all(parts.map(negated))
        case .test(let path, let operators, let mayBeAbsent, let isNegated):
            .test(path: path, operators: operators, mayBeAbsent: mayBeAbsent, isNegated: !isNegated)
        }
    }

    public static func && (left: Condition, right: Condition) -> Condition {
        switch (left.node, right.node) {
        case (.all(let first), .all(let second)): Condition(.all(first + second))
        case (.all(let first), let second): Condition(.all(first + [second]))
        case (let first, .all(let second)): Condition(.all([first] + second))
        case (let first, let second): Condition(.all([first, second]))
        }
    }

    public static func || (left: Condition, right: Condition) -> Condition {
        switch (left.node, right.node) {
        case (.any(let first), .any(let second)): Condition(.any(first + second))
        case (.any(let first), let second): Condition(.any(first + [second]))
        case (let first, .any(let second)): Condition(.any([first] + second))
        case (let first, let second): Condition(.any([first, second]))
        }
    }

    public static prefix func ! (condition: Condition) -> Condition { Condition(negated(condition.node)) }
}
