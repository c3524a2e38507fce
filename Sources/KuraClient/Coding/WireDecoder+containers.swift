import KuraProtocol

/// What `Decodable` types read from.
struct WireNodeDecoder: Decoder {
    let value: WireValue
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard value.node.kind == .object else { throw value.mismatch([String: Any].self, codingPath) }
        return KeyedDecodingContainer(Keyed<Key>(value, codingPath))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard value.node.kind == .array else { throw value.mismatch([Any].self, codingPath) }
        return Unkeyed(elements: WireElements(value), codingPath: codingPath, array: value)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { Single(value: value, codingPath: codingPath) }
}

/// Members are looked for from behind the one that was found last: types read them in the order in which they wrote them.
private final class Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let object: WireValue
    let codingPath: [any CodingKey]
    private var hint: Int

    init(_ object: WireValue, _ codingPath: [any CodingKey]) {
        self.object = object
        self.codingPath = codingPath
        hint = object.position + 1
    }

    private var end: Int { Int(object.node.next) }

    private func find(_ name: String) -> WireValue? {
        let document = object.document
        func search(_ range: Range<Int>) -> WireValue? {
            var position = range.lowerBound
            while position < range.upperBound {
                let value = WireValue(document, position + 1)
                let next = Int(value.node.next)
                if document.isName(document.nodes[position], name) {
                    hint = next
                    return value
                }
                position = next
            }
            return nil
        }
        let start = hint
        return search(start..<end) ?? search(object.position + 1..<start)
    }

    private func require(_ key: any CodingKey) throws -> WireValue {
        guard let value = find(key.stringValue) else {
            throw DecodingError.keyNotFound(
                key, DecodingError.Context(codingPath: codingPath, debugDescription: "is missing"))
        }
        return value
    }

    var allKeys: [Key] {
        var keys: [Key] = []
        var position = object.position + 1
        while position < end {
            if let key = Key(stringValue: object.document.string(object.document.nodes[position])) { keys.append(key) }
            position = Int(object.document.nodes[position + 1].next)
        }
        return keys
    }

    func contains(_ key: Key) -> Bool { find(key.stringValue) != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try require(key).isNull }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try require(key).boolean(codingPath + [key]) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try require(key).string(codingPath + [key]) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        try require(key).number(type, codingPath + [key])
    }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
        try require(key).number(type, codingPath + [key])
    }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try require(key).integer(type, codingPath + [key]) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 {
        try require(key).integer(type, codingPath + [key])
    }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 {
        try require(key).integer(type, codingPath + [key])
    }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 {
        try require(key).integer(type, codingPath + [key])
    }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
        try require(key).integer(type, codingPath + [key])
    }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt {
        try require(key).integer(type, codingPath + [key])
    }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 {
        try require(key).integer(type, codingPath + [key])
    }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
        try require(key).integer(type, codingPath + [key])
    }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
        try require(key).integer(type, codingPath + [key])
    }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
        try require(key).integer(type, codingPath + [key])
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try require(key).decode(type, path: codingPath + [key])
    }

    private func nested(_ key: any CodingKey) throws -> WireNodeDecoder {
        WireNodeDecoder(value: try require(key), codingPath: codingPath + [key])
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try nested(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try nested(key).unkeyedContainer()
    }
    func superDecoder() throws -> any Decoder { try nested(WireName("super")) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try nested(key) }
}

private struct Unkeyed: UnkeyedDecodingContainer {
    var elements: WireElements
    let codingPath: [any CodingKey]
    let array: WireValue
    private(set) var currentIndex = 0

    init(elements: WireElements, codingPath: [any CodingKey], array: WireValue) {
        self.elements = elements
        self.codingPath = codingPath
        self.array = array
    }

    var count: Int? {
        var rest = WireElements(array)
        var count = 0
        while rest.next() != nil { count += 1 }
        return count
    }
    var isAtEnd: Bool { elements.current == nil }
    private var path: [any CodingKey] { codingPath + [WireIndex(currentIndex)] }

    private func current(_ type: Any.Type) throws -> WireValue {
        guard let value = elements.current else {
            throw DecodingError.valueNotFound(
                type, DecodingError.Context(codingPath: path, debugDescription: "the array ends before"))
        }
        return value
    }

    private mutating func advance() {
        _ = elements.next()
        currentIndex += 1
    }

    mutating func decodeNil() throws -> Bool {
        guard try current(Never?.self).isNull else { return false }
        advance()
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool {
        let value = try current(type).boolean(path)
        advance()
        return value
    }

    mutating func decode(_ type: String.Type) throws -> String {
        let value = try current(type).string(path)
        advance()
        return value
    }

    mutating func decode(_ type: Double.Type) throws -> Double { try number(type) }
    mutating func decode(_ type: Float.Type) throws -> Float { try number(type) }

    private mutating func number<T: LosslessStringConvertible & BinaryFloatingPoint>(_ type: T.Type) throws -> T {
        let value = try current(type).number(type, path)
        advance()
        return value
    }

    private mutating func integer<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
        let value = try current(type).integer(type, path)
        advance()
        return value
    }

    mutating func decode(_ type: Int.Type) throws -> Int { try integer(type) }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let value = try current(type).decode(type, path: path)
        advance()
        return value
    }

    private mutating func nested() throws -> WireNodeDecoder {
        let decoder = WireNodeDecoder(value: try current([Any].self), codingPath: path)
        advance()
        return decoder
    }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested>
    {
        try nested().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try nested().unkeyedContainer() }
    mutating func superDecoder() throws -> any Decoder { try nested() }
}

private struct Single: SingleValueDecodingContainer {
    let value: WireValue
    let codingPath: [any CodingKey]

    func decodeNil() -> Bool { value.isNull }
    func decode(_ type: Bool.Type) throws -> Bool { try value.boolean(codingPath) }
    func decode(_ type: String.Type) throws -> String { try value.string(codingPath) }
    func decode(_ type: Double.Type) throws -> Double { try value.number(type, codingPath) }
    func decode(_ type: Float.Type) throws -> Float { try value.number(type, codingPath) }
    func decode(_ type: Int.Type) throws -> Int { try value.integer(type, codingPath) }
    func decode(_ type: Int8.Type) throws -> Int8 { try value.integer(type, codingPath) }
    func decode(_ type: Int16.Type) throws -> Int16 { try value.integer(type, codingPath) }
    func decode(_ type: Int32.Type) throws -> Int32 { try value.integer(type, codingPath) }
    func decode(_ type: Int64.Type) throws -> Int64 { try value.integer(type, codingPath) }
    func decode(_ type: UInt.Type) throws -> UInt { try value.integer(type, codingPath) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try value.integer(type, codingPath) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try value.integer(type, codingPath) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try value.integer(type, codingPath) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try value.integer(type, codingPath) }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try value.decode(type, path: codingPath) }
}
