/// What `Encodable` types write to.
struct WireNodeEncoder: Encoder {
    let node: WireNode
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(Keyed<Key>(node: node, codingPath: codingPath))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer { Unkeyed(node: node, codingPath: codingPath) }
    func singleValueContainer() -> any SingleValueEncodingContainer { Single(node: node, codingPath: codingPath) }
}

private func check(_ value: Double, _ path: [any CodingKey]) throws {
    guard !value.isFinite else { return }
    throw EncodingError.invalidValue(
        value, EncodingError.Context(codingPath: path, debugDescription: "\(value) is no JSON number"))
}

private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: WireNode
    let codingPath: [any CodingKey]

    init(node: WireNode, codingPath: [any CodingKey]) {
        self.node = node
        self.codingPath = codingPath
        if node.kind == .empty { node.kind = .object }
    }

    private func begin(_ key: Key) throws {
        try node.begin(.object, codingPath)
        try node.add(name: key.stringValue, codingPath)
    }

    func encodeNil(forKey key: Key) throws {
        try begin(key)
        node.text.append(contentsOf: "null".utf8)
    }

    func encode(_ value: Bool, forKey key: Key) throws {
        try begin(key)
        node.text.append(contentsOf: (value ? "true" : "false").utf8)
    }

    func encode(_ value: String, forKey key: Key) throws {
        try begin(key)
        node.text.append(quoted: value)
    }

    func encode(_ value: Double, forKey key: Key) throws {
        try check(value, codingPath + [key])
        try begin(key)
        node.text.append(number: value)
    }

    func encode(_ value: Float, forKey key: Key) throws {
        try check(Double(value), codingPath + [key])
        try begin(key)
        node.text.append(number: value)
    }

    private func put(_ value: some FixedWidthInteger, _ key: Key) throws {
        try begin(key)
        node.text.append(number: value)
    }

    func encode(_ value: Int, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: Int8, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: Int16, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: Int32, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: Int64, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: UInt, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: UInt8, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: UInt16, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: UInt32, forKey key: Key) throws { try put(value, key) }
    func encode(_ value: UInt64, forKey key: Key) throws { try put(value, key) }

    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        try begin(key)
        try node.put(value, path: codingPath + [key])
    }

    private func child(_ name: String, _ key: any CodingKey) -> WireNodeEncoder {
        WireNodeEncoder(node: node.child(name: name, codingPath), codingPath: codingPath + [key])
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<
        Nested
    > {
        child(key.stringValue, key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        child(key.stringValue, key).unkeyedContainer()
    }
    func superEncoder() -> any Encoder { child("super", WireName("super")) }
    func superEncoder(forKey key: Key) -> any Encoder { child(key.stringValue, key) }
}

private struct Unkeyed: UnkeyedEncodingContainer {
    let node: WireNode
    let codingPath: [any CodingKey]
    var count: Int { node.count }

    init(node: WireNode, codingPath: [any CodingKey]) {
        self.node = node
        self.codingPath = codingPath
        if node.kind == .empty { node.kind = .array }
    }

    private func begin() throws {
        try node.begin(.array, codingPath)
        node.addElement()
    }

    func encodeNil() throws {
        try begin()
        node.text.append(contentsOf: "null".utf8)
    }

    func encode(_ value: Bool) throws {
        try begin()
        node.text.append(contentsOf: (value ? "true" : "false").utf8)
    }

    func encode(_ value: String) throws {
        try begin()
        node.text.append(quoted: value)
    }

    func encode(_ value: Double) throws {
        try check(value, codingPath + [WireIndex(count)])
        try begin()
        node.text.append(number: value)
    }

    func encode(_ value: Float) throws {
        try check(Double(value), codingPath + [WireIndex(count)])
        try begin()
        node.text.append(number: value)
    }

    private func put(_ value: some FixedWidthInteger) throws {
        try begin()
        node.text.append(number: value)
    }

    func encode(_ value: Int) throws { try put(value) }
    func encode(_ value: Int8) throws { try put(value) }
    func encode(_ value: Int16) throws { try put(value) }
    func encode(_ value: Int32) throws { try put(value) }
    func encode(_ value: Int64) throws { try put(value) }
    func encode(_ value: UInt) throws { try put(value) }
    func encode(_ value: UInt8) throws { try put(value) }
    func encode(_ value: UInt16) throws { try put(value) }
    func encode(_ value: UInt32) throws { try put(value) }
    func encode(_ value: UInt64) throws { try put(value) }

    func encode<T: Encodable>(_ value: T) throws {
        try begin()
        try node.put(value, path: codingPath + [WireIndex(count - 1)])
    }

    private func child() -> WireNodeEncoder {
        node.addElement()
        return WireNodeEncoder(node: node.child(), codingPath: codingPath + [WireIndex(count - 1)])
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        child().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { child().unkeyedContainer() }
    func superEncoder() -> any Encoder { child() }
}

private struct Single: SingleValueEncodingContainer {
    let node: WireNode
    let codingPath: [any CodingKey]

    private func put(_ write: (inout [UInt8]) -> Void) throws {
        guard node.kind == .empty else {
            throw EncodingError.invalidValue(
                node,
                EncodingError.Context(
                    codingPath: codingPath, debugDescription: "a second value is encoded in the place of one"))
        }
        node.kind = .scalar
        write(&node.text)
    }

    func encodeNil() throws { try put { $0.append(contentsOf: "null".utf8) } }
    func encode(_ value: Bool) throws { try put { $0.append(contentsOf: (value ? "true" : "false").utf8) } }
    func encode(_ value: String) throws { try put { $0.append(quoted: value) } }

    func encode(_ value: Double) throws {
        try check(value, codingPath)
        try put { $0.append(number: value) }
    }

    func encode(_ value: Float) throws {
        try check(Double(value), codingPath)
        try put { $0.append(number: value) }
    }

    func encode(_ value: Int) throws { try put { $0.append(number: value) } }
    func encode(_ value: Int8) throws { try put { $0.append(number: value) } }
    func encode(_ value: Int16) throws { try put { $0.append(number: value) } }
    func encode(_ value: Int32) throws { try put { $0.append(number: value) } }
    func encode(_ value: Int64) throws { try put { $0.append(number: value) } }
    func encode(_ value: UInt) throws { try put { $0.append(number: value) } }
    func encode(_ value: UInt8) throws { try put { $0.append(number: value) } }
    func encode(_ value: UInt16) throws { try put { $0.append(number: value) } }
    func encode(_ value: UInt32) throws { try put { $0.append(number: value) } }
    func encode(_ value: UInt64) throws { try put { $0.append(number: value) } }

    func encode<T: Encodable>(_ value: T) throws { try WireNode.encode(value, into: node, path: codingPath) }
}
