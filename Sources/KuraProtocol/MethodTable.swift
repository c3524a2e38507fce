public import KuraBytes

/// The method table made ready for the hot path: look-up by name, and each method's parameters as plain records.
///
/// Made once at start and kept for ever; reading it costs no reference counting.
public final class MethodTable: @unchecked Sendable {
    // Safe to share: everything is written in `init` and only read afterwards.

    /// One parameter as the binder needs it.
    struct Parameter {
        enum Shape: UInt8 { case name, text, json, integer, boolean, map, list, object, word }
        var name: Bytes
        /// The name as it stands in a line: with quotes and colon.
        var token: Bytes
        var shape: Shape
        var isRequired: Bool
        /// Bytes, items, or the smallest integer.
        var lower: Int64
        var upper: Int64
        var hint: StaticString
        /// What a `word` may be.
        var words: KeptRow<Bytes>?
    }
    struct Entry {
        var name: Bytes
        var hash: UInt64
        var parameters: KeptRow<Parameter>
        var parameterCount: Int { parameters.count }
        /// Which parameters must be there: a bit each.
        var required: UInt32
        /// -1 when the method takes none.
        var requestKeyPosition: Int
        var isOperation: Bool
        var isOutOfBand: Bool
        var isRead: Bool
        var isExtensive: Bool
        /// Some parameter or result is a secret.
        var hasSecrets: Bool
        /// Its store is that of secrets.
        var isAboutSecrets: Bool
    }

    public let methods: [Method]
    let entries: KeptRow<Entry>
    private let slots: KeptRow<Int16>
    private let slotMask: Int
    private static let seed: UInt64 = 0x6B75_7261

    /// Most parameters that a method may have.
    public static let maximumParameters = 24

    /// The whole of Kura's methods.
    public static let standard = MethodTable(Method.all)

    public init(_ methods: [Method]) {
        self.methods = methods
        var size = 64
        while size < methods.count * 4 { size *= 2 }
        slotMask = size - 1
        var entries: [Entry] = []
        var slots = [Int16](repeating: -1, count: size)
        for (index, method) in methods.enumerated() {
            precondition(method.parameters.count <= Self.maximumParameters, "too many parameters: \(method.name)")
            let name = Bytes(keeping: method.name)
            let hash = Hash.bytes(name, seed: Self.seed)
            let parameters = method.parameters.map(Self.compile)
            let required = parameters.indices.reduce(into: UInt32(0)) {
                if parameters[$1].isRequired { $0 |= 1 << UInt32($1) }
            }
            entries.append(
                Entry(
                    name: name, hash: hash, parameters: KeptRow(parameters), required: required,
                    requestKeyPosition: method.requestKeyPosition ?? -1, isOperation: method.isOperation,
                    isOutOfBand: method.isOutOfBand, isRead: method.access == .read,
                    isExtensive: !method.isSingle, hasSecrets: method.hasSecrets,
                    isAboutSecrets: method.store == .secrets))
            var slot = Int(truncatingIfNeeded: hash) & slotMask
            while slots[slot] >= 0 { slot = (slot + 1) & slotMask }
            slots[slot] = Int16(index)
        }
        self.entries = KeptRow(entries)
        self.slots = KeptRow(slots)
    }

    /// Position of the method with that name; nil when there is none.
    public func index(of name: Bytes) -> Int? {
        let hash = Hash.bytes(name, seed: Self.seed)
        var slot = Int(truncatingIfNeeded: hash) & slotMask
        while slots[slot] >= 0 {
            let index = Int(slots[slot])
            if entries[index].hash == hash, entries[index].name.equals(name) { return index }
            slot = (slot + 1) & slotMask
        }
        return nil
    }

    private static func compile(_ field: Field) -> Parameter {
        var result = Parameter(
            name: Bytes(keeping: field.name), token: Bytes(keeping: "\"\(field.name)\":"), shape: .json,
            isRequired: field.isRequired, lower: 0, upper: .max,
            hint: "any JSON value")
        switch field.type {
        case .name(let maxBytes):
            result.shape = .name
            result.lower = 1
            result.upper = Int64(maxBytes)
            result.hint = "a string without control characters, not empty, of at most `limit` bytes"
        case .text(let maxBytes):
            result.shape = .text
            result.upper = Int64(maxBytes)
            result.hint = "a string of at most `limit` bytes"
        case .json: break
        case .integer(let range):
            result.shape = .integer
            result.lower = range.lowerBound
            result.upper = range.upperBound
            result.hint = "a whole number in the range that the method's table gives"
        case .boolean:
            result.shape = .boolean
            result.hint = "true or false"
        case .map:
            result.shape = .map
            result.hint = "an object"
        case .list(_, let maxItems):
            result.shape = .list
            result.upper = Int64(maxItems)
            result.hint = "an array of at most `limit` items"
        case .object:
            result.shape = .object
            result.hint = "an object"
        case .word(let words):
            result.shape = .word
            result.words = KeptRow(words.map(Bytes.init(keeping:)))
            result.hint = "one of the words that the method's table gives"
        case .timestamp:
            preconditionFailure("timestamps are results only")
        }
        return result
    }
}
