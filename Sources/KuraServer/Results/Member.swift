import KuraBytes
import KuraProtocol

/// A member of a result: its name, and by its type what its value is. All of them are in Generated/Members.swift.
struct Member<Value> {
    /// The name in quotes, between a comma and a colon.
    let text: StaticString
    init(_ text: StaticString) { self.text = text }
}

/// A whole number.
typealias NumberMember = Member<JSONKind.Number>
typealias TextMember = Member<JSONKind.Text>
typealias FlagMember = Member<JSONKind.Flag>
/// Milliseconds since 1970, which are written as a timestamp.
typealias MomentMember = Member<JSONKind.Moment>
typealias ListMember = Member<JSONKind.List>
typealias ObjectMember = Member<JSONKind.Object>
/// Any value.
typealias AnyMember = Member<JSONKind.Anything>

/// What the values of parameters and members are.
enum JSONKind {
    enum Number {}
    enum Text {}
    enum Flag {}
    enum Moment {}
    enum List {}
    enum Object {}
    enum Anything {}
}

/// Writes JSON: objects by their members, lists by their elements. Commas come by themselves, where the byte before is that of
/// another value.
///
/// Inlined: a name's length is known where it is written, so that a few stores are left of the copy.
extension ByteBuffer {
    @inline(__always)
    mutating func append(_ member: NumberMember, _ value: UInt64) {
        append(name: member)
        append(unsigned: value)
    }

    @inline(__always)
    mutating func append(_ member: NumberMember, _ value: Int) {
        append(name: member)
        append(integer: Int64(value))
    }

    @inline(__always)
    mutating func append(_ member: NumberMember, _ value: Int64) {
        append(name: member)
        append(integer: value)
    }

    @inline(__always)
    mutating func append(_ member: NumberMember, _ value: UInt32) { append(member, UInt64(value)) }

    /// `text` is well-formed UTF-8, not yet escaped.
    @inline(__always)
    mutating func append(_ member: TextMember, _ text: Bytes) {
        append(name: member)
        append(quoted: text)
    }

    @inline(__always)
    mutating func append(_ member: TextMember, _ text: [UInt8]) { text.withBytes { append(member, $0) } }

    @inline(__always)
    mutating func append(_ member: TextMember, _ text: String) {
        append(name: member)
        append(quoted: text)
    }

    /// One of the protocol's words: nothing in it is to be escaped.
    @inline(__always)
    mutating func append(_ member: TextMember, word: StaticString) {
        append(name: member)
        append(UInt8(ascii: "\""))
        append(word)
        append(UInt8(ascii: "\""))
    }

    @inline(__always)
    mutating func append(_ member: TextMember, base64 bytes: Bytes) {
        append(name: member)
        append(UInt8(ascii: "\""))
        Base64.encode(bytes, into: &self)
        append(UInt8(ascii: "\""))
    }

    @inline(__always)
    mutating func append(_ member: FlagMember, _ value: Bool) {
        append(name: member)
        append(value ? "true" : "false")
    }

    /// `milliseconds`: since 1970-01-01T00:00:00Z.
    @inline(__always)
    mutating func append(_ member: MomentMember, _ milliseconds: Int64) {
        append(name: member)
        append(timestamp: milliseconds)
    }

    /// `json` is a value's text.
    @inline(__always)
    mutating func append(_ member: AnyMember, json: Bytes) {
        append(name: member)
        append(json)
    }

    @inline(__always)
    mutating func append(_ member: ListMember, json: Bytes) {
        append(name: member)
        append(json)
    }

    @inline(__always)
    mutating func append(_ member: ObjectMember, json: Bytes) {
        append(name: member)
        append(json)
    }

    @inline(__always)
    mutating func append(_ member: ListMember, json: [UInt8]) { json.withBytes { append(member, json: $0) } }

    /// The name with a colon; the caller appends the value.
    @inline(__always)
    mutating func append(name member: Member<some Any>) {
        if isFirst { append(member.text, droppingFirst: 1) } else { append(member.text) }
    }

    /// A member whose name is no member of the protocol's own, such as a setting's key. `json` is a value's text.
    mutating func append(key: Bytes, json: Bytes) {
        append(key: key)
        append(json)
    }

    /// The name with a colon; the caller appends the value.
    mutating func append(key: Bytes) {
        beginMember()
        append(quoted: key)
        append(UInt8(ascii: ":"))
    }

    mutating func append(key: [UInt8]) { key.withBytes { append(key: $0) } }

    mutating func append(key: String) { key.withBytes { append(key: $0) } }

    mutating func append(key: String, _ value: Int) {
        append(key: key)
        append(integer: Int64(value))
    }

    @inline(__always)
    mutating func openObject() {
        beginElement()
        append(UInt8(ascii: "{"))
    }

    @inline(__always)
    mutating func openObject(_ member: ObjectMember) {
        append(name: member)
        append(UInt8(ascii: "{"))
    }

    @inline(__always)
    mutating func closeObject() { append(UInt8(ascii: "}")) }

    @inline(__always)
    mutating func openList() {
        beginElement()
        append(UInt8(ascii: "["))
    }

    @inline(__always)
    mutating func openList(_ member: ListMember) {
        append(name: member)
        append(UInt8(ascii: "["))
    }

    @inline(__always)
    mutating func closeList() { append(UInt8(ascii: "]")) }

    /// An element of a list: a text, not yet escaped.
    mutating func append(element text: Bytes) {
        beginElement()
        append(quoted: text)
    }

    mutating func append(element text: [UInt8]) { text.withBytes { append(element: $0) } }

    mutating func append(element text: String) { text.withBytes { append(element: $0) } }

    /// An element of a list: a value's text.
    mutating func append(jsonElement json: Bytes) {
        beginElement()
        append(json)
    }

    /// The member that comes is the first of its object.
    @inline(__always)
    private var isFirst: Bool { last == nil || last == UInt8(ascii: "{") }

    /// A comma, unless this is the first member.
    mutating func beginMember() {
        if !isFirst { append(UInt8(ascii: ",")) }
    }

    /// A comma, unless this is the first element, a member's value or a line's beginning.
    @inline(__always)
    mutating func beginElement() {
        switch last {
        case UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: ","), UInt8(ascii: "\n"), nil: break
        default: append(UInt8(ascii: ","))
        }
    }
}
