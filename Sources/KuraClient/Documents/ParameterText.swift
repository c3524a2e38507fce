import KuraBytes
import KuraProtocol

/// A request's parameters as JSON text, member by member. What is nil is left out.
struct ParameterText {
    private var members: [UInt8] = []

    mutating func add(_ name: String, json: [UInt8]?) {
        guard let json else { return }
        members.append(members.isEmpty ? UInt8(ascii: "{") : UInt8(ascii: ","))
        members += Self.quoted(name)
        members.append(UInt8(ascii: ":"))
        members += json
    }

    mutating func add(_ name: String, _ value: String?) { add(name, json: value.map(Self.quoted)) }

    mutating func add(_ name: String, _ value: Int64?) { add(name, json: value.map { Array(String($0).utf8) }) }

    mutating func add(_ name: String, _ value: Int?) { add(name, value.map { Int64($0) }) }

    /// Left out when it is false, which is what every flag of the protocol is when it is absent.
    mutating func add(_ name: String, flag: Bool) {
        if flag { add(name, json: Array("true".utf8)) }
    }

    mutating func add(_ name: String, strings: [String]) {
        add(name, json: JSONElements.array(strings.map(Self.quoted)))
    }

    /// The whole object.
    var object: [UInt8] { members.isEmpty ? Array("{}".utf8) : members + [UInt8(ascii: "}")] }

    /// A JSON string with its quotes.
    static func quoted(_ text: String) -> [UInt8] {
        var output = ByteBuffer(capacity: text.utf8.count + 2)
        output.append(quoted: text)
        return Array(output.bytes)
    }
}
