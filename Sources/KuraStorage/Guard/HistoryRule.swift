public import KuraBytes
import KuraJSON
import KuraProtocol

/// How much a collection keeps of what its documents were: `{"count":20,"days":90,"bytes":67108864}`.
public struct HistoryRule: Equatable, Sendable {
    /// Former versions of a document; nil for as many as there are.
    public let count: Int?
    /// Days since a version was replaced; nil for ever.
    public let days: Int?
    /// Bytes of all former versions of the collection.
    public let bytes: Int

    public struct Fault: Error {
        /// The place, as a JSON pointer.
        public var pointer: String
        public var message: String
    }

    /// `text`: checked JSON.
    /// Throws: where and why it is none.
    public init(_ text: Bytes) throws(Fault) {
        guard text.first == UInt8(ascii: "{") else {
            throw Fault(pointer: "", message: "a history is an object of count, days and bytes, or null")
        }
        var (count, days, bytes): (Int?, Int?, Int?)
        for member in StoredValue(text).members {
            switch String(member.name) {
            case "count": count = try Self.number(member.value, WireLimits.historyVersions, "count")
            case "days": days = try Self.number(member.value, WireLimits.days, "days")
            case "bytes": bytes = try Self.number(member.value, WireLimits.historyBytes, "bytes")
            default: throw Fault(pointer: "", message: "members of a history are count, days and bytes")
            }
        }
        guard count != nil || days != nil else {
            throw Fault(pointer: "", message: "a history has a count of versions, or days, or both")
        }
        (self.count, self.days) = (count, days)
        self.bytes = bytes ?? WireLimits.standardHistoryBytes
    }

    /// One that is kept; nil when it is of a later version and not understood.
    init?(stored text: Bytes) { do throws(Fault) { try self.init(text) } catch { return nil } }

    private static func number(_ value: StoredValue, _ range: ClosedRange<Int64>, _ name: String) throws(Fault) -> Int {
        guard value.kind == .number, let number = JSONNumber.integer(value.text), range.contains(number) else {
            throw Fault(
                pointer: "/\(name)",
                message: "\(name) is a whole number of \(range.lowerBound) to \(range.upperBound)")
        }
        return Int(number)
    }

    /// Its JSON text.
    public var text: [UInt8] {
        var members: [String] = []
        if let count { members.append("\"count\":\(count)") }
        if let days { members.append("\"days\":\(days)") }
        members.append("\"bytes\":\(bytes)")
        return Array("{\(members.joined(separator: ","))}".utf8)
    }
}
