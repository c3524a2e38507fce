/// One request rendered in advance, and where in it the digits are that change from one sending to the next.
///
/// Every request of a template has the same length: keys and the counter are of fixed width.
struct RequestTemplate {
    let bytes: [UInt8]
    /// Where the twelve digits of the key begin.
    let keyOffset: Int
    /// Where the twelve digits of the write counter begin; nil in a read.
    let counterOffset: Int?

    private static let keyPrefix = "key:"
    private static let noDigits = String(repeating: "0", count: Digits.width)
    private static let key = keyPrefix + noDigits

    /// A point read of one key.
    static func read(_ wire: Target.Wire, room: LoadOptions.Room) -> RequestTemplate {
        switch wire {
        case .redis:
            return RequestTemplate("*2\r\n$3\r\nGET\r\n$\(key.utf8.count)\r\n\(key)\r\n", valueMarker: nil)
        case .memcached:
            return RequestTemplate("get \(key)\r\n", valueMarker: nil)
        case .kura:
            let name = nameMembers(room)
            return RequestTemplate(call("\(room.rawValue).get", "{\(name)}"), valueMarker: nil)
        }
    }

    /// A write of one key.
    ///
    /// Its value has `valueSize` bytes, at least 16: the counter, the number of the `generator`, then filler. No two
    /// generators that run at the same time may have the same number (0…9999).
    static func write(
        _ wire: Target.Wire, room: LoadOptions.Room, valueSize: Int, generator: Int
    ) -> RequestTemplate {
        let digits = "\(generator % 10_000)"
        let number = String(repeating: "0", count: 4 - digits.count) + digits
        let value = noDigits + number + String(repeating: "x", count: valueSize - Digits.width - 4)
        switch wire {
        case .redis:
            // What is cached has an end.
            let (count, expiry) = room == .models ? (5, "$2\r\nEX\r\n$3\r\n600\r\n") : (3, "")
            let head = "*\(count)\r\n$3\r\nSET\r\n$\(key.utf8.count)\r\n\(key)\r\n$\(valueSize)\r\n"
            return RequestTemplate(head + value + "\r\n" + expiry, valueMarker: value)
        case .memcached:
            return RequestTemplate("set \(key) 0 600 \(valueSize)\r\n\(value)\r\n", valueMarker: value)
        case .kura:
            let member = room == .secrets ? "secret" : "value"
            let lifetime = room == .models ? ",\"ttlSeconds\":600" : ""
            let parameters = "{\(nameMembers(room)),\"\(member)\":\"\(value)\"\(lifetime)}"
            return RequestTemplate(call("\(room.rawValue).put", parameters), valueMarker: value)
        }
    }

    private static func nameMembers(_ room: LoadOptions.Room) -> String {
        switch room {
        case .settings: return "\"domain\":\"bench\",\"key\":\"\(key)\""
        case .documents: return "\"collection\":\"bench\",\"id\":\"\(key)\""
        case .models: return "\"namespace\":\"bench\",\"key\":\"\(key)\""
        case .secrets: return "\"service\":\"bench\",\"account\":\"\(key)\""
        }
    }

    /// A JSON-RPC request line. Every request has id 1: replies come in order, and `ReplyScanner` relies on it.
    static func call(_ method: String, _ parameters: String) -> String {
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\(method)\",\"params\":\(parameters)}\n"
    }

    private init(_ text: String, valueMarker: String?) {
        let rendered = Array(text.utf8)
        bytes = rendered
        keyOffset = RequestTemplate.offset(of: RequestTemplate.key, in: rendered) + RequestTemplate.keyPrefix.utf8.count
        counterOffset = valueMarker.map { RequestTemplate.offset(of: $0, in: rendered) }
    }

    private static func offset(of part: String, in bytes: [UInt8]) -> Int {
        let wanted = Array(part.utf8)
        for start in 0...(bytes.count - wanted.count)
        where bytes[start] == wanted[0] && Array(bytes[start..<(start + wanted.count)]) == wanted {
            return start
        }
        preconditionFailure("a template holds its own key and value")
    }
}
