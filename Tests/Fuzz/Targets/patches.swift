import KuraBytes
import KuraProtocol

@testable import KuraJSON

/// Patches: one, then (behind the byte 0x1E) a document. As a merge patch and as a list of operations it makes what `PatchModel` makes
/// of it, or is refused by both.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    withInput(data, count) { input in
        let cut = input.firstIndex(of: 0x1E) ?? input.count
        let rest = cut < input.count ? Bytes(rebasing: input[(cut + 1)...]) : input
        // Both are checked before they come here.
        guard let patch = compacted(Bytes(rebasing: input[..<cut])), let document = compacted(rest) else { return }
        withExactBytes(patch) { patch in
            withExactBytes(document) { document in
                checkMerge(StoredValue(patch), StoredValue(document))
                checkOperations(StoredValue(patch), StoredValue(document))
                checkIncrement(StoredValue(patch), StoredValue(document))
            }
        }
    }
    return 0
}

private let limits = PatchLimits(resultBytes: 32 << 10)

private func compacted(_ text: Bytes) -> [UInt8]? {
    guard let plain = PlainJSON.parse(Array(text), maximumDepth: 100), plain.isWire else { return nil }
    var output = ByteBuffer()
    JSONText.compact(text, into: &output)
    return Array(output.bytes)
}

private func tree(_ value: StoredValue) -> PlainJSON {
    let plain = PlainJSON.parse(Array(value.text))
    check(plain != nil, "it is JSON")
    return plain!.value
}

private func isBound(_ fault: PatchFault) -> Bool {
    switch fault.reason {
    case .tooDeep, .tooLarge, .tooMuchWork, .tooManyOperations: true
    default: false
    }
}

/// What came of it is what was expected, in compact JSON that could be stored.
private func checkResult(_ output: borrowing ByteBuffer, _ expected: PlainJSON) {
    let text = Array(output.bytes)
    guard let found = PlainJSON.parse(text, maximumDepth: 128) else { return check(false, "the result is JSON") }
    check(found.isWire, "the result has each name once")
    check(found.value == expected, "the result")
    var compact = ByteBuffer()
    text.withBytes { JSONText.compact($0, into: &compact) }
    check(Array(compact.bytes) == text, "the result is compact")
}

private func checkMerge(_ patch: StoredValue, _ document: StoredValue) {
    var output = ByteBuffer()
    do throws(PatchFault) { try MergePatch.apply(patch, to: document, into: &output, limits) } catch {
        return check(isBound(error), "a merge patch is refused for its size alone")
    }
    checkResult(output, PatchModel.merge(tree(patch), into: tree(document)))
}

private func checkOperations(_ patch: StoredValue, _ document: StoredValue) {
    var output = ByteBuffer()
    var applier = JSONPatch()
    do throws(PatchFault) { try applier.apply(patch, to: document, into: &output, limits) } catch {
        check(output.count == 0, "what is refused gives nothing")
        check(isBound(error) || PatchModel.apply(tree(patch), to: tree(document)) == nil, "refused: \(error.message)")
        return
    }
    guard let expected = PatchModel.apply(tree(patch), to: tree(document)) else {
        return check(false, "what the model refuses is refused")
    }
    checkResult(output, expected)
}

/// The first string of the patch as a path, its first number as the step: the rest stays, and twice back is where it was.
private func checkIncrement(_ patch: StoredValue, _ document: StoredValue) {
    guard patch.kind == .array else { return }
    var parts = patch.elements
    guard let path = parts.next(), let step = parts.next(), path.kind == .string, step.kind == .number,
        let place = try? FieldPath(path.quoted)
    else { return }
    var increment = Increment()
    var output = ByteBuffer()
    guard (try? increment.apply(step.text, at: place, in: document, into: &output, limits)) != nil else { return }
    let text = Array(output.bytes)
    guard let found = PlainJSON.parse(text, maximumDepth: 1200) else {
        return check(false, "the sum's document is JSON")
    }
    check(found.isWire, "the sum's document has each name once")
    text.withBytes { text in
        let sum = place.find(in: StoredValue(text))
        check(sum?.kind == .number, "the sum is where it was put")
    }
}
