import KuraBytes
import KuraProtocol

/// `JSONReader` by both grammars, and `JSONText`, against `PlainJSON`.
nonisolated(unsafe) private let names = NameStack()

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    withInput(data, count) { text in
        let plain = PlainJSON.parse(Array(text))
        let loose = read(text, .rfc8259)
        let wire = read(text, .wire)
        check((loose != nil) == (plain != nil), "RFC 8259 is accepted as the second opinion does")
        check((wire != nil) == (plain?.isWire ?? false), "the wire's grammar is accepted as the second opinion does")
        guard let plain, let loose else { return }
        if let wire { check(same(loose, wire), "both grammars say the same of the value") }
        check(loose.kind == kind(of: plain.value), "the kind")
        checkCompact(text, loose, plain.value)
        checkParts(text, loose, plain.value, depth: 0)
    }
    return 0
}

private func same(_ left: JSONValue, _ right: JSONValue) -> Bool {
    left.start == right.start && left.end == right.end && left.kind == right.kind
        && left.hasWhitespace == right.hasWhitespace
}

private func read(_ text: Bytes, _ grammar: JSONGrammar, depth: Int = 128) -> JSONValue? {
    names.truncate(to: 0)
    var reader = JSONReader(text, grammar: grammar, maximumDepth: depth, names: names)
    do throws(JSONFault) {
        let value = try reader.value()
        try reader.expectEnd()
        check(names.count == 0, "no name stays behind")
        check(value.start >= 0 && value.start < value.end && Int(value.end) <= text.count, "the value lies in the text")
        return value
    } catch {
        check(error.offset >= 0 && error.offset <= text.count, "the fault lies in the text")
        return nil
    }
}

private func kind(of value: PlainJSON) -> JSONKind {
    switch value {
    case .object: .object
    case .array: .array
    case .string: .string
    case .number: .number
    case .boolean(let isTrue): isTrue ? .true : .false
    case .null: .null
    }
}

/// White space goes and nothing else; what has none stays as it is.
private func checkCompact(_ text: Bytes, _ value: JSONValue, _ plain: PlainJSON) {
    let own = Bytes(rebasing: text[Int(value.start)..<Int(value.end)])
    let compact = compacted(own)
    check(value.hasWhitespace == (compact.count != own.count), "white space is seen")
    check(PlainJSON.parse(compact)?.value == plain, "the compact text means the same")
    let again = compact.withBytes(compacted)
    check(again == compact, "compacting twice is compacting once")
}

private func compacted(_ text: Bytes) -> [UInt8] {
    var output = ByteBuffer()
    JSONText.compact(text, into: &output)
    return Array(output.bytes)
}

/// Walks over the value as handlers do: each part is what the second opinion says.
private func checkParts(_ text: Bytes, _ value: JSONValue, _ plain: PlainJSON, depth: Int) {
    let own = Bytes(rebasing: text[Int(value.start)..<Int(value.end)])
    func part(_ found: Bytes, _ expected: PlainJSON) {
        check(isInside(found, own), "the part lies in its container")
        guard let value = read(found, .rfc8259) else { return check(false, "a part is JSON") }
        check(value.kind == kind(of: expected), "the part's kind")
        // Each level is walked anew, so that deep ones would take the square of the text.
        if depth < 8 { checkParts(found, value, expected, depth: depth + 1) }
    }
    switch plain {
    case .object(let members):
        var walk = JSONWalk(own, storage: WalkStorage())
        for member in members {
            guard let (name, value) = walk.nextMember() else { return check(false, "no member is missing") }
            check(name.elementsEqual(member.name), "the member's name")
            part(value, member.value)
        }
        check(walk.nextMember() == nil, "no member comes besides")
    case .array(let elements):
        var walk = JSONWalk(own, storage: WalkStorage())
        for element in elements {
            guard let found = walk.nextElement() else { return check(false, "no element is missing") }
            part(found, element)
        }
        check(walk.nextElement() == nil, "no element comes besides")
    case .string(let contents):
        let storage = WalkStorage()
        withExtendedLifetime(storage) {
            let found = JSONWalk.string(own, storage: storage)
            check(found?.elementsEqual(contents) ?? false, "the string's contents")
        }
        checkQuoted(contents)
    case .number(let digits):
        check(own.elementsEqual(digits), "the number's text")
        checkInteger(own, digits)
    default: break
    }
}

private func isInside(_ part: Bytes, _ whole: Bytes) -> Bool {
    guard let start = part.baseAddress, let first = whole.baseAddress else { return false }
    return start >= first && start + part.count <= first + whole.count
}

/// What is written comes back as it was.
private func checkQuoted(_ contents: [UInt8]) {
    var output = ByteBuffer()
    contents.withBytes { output.append(quoted: $0) }
    check(PlainJSON.parse(Array(output.bytes))?.value == .string(contents), "quoting can be undone")
}

/// Whole numbers as plain arithmetic has them, where it can.
private func checkInteger(_ text: Bytes, _ digits: [UInt8]) {
    let found = JSONNumber.integer(text)
    let string = String(decoding: digits, as: UTF8.self)
    if digits.allSatisfy({ $0 == UInt8(ascii: "-") || $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) {
        check(found == Int64(string), "a whole number in digits")
    } else if let number = Double(string), number.magnitude < 1e15, digits.count < 15 {
        // So short a number has no digit that a Double loses.
        let isWhole = number.rounded() == number && isExact(string)
        if isWhole { check(found == Int64(number), "a whole number with fraction or exponent") }
        if number.rounded() != number { check(found == nil, "a fraction is no whole number") }
    } else if let found {
        check(Double(found) == Double(string), "a whole number in another spelling")
    }
}

/// No exponent so small that a Double shows a fraction as nothing.
private func isExact(_ number: String) -> Bool {
    guard let value = Double(number) else { return false }
    return value != 0 || number.prefix { $0 != "e" && $0 != "E" }.allSatisfy { "-0.".contains($0) }
}
