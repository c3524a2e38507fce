import Glibc

/// The method table made ready for the hot path: look-up by name, and each method's parameters as plain records.
///
/// Made once at start and kept for ever; reading it costs no reference counting.
public final class MethodTable: @unchecked Sendable {
    // Safe to share: everything is written in `init` and only read afterwards.

    /// One parameter as the binder needs it.
    struct Parameter {
        enum Shape: UInt8 { case name, text, json, integer, boolean, map, list, object, word }
        var name: UnsafeRawBufferPointer
        var shape: Shape
        var isRequired: Bool
        /// Bytes, items, or the smallest integer.
        var lower: Int64
        var upper: Int64
        var hint: StaticString
        /// What a `word` may be.
        var words = UnsafeBufferPointer<UnsafeRawBufferPointer>(start: nil, count: 0)
    }
    struct Entry {
        var name: UnsafeRawBufferPointer
        var hash: UInt64
        var parameters: UnsafeMutablePointer<Parameter>
        var parameterCount: Int
        /// -1 when the method takes none.
        var requestKeyPosition: Int
        var isOperation: Bool
        var isOutOfBand: Bool
        var isRead: Bool
        var isExtensive: Bool
    }

    public let methods: [Method]
    let entries: UnsafeMutablePointer<Entry>
    private let slots: UnsafeMutablePointer<Int16>
    private let slotMask: Int
    private static let seed: UInt64 = 0x6B75_7261

    /// Most parameters that a method may have.
    public static let maximumParameters = 16

    /// The whole of Kura's methods.
    public static let standard = MethodTable(Method.all)

    public init(_ methods: [Method]) {
        self.methods = methods
        entries = .allocate(capacity: max(methods.count, 1))
        var size = 64
        while size < methods.count * 4 { size *= 2 }
        slotMask = size - 1
        slots = .allocate(capacity: size)
        slots.initialize(repeating: -1, count: size)
        for (index, method) in methods.enumerated() {
            precondition(method.parameters.count <= Self.maximumParameters, "too many parameters: \(method.name)")
            let name = Self.keep(method.name)
            let parameters = UnsafeMutablePointer<Parameter>.allocate(capacity: max(method.parameters.count, 1))
            for (position, field) in method.parameters.enumerated() {
                (parameters + position).initialize(to: Self.compile(field))
            }
            let hash = Hash.bytes(name, seed: Self.seed)
            (entries + index).initialize(
                to: Entry(
                    name: name, hash: hash, parameters: parameters, parameterCount: method.parameters.count,
                    requestKeyPosition: method.requestKeyPosition ?? -1, isOperation: method.isOperation,
                    isOutOfBand: method.isOutOfBand, isRead: method.access == .read,
                    isExtensive: method.isExtensive))
            var slot = Int(truncatingIfNeeded: hash) & slotMask
            while slots[slot] >= 0 { slot = (slot + 1) & slotMask }
            slots[slot] = Int16(index)
        }
    }

    /// Position of the method with that name; nil when there is none.
    public func index(of name: UnsafeRawBufferPointer) -> Int? {
        let hash = Hash.bytes(name, seed: Self.seed)
        var slot = Int(truncatingIfNeeded: hash) & slotMask
        while slots[slot] >= 0 {
            let index = Int(slots[slot])
            if entries[index].hash == hash, entries[index].name.count == name.count,
                memcmp(entries[index].name.baseAddress!, name.baseAddress!, name.count) == 0
            {
                return index
            }
            slot = (slot + 1) & slotMask
        }
        return nil
    }

    private static func keep(_ text: String) -> UnsafeRawBufferPointer {
        let bytes = Array(text.utf8)
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 1), alignment: 8)
        memory.copyBytes(from: bytes)
        return UnsafeRawBufferPointer(start: memory.baseAddress, count: bytes.count)
    }

    private static func compile(_ field: Field) -> Parameter {
        var result = Parameter(
            name: keep(field.name), shape: .json, isRequired: field.isRequired, lower: 0, upper: .max,
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
            let kept = UnsafeMutableBufferPointer<UnsafeRawBufferPointer>.allocate(capacity: words.count)
            _ = kept.initialize(fromContentsOf: words.map(keep))
            result.words = UnsafeBufferPointer(kept)
            result.hint = "one of the words that the method's table gives"
        case .timestamp:
            preconditionFailure("timestamps are results only")
        }
        return result
    }
}
