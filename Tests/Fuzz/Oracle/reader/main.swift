// What Kura's reader makes of texts, for scripts/fuzz.d/oracle.py.
//
// Takes a frame of texts at its input (each a length, four bytes little endian, and its bytes) and answers each with a line:
// whether RFC 8259's grammar accepts it (0 or 1), whether the wire's does, why it does not, and the value: `{name:value,…}`,
// `[value,…]`, `"` and a string's bytes in hex, `#` and a number's text, `t`, `f`, `n`.
import Glibc
import KuraBytes
import KuraProtocol

func readExactly(_ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    return fread(&bytes, 1, count, stdin) == count ? bytes : nil
}

func hex(_ bytes: Bytes) -> String {
    let digits = Array("0123456789abcdef")
    var result = ""
    for byte in bytes {
        result.append(digits[Int(byte >> 4)])
        result.append(digits[Int(byte & 15)])
    }
    return result
}

func render(_ text: Bytes, into result: inout String) {
    switch text[0] {
    case UInt8(ascii: "{"):
        var walk = JSONWalk(text, storage: WalkStorage())
        result += "{"
        while let (name, value) = walk.nextMember() {
            result += hex(name) + ":"
            render(value, into: &result)
            result += ","
        }
        result += "}"
    case UInt8(ascii: "["):
        var walk = JSONWalk(text, storage: WalkStorage())
        result += "["
        while let value = walk.nextElement() {
            render(value, into: &result)
            result += ","
        }
        result += "]"
    case UInt8(ascii: "\""):
        let storage = WalkStorage()
        withExtendedLifetime(storage) { result += "\"" + hex(JSONWalk.string(text, storage: storage)!) }
    case UInt8(ascii: "t"): result += "t"
    case UInt8(ascii: "f"): result += "f"
    case UInt8(ascii: "n"): result += "n"
    default: result += "#" + String(decoding: text, as: UTF8.self)
    }
}

func read(_ text: Bytes, _ grammar: JSONGrammar) -> (value: JSONValue?, why: String) {
    var reader = JSONReader(text, grammar: grammar, names: NameStack())
    do throws(JSONFault) {
        let value = try reader.value()
        try reader.expectEnd()
        return (value, "-")
    } catch { return (nil, "\(error.reason)") }
}

while let head = readExactly(4) {
    let count = head.reversed().reduce(0) { $0 << 8 | Int($1) }
    guard let text = readExactly(count) else { break }
    let line = text.withBytes { text in
        let loose = read(text, .rfc8259)
        let wire = read(text, .wire)
        var line = "\(loose.value == nil ? 0 : 1) \(wire.value == nil ? 0 : 1) \(wire.why) "
        if let value = loose.value {
            render(Bytes(rebasing: text[Int(value.start)..<Int(value.end)]), into: &line)
        }
        return line
    }
    print(line)
}
