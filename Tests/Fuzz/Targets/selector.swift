import KuraBytes

@testable import KuraJSON

/// Selectors: one, then (behind the byte 0x1E) a document. Both are held against the reader by the book first, since what is at rest
/// has been checked.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    withInput(data, count) { input in
        let cut = input.firstIndex(of: 0x1E) ?? input.count
        let rest = cut < input.count ? Bytes(rebasing: input[(cut + 1)...]) : Bytes()
        guard let selector = compact(Bytes(rebasing: input[..<cut])) else { return }
        let document = compact(rest) ?? Array("{\"a\":[1,{\"b\":null}],\"c\":\"\\u0041\"}".utf8)
        withExactBytes(selector) { selector in
            withExactBytes(document) { checkSelector(StoredValue(selector), StoredValue($0)) }
        }
    }
    return 0
}

/// The text as it would be stored; nil when it would be refused.
private func compact(_ text: Bytes) -> [UInt8]? {
    guard let plain = PlainJSON.parse(Array(text)), plain.isWire else { return nil }
    var output: [UInt8] = []
    var (inString, escaped) = (false, false)
    for byte in text {
        if inString {
            output.append(byte)
            inString = escaped || byte != UInt8(ascii: "\"")
            escaped = !escaped && byte == UInt8(ascii: "\\")
        } else if byte > 0x20 {
            output.append(byte)
            inString = byte == UInt8(ascii: "\"")
        }
    }
    return output
}

/// Matches whatever its letters are found in, and gives up at a tilde.
private final class Letters: TextPattern {
    let text: [UInt8]

    init(_ text: Bytes) { self.text = Array(text) }

    func matches(_ subject: Bytes) -> Bool? {
        subject.contains(UInt8(ascii: "~")) ? nil : text.allSatisfy { subject.contains($0) }
    }
}

private func parse(_ text: StoredValue) -> Result<Selector, SelectorError> {
    do throws(SelectorError) {
        return .success(
            try Selector(text) { (pattern) throws(TextPatternError) in
                guard pattern.first != UInt8(ascii: "(") else { throw TextPatternError("not this one") }
                return Letters(pattern)
            })
    } catch { return .failure(error) }
}

private func checkSelector(_ text: StoredValue, _ document: StoredValue) {
    let selector: Selector
    switch parse(text) {
    case .failure(let error):
        check(!error.message.isEmpty, "a refusal says why")
        return
    case .success(let parsed): selector = parsed
    }
    let id = Array("\"id\"".utf8)
    id.withBytes { id in
        var gaveUp = false
        let matches = selector.matches(document, id: StoredValue(id), gaveUp: &gaveUp)
        guard !gaveUp else { return }
        checkRanges(selector, document, matches)
        checkAlgebra(text, document, StoredValue(id), matches)
    }
}

/// What matches lies in the ranges; what lies in exact ranges of all that the selector speaks of matches.
private func checkRanges(_ selector: Selector, _ document: StoredValue, _ matches: Bool) {
    var isInside = true
    var isExact = selector.isCovered(by: selector.paths)
    for path in selector.paths {
        guard let ranges = selector.ranges(of: path) else { continue }
        var key = ByteBuffer()
        IndexKey.append(path.find(in: document), to: &key)
        let bytes = Array(key.bytes)
        let range = ranges.ranges.first {
            !bytes.lexicographicallyPrecedes($0.lower) && bytes.lexicographicallyPrecedes($0.upper)
        }
        if range == nil { isInside = false }
        if range?.isExact != true { isExact = false }
    }
    check(!matches || isInside, "what matches lies in the ranges")
    if isExact { check(matches == isInside, "what lies in exact ranges matches") }
}

/// `$not` of `$not`, and both of two.
private func checkAlgebra(_ text: StoredValue, _ document: StoredValue, _ id: StoredValue, _ matches: Bool) {
    for (head, tail) in [("{\"$not\":{\"$not\":", "}}"), ("{\"$and\":[{},", "]}"), ("{\"$or\":[", ",{\"$or\":[]}]}")] {
        let wrapped = Array(head.utf8) + Array(text.text) + Array(tail.utf8)
        wrapped.withBytes { wrapped in
            // It may be over a bound now.
            guard case .success(let selector) = parse(StoredValue(wrapped)) else { return }
            var gaveUp = false
            let outcome = selector.matches(document, id: id, gaveUp: &gaveUp)
            check(gaveUp || outcome == matches, "\(head)…\(tail)")
        }
    }
}
