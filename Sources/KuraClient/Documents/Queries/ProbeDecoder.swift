/// A decoder that has something for everything it is asked for, and tells its recorder what it gave to which field.
struct ProbeDecoder: Decoder {
    let recorder: ProbeRecorder
    var codingPath: [any CodingKey]
    /// The field in the daemon's notation.
    var place: String
    /// It is a field by itself: not the whole model, and no element of an array or dictionary.
    var isField = false
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(ProbeKeyedContainer<Key>(decoder: self))
    }

    func unkeyedContainer() -> any UnkeyedDecodingContainer { ProbeUnkeyedContainer(decoder: self) }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func under(_ key: some CodingKey) -> ProbeDecoder {
        let isWhole = codingPath.isEmpty
        // What a dictionary is asked for by the name that it was told is no field.
        let isOwn = (isWhole || isField) && key.stringValue != ProbeKey.name
        return ProbeDecoder(
            recorder: recorder, codingPath: codingPath + [key], place: FieldNames.path(place, key.stringValue),
            isField: isOwn)
    }

    // MARK: Giving

    func give<Value>(_ value: Value) -> Value {
        recorder.record(value, at: self)
        return value
    }

    func made<Value: Decodable>(_ type: Value.Type) throws -> Value { give(try recorder.make(type, from: self)) }
}

enum ProbeKey {
    /// The one key that a dictionary has.
    static let name = "kura\u{1F}probe"
}

extension ProbeDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { false }
    func decode(_: Bool.Type) -> Bool { give(recorder.bit(place)) }
    func decode(_: String.Type) -> String { give(recorder.text(place)) }
    func decode(_: Double.Type) -> Double { give(recorder.double(place)) }
    func decode(_: Float.Type) -> Float { give(Float(recorder.double(place))) }
    func decode(_: Int.Type) -> Int { give(recorder.integer(place)) }
    func decode(_: Int8.Type) -> Int8 { give(recorder.integer(place)) }
    func decode(_: Int16.Type) -> Int16 { give(recorder.integer(place)) }
    func decode(_: Int32.Type) -> Int32 { give(recorder.integer(place)) }
    func decode(_: Int64.Type) -> Int64 { give(recorder.integer(place)) }
    func decode(_: UInt.Type) -> UInt { give(recorder.integer(place)) }
    func decode(_: UInt8.Type) -> UInt8 { give(recorder.integer(place)) }
    func decode(_: UInt16.Type) -> UInt16 { give(recorder.integer(place)) }
    func decode(_: UInt32.Type) -> UInt32 { give(recorder.integer(place)) }
    func decode(_: UInt64.Type) -> UInt64 { give(recorder.integer(place)) }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try made(type) }
}

struct ProbeKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: ProbeDecoder
    var codingPath: [any CodingKey] { decoder.codingPath }
    /// A dictionary has one; whose keys are the cases of an enum does not ask.
    var allKeys: [Key] {
        decoder.recorder.flavour == .empty ? [] : Key(stringValue: ProbeKey.name).map { [$0] } ?? []
    }

    func contains(_: Key) -> Bool { true }
    func decodeNil(forKey _: Key) -> Bool { false }
    func decode(_ type: Bool.Type, forKey key: Key) -> Bool { decoder.under(key).decode(type) }
    func decode(_ type: String.Type, forKey key: Key) -> String { decoder.under(key).decode(type) }
    func decode(_ type: Double.Type, forKey key: Key) -> Double { decoder.under(key).decode(type) }
    func decode(_ type: Float.Type, forKey key: Key) -> Float { decoder.under(key).decode(type) }
    func decode(_ type: Int.Type, forKey key: Key) -> Int { decoder.under(key).decode(type) }
    func decode(_ type: Int8.Type, forKey key: Key) -> Int8 { decoder.under(key).decode(type) }
    func decode(_ type: Int16.Type, forKey key: Key) -> Int16 { decoder.under(key).decode(type) }
    func decode(_ type: Int32.Type, forKey key: Key) -> Int32 { decoder.under(key).decode(type) }
    func decode(_ type: Int64.Type, forKey key: Key) -> Int64 { decoder.under(key).decode(type) }
    func decode(_ type: UInt.Type, forKey key: Key) -> UInt { decoder.under(key).decode(type) }
    func decode(_ type: UInt8.Type, forKey key: Key) -> UInt8 { decoder.under(key).decode(type) }
    func decode(_ type: UInt16.Type, forKey key: Key) -> UInt16 { decoder.under(key).decode(type) }
    func decode(_ type: UInt32.Type, forKey key: Key) -> UInt32 { decoder.under(key).decode(type) }
    func decode(_ type: UInt64.Type, forKey key: Key) -> UInt64 { decoder.under(key).decode(type) }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try decoder.under(key).made(type)
    }

    /// What is within itself ends here, and what cannot be made up need not be there.
    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        if decoder.recorder.underWay.contains(ObjectIdentifier(type)) { return nil }
        do { return try decoder.under(key).made(type) } catch let fault as ProbeRecorder.Fault {
            decoder.recorder.leaveOut(fault)
            return nil
        }
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedDecodingContainer<
        Nested
    > {
        decoder.under(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer {
        decoder.under(key).unkeyedContainer()
    }

    func superDecoder() -> any Decoder { decoder.under(ProbeName(stringValue: "super")) }
    func superDecoder(forKey key: Key) -> any Decoder { decoder.under(key) }
}

struct ProbeName: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue _: Int) { nil }
}

/// An array of one element, or of none where its elements have such arrays themselves.
struct ProbeUnkeyedContainer: UnkeyedDecodingContainer {
    let decoder: ProbeDecoder
    var currentIndex = 0
    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { nil }
    var isAtEnd: Bool { currentIndex > 0 || decoder.recorder.flavour == .empty || isRecursive }

    init(decoder: ProbeDecoder) { self.decoder = decoder }

    private var isRecursive: Bool {
        let types = decoder.recorder.underWay
        return types.dropLast().contains { $0 == types.last }
    }

    private mutating func next() -> ProbeDecoder {
        defer { currentIndex += 1 }
        var element = decoder.under(ProbeName(stringValue: String(currentIndex)))
        element.isField = false
        return element
    }

    mutating func decodeNil() -> Bool { false }
    mutating func decode(_ type: Bool.Type) -> Bool { next().decode(type) }
    mutating func decode(_ type: String.Type) -> String { next().decode(type) }
    mutating func decode(_ type: Double.Type) -> Double { next().decode(type) }
    mutating func decode(_ type: Float.Type) -> Float { next().decode(type) }
    mutating func decode(_ type: Int.Type) -> Int { next().decode(type) }
    mutating func decode(_ type: Int8.Type) -> Int8 { next().decode(type) }
    mutating func decode(_ type: Int16.Type) -> Int16 { next().decode(type) }
    mutating func decode(_ type: Int32.Type) -> Int32 { next().decode(type) }
    mutating func decode(_ type: Int64.Type) -> Int64 { next().decode(type) }
    mutating func decode(_ type: UInt.Type) -> UInt { next().decode(type) }
    mutating func decode(_ type: UInt8.Type) -> UInt8 { next().decode(type) }
    mutating func decode(_ type: UInt16.Type) -> UInt16 { next().decode(type) }
    mutating func decode(_ type: UInt32.Type) -> UInt32 { next().decode(type) }
    mutating func decode(_ type: UInt64.Type) -> UInt64 { next().decode(type) }
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try next().made(type) }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedDecodingContainer<Nested> {
        next().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer { next().unkeyedContainer() }
    mutating func superDecoder() -> any Decoder { next() }
}
