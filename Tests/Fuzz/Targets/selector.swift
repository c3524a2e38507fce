import KuraBytes
import KuraProtocol

@testable import KuraJSON

/// Selectors: one, then (behind the byte 0x1E) a document. What it says of the document is held against `SelectorModel`, and its
/// ranges against what it says.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    withInput(data, count) { input in
        let cut = input.firstIndex(of: 0x1E) ?? input.count
        let rest = cut < input.count ? Bytes(rebasing: input[(cut + 1)...]) : input
        // Both are checked before they come here.
        guard let text = compacted(Bytes(rebasing: input[..<cut])), let document = compacted(rest) else { return }
        withExactBytes(text.bytes) { text in
            withExactBytes(document.bytes) { checkSelector(StoredValue(text), StoredValue($0)) }
        }
    }
    return 0
}

private struct Compact {
    var bytes: [UInt8]
}

private func compacted(_ text: Bytes) -> Compact? {
    guard let plain = PlainJSON.parse(Array(text)), plain.isWire else { return nil }
    var output = ByteBuffer()
    JSONText.compact(text, into: &output)
    return Compact(bytes: Array(output.bytes))
}

private func checkSelector(_ text: StoredValue, _ document: StoredValue) {
    guard let plain = PlainJSON.parse(Array(text.text))?.value, let value = PlainJSON.parse(Array(document.text))?.value
    else { return check(false, "both are JSON") }
    let selector: Selector
    do throws(SelectorError) { selector = try Selector(text) } catch {
        check(!error.message.isEmpty && resolve(error.pointer, plain), "the refusal's place \(error.pointer)")
        return
    }
    var gaveUpAt: String?
    let id = Array("\"\u{e9}d\"".utf8)
    let found = id.withBytes { selector.matches(document, id: StoredValue($0), gaveUpAt: &gaveUpAt) }
    check(gaveUpAt == nil, "no pattern, nothing to give up")
    var model = SelectorModel(id: .string(Array("\u{e9}d".utf8)))
    let expected = model.matches(plain, value)
    // Remainders of huge numbers take the model too long.
    guard !model.isBeyond else { return }
    check(found == expected, "whether it matches")
    checkRanges(selector, document, matches: found)
}

/// What matches lies in the ranges of each path, and what lies in exact ranges of all paths matches.
private func checkRanges(_ selector: Selector, _ document: StoredValue, matches: Bool) {
    let paths = selector.paths.filter { !$0.isID }
    var isExact = true
    for path in paths {
        guard let ranges = selector.ranges(of: path) else {
            isExact = false
            continue
        }
        for (range, next) in zip(ranges.ranges, ranges.ranges.dropFirst()) {
            check(!next.lower.lexicographicallyPrecedes(range.upper), "ranges stand apart, in order")
        }
        var key = ByteBuffer()
        IndexKey.append(path.find(in: document), to: &key)
        let bytes = Array(key.bytes)
        let range = ranges.ranges.first {
            !bytes.lexicographicallyPrecedes($0.lower) && bytes.lexicographicallyPrecedes($0.upper)
        }
        check(range != nil || !matches, "what matches lies in the ranges of its paths")
        isExact = isExact && range?.isExact ?? false
    }
    guard isExact, !paths.isEmpty, selector.isCovered(by: paths) else { return }
    check(matches, "what lies in exact ranges of all matches")
}
