import KuraBytes
import KuraProtocol

/// The members of one JSON object, by name. Values stay text until they are asked for.
public struct JSONObject: Sendable {
    private let text: [UInt8]
    /// In the order in which they stand.
    private let members: [(name: String, value: Range<Int>)]

    /// - Returns: nil when `text` is not one JSON object.
    public init?(_ text: some Collection<UInt8>) {
        let text = Array(text)
        guard text.count <= JSONDocument.maximumBytes else { return nil }
        let members = text.withBytes { bytes -> [(name: String, value: Range<Int>)]? in
            do throws(JSONFault) { return try Self.members(bytes) } catch { return nil }
        }
        guard let members else { return nil }
        self.text = text
        self.members = members
    }

    private static func members(
        _ bytes: Bytes
    ) throws(JSONFault) -> [(name: String, value: Range<Int>)] {
        var reader = JSONReader(
            bytes, grammar: .rfc8259, maximumDepth: JSONDocument.maximumDepth, names: NameStack())
        var members: [(name: String, value: Range<Int>)] = []
        try reader.expect(UInt8(ascii: "{"))
        if !reader.take(UInt8(ascii: "}")) {
            while true {
                let name = try reader.name()
                let value = try reader.value()
                members.append((resolve(name, in: bytes), Int(value.start)..<Int(value.end)))
                if reader.take(UInt8(ascii: ",")) { continue }
                try reader.expect(UInt8(ascii: "}"))
                break
            }
        }
        try reader.expectEnd()
        return members
    }

    private static func resolve(_ string: JSONString, in bytes: Bytes) -> String {
        var output = ByteBuffer()
        JSONText.unescape(
            Bytes(rebasing: bytes[Int(string.start)..<Int(string.end)]), into: &output)
        return String(decoding: output.bytes, as: UTF8.self)
    }

    public var names: [String] { members.map(\.name) }

    /// Names and values' texts, in the order in which they stand.
    public var entries: [(name: String, value: [UInt8])] { members.map { ($0.name, Array(text[$0.value])) } }

    /// The value's text; nil when there is no such member.
    public subscript(name: String) -> [UInt8]? {
        members.first { $0.name == name }.map { Array(text[$0.value]) }
    }

    /// nil when the member is absent or no string.
    public func string(_ name: String) -> String? {
        guard let value = self[name] else { return nil }
        return Self.string(value)
    }

    /// nil when the member is absent or no whole number, or one beyond 2^53 − 1: the protocol has none, and with what it has one can reckon.
    public func integer(_ name: String) -> Int64? { self[name].flatMap(Self.integer) }

    /// nil when the member is absent or neither true nor false.
    public func boolean(_ name: String) -> Bool? {
        switch self[name].map({ String(decoding: $0, as: UTF8.self) }) {
        case "true": true
        case "false": false
        default: nil
        }
    }

    /// nil when the member is absent or no object.
    public func object(_ name: String) -> JSONObject? {
        self[name].flatMap { JSONObject($0) }
    }

    /// The integer that a JSON number spells; nil when it has a fraction or lies beyond ±(2^53 − 1).
    public static func integer(_ text: [UInt8]) -> Int64? {
        guard let first = text.first,
            first == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first),
            let number = text.withBytes({ JSONNumber.integer($0) }),
            (-WireLimits.safeInteger...WireLimits.safeInteger).contains(number)
        else { return nil }
        return number
    }

    /// What a string's text, quotes included, stands for; nil when it is no string.
    public static func string(_ text: [UInt8]) -> String? {
        guard text.count >= 2, text.first == UInt8(ascii: "\"") else { return nil }
        return text[1..<text.count - 1].withBytes { inside in
            var output = ByteBuffer()
            JSONText.unescape(inside, into: &output)
            return String(decoding: output.bytes, as: UTF8.self)
        }
    }
}
