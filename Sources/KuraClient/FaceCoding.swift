/// Values to JSON text and back for the typed faces, with errors that say what they are about.
enum FaceCoding {
    static func encode<Value: Encodable>(_ value: Value) throws(KuraError) -> [UInt8] {
        try WireEncoder().encode(value)
    }

    static func decode<Value: Decodable>(_ type: Value.Type, from text: [UInt8]) throws(KuraError) -> Value {
        try WireDecoder().decode(type, from: text)
    }
}
