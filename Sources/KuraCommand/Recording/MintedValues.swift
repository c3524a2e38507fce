import KuraBytes
import KuraClient
import KuraProtocol

/// What the daemon that is played to has made up in the place of what the recorded one did: ids, revisions, cursors, tokens.
///
/// It learns from replies, by where a value stands in both, and puts the new values into later requests. A number is looked for where the method
/// table has one of its kind, a text wherever a string is the same: clients put ids into documents, too.
///
/// A write's reply has values that were made for that write, so it is believed first. A read may see another state than in the recording: what a write
/// has taught stays as it is, and a list of another length teaches nothing.
struct MintedValues {
    /// By the recorded text with its quotes.
    private var texts: [[UInt8]: [UInt8]] = [:]
    private var numbers: [NumberKey: Int64] = [:]

    /// Of what writes were answered.
    private var settledTexts: Set<[UInt8]> = []
    private var settledNumbers: Set<NumberKey> = []

    private struct NumberKey: Hashable {
        let kind: String
        /// 0 for what all connections share.
        let connection: Int64
        let value: Int64
    }

    static let methods = Dictionary(uniqueKeysWithValues: Method.all.map { ($0.name, $0) })

    // MARK: Learning

    /// - Parameters:
    ///   - recorded: the recorded reply's values.
    ///   - result: this run's result, or the data of its error.
    ///   - connection: the recorded number of the connection.
    ///   - isWrite: of a write that was done.
    mutating func learn(_ recorded: [UInt8], _ result: [UInt8], _ connection: Int64, isWrite: Bool) {
        learn(recorded, result, Place(name: "", connection: connection, isWrite: isWrite))
    }

    private struct Place {
        var name: String
        let connection: Int64
        let isWrite: Bool
    }

    private mutating func learn(_ recorded: [UInt8], _ result: [UInt8], _ place: Place) {
        switch (recorded.first, result.first) {
        case (UInt8(ascii: "{"), UInt8(ascii: "{")):
            guard let old = JSONObject(recorded), let new = JSONObject(result) else { return }
            var inner = place
            for (name, value) in old.entries {
                inner.name = name
                if let found = new[name] { learn(value, found, inner) }
            }
        case (UInt8(ascii: "["), UInt8(ascii: "[")):
            guard let old = JSONElements.read(recorded), let new = JSONElements.read(result), old.count == new.count
            else { return }
            for (value, found) in zip(old, new) { learn(value, found, place) }
        case (UInt8(ascii: "\""), UInt8(ascii: "\"")):
            if place.isWrite { settledTexts.insert(recorded) } else if settledTexts.contains(recorded) { return }
            texts[recorded] = recorded == result ? nil : result
        default:
            guard let old = JSONObject.integer(recorded), let new = JSONObject.integer(result),
                let kind = Self.kind(of: place.name)
            else { return }
            // Revision 0 is that of nothing: to put it in another's place would have a change of something be its creation.
            guard kind != "rev" || (old == 0) == (new == 0) else { return }
            let key = NumberKey(kind: kind, connection: kind == "rev" ? 0 : place.connection, value: old)
            if place.isWrite { settledNumbers.insert(key) } else if settledNumbers.contains(key) { return }
            numbers[key] = old == new ? nil : new
        }
    }

    private static func kind(of name: String) -> String? {
        Field.mintedKind(name, .integer(0...WireLimits.safeInteger))
    }

    // MARK: Rewriting

    /// - Parameters:
    ///   - line: a recorded request, or a batch of them.
    ///   - connection: the recorded number of its connection.
    /// - Returns: the line as this run's daemon understands it.
    func rewritten(_ line: [UInt8], _ connection: Int64) -> [UInt8] {
        guard !texts.isEmpty || !numbers.isEmpty else { return line }
        if let elements = JSONElements.read(line) {
            return JSONElements.array(elements.map { rewritten(call: $0, connection) })
        }
        return rewritten(call: line, connection)
    }

    /// A request, or a call in another's parameters.
    private func rewritten(call: [UInt8], _ connection: Int64) -> [UInt8] {
        guard let object = JSONObject(call) else { return call }
        let method = object.string("method").flatMap { Self.methods[$0] }
        return JSONParts.object(
            object.entries.map { name, value in
                (name, name == "params" ? rewritten(parameters: value, of: method, connection) : value)
            })
    }

    private func rewritten(parameters: [UInt8], of method: Method?, _ connection: Int64) -> [UInt8] {
        guard let method else { return parameters }
        if let elements = JSONElements.read(parameters) {
            return JSONElements.array(
                elements.enumerated().map { position, value in
                    let field = position < method.parameters.count ? method.parameters[position] : nil
                    return rewritten(value, field?.type ?? .json, named: field?.name ?? "", connection)
                })
        }
        guard !method.parameters.areCalls else { return rewritten(call: parameters, connection) }
        return rewritten(parameters, .object(method.parameters), named: "", connection)
    }

    private func rewritten(_ value: [UInt8], _ type: ValueType, named name: String, _ connection: Int64) -> [UInt8] {
        switch value.first {
        case UInt8(ascii: "{"):
            guard let object = JSONObject(value) else { return value }
            guard case .object(let fields) = type else {
                let element = if case .map(let element) = type { element } else { ValueType.json }
                return JSONParts.object(
                    object.entries.map { ($0.name, rewritten($0.value, element, named: "", connection)) })
            }
            guard !fields.areCalls else { return rewritten(call: value, connection) }
            return JSONParts.object(
                object.entries.map { name, inner in
                    let field = fields.first { $0.name == name }
                    return (name, rewritten(inner, field?.type ?? .json, named: name, connection))
                })
        case UInt8(ascii: "["):
            guard let elements = JSONElements.read(value) else { return value }
            let element = if case .list(let element, _) = type { element } else { ValueType.json }
            return JSONElements.array(elements.map { rewritten($0, element, named: name, connection) })
        case UInt8(ascii: "\""): return texts[value] ?? value
        default:
            guard case .integer = type, let number = JSONObject.integer(value), let kind = Self.kind(of: name) else {
                return value
            }
            let key = NumberKey(kind: kind, connection: kind == "rev" ? 0 : connection, value: number)
            return numbers[key].map { Array("\($0)".utf8) } ?? value
        }
    }
}
