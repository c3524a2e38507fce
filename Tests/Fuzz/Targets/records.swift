import KuraBytes
import KuraProtocol

@testable import KuraServer

/// The import: `RecordSplitter` in pieces and resumed, and `RecordReader` on what comes out. The first byte says how.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    withInput(data, count) { input in
        guard let first = input.first else { return }
        let text = Bytes(rebasing: input[1...])
        let limit = first & 1 == 0 ? 1 << 20 : 1 + Int(first >> 2)
        let format: RecordSplitter.Format? = first & 2 == 0 ? nil : .lines
        var dice = Dice(input)
        let whole = split([text], limit: limit, format)
        for _ in 0..<3 { check(split(dice.pieces(of: text), limit: limit, format) == whole, "in pieces") }
        checkResuming(text, whole, limit: limit, &dice)
        checkElements(text, whole, limit: limit, format)
        for event in whole.events { if case .record(let record, _, _) = event { checkRecord(record, first) } }
    }
    return 0
}

private enum Event: Equatable {
    /// Bytes, line, and where to go on.
    case record([UInt8], line: Int, end: Int)
    case oversize(line: Int, offset: Int, end: Int)
    case malformed(line: Int, offset: Int)
}

private struct Outcome: Equatable {
    var events: [Event] = []
    /// What the splitter took it for when the first event came, or before.
    var format: RecordSplitter.Format?

    static func == (left: Outcome, right: Outcome) -> Bool {
        // When the first thing that is met ends the splitting, the format is told before it or behind it, as the pieces are.
        if case .malformed? = left.events.first { return left.events == right.events }
        return left.events == right.events && left.format == right.format
    }
}

private func split(
    _ pieces: [Bytes], limit: Int, _ format: RecordSplitter.Format?, from offset: Int = 0
) -> Outcome {
    var splitter = RecordSplitter(limit: limit, format: format, offset: offset)
    var rest = pieces[...]
    var outcome = Outcome()
    let inputEnd = offset + pieces.reduce(0) { $0 + $1.count }
    while true {
        let event = splitter.next()
        // A malformed array ends the splitting, and with it the format is `lines` so that nothing is looked at.
        if outcome.format == nil { outcome.format = splitter.format }
        switch event {
        case .record(let record):
            let bytes = Array(splitter.bytes(of: record))
            check(!bytes.isEmpty && bytes.count <= limit, "a record is neither empty nor too long")
            check(record.offset + bytes.count <= record.end && record.end <= inputEnd, "a record lies in the input")
            outcome.events.append(.record(bytes, line: record.line, end: record.end))
        case .oversize(let record):
            outcome.events.append(.oversize(line: record.line, offset: record.offset, end: record.end))
        case .malformed(let record): outcome.events.append(.malformed(line: record.line, offset: record.offset))
        case .needsMore:
            if let piece = rest.popFirst() { splitter.append(piece) } else { splitter.finish() }
        case .end: return outcome
        }
        check(outcome.events.count <= inputEnd - offset + 2, "it comes to an end")
    }
}

/// Going on behind any record finds the same as going through.
private func checkResuming(_ text: Bytes, _ whole: Outcome, limit: Int, _ dice: inout Dice) {
    guard let format = whole.format, !whole.events.isEmpty else { return }
    let index = dice.roll(whole.events.count)
    guard case .record(_, let before, let end) = whole.events[index], end < text.count else { return }
    let rest = split([Bytes(rebasing: text[end...])], limit: limit, format, from: end)
    let expected = whole.events[(index + 1)...]
    check(rest.events.count == expected.count, "as many records behind \(end)")
    for (left, right) in zip(rest.events, expected) {
        switch (left, right) {
        case (.record(let one, _, let oneEnd), .record(let other, let line, let otherEnd)):
            check(one == other && oneEnd == otherEnd && line >= before, "the same records")
        case (.oversize(_, let one, let oneEnd), .oversize(_, let other, let otherEnd)):
            check(one == other && oneEnd == otherEnd, "the same oversize records")
        case (.malformed(_, let one), .malformed(_, let other)): check(one == other, "the same fault")
        default: check(false, "the same kind of event")
        }
    }
}

/// An input that is one JSON array has its elements for records; one of lines has the lines.
private func checkElements(
    _ text: Bytes, _ whole: Outcome, limit: Int, _ format: RecordSplitter.Format?
) {
    var bytes = Array(text)
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
    let records = whole.events.map { event -> [UInt8]? in
        if case .record(let bytes, _, _) = event { bytes } else { nil }
    }
    let blanks: [UInt8] = [0x20, 0x09, 0x0D, 0x0A]
    let isArray = bytes.first { !blanks.contains($0) } == UInt8(ascii: "[")
    if format == nil, isArray {
        guard let plain = PlainJSON.parse(bytes), case .array(let elements) = plain.value else { return }
        check(records.count == elements.count, "as many records as elements")
        for (record, element) in zip(records, elements) {
            guard let record else {
                check(limit < 1 << 20, "nothing is too long")
                continue
            }
            check(PlainJSON.parse(record)?.value == element, "the element")
        }
    } else {
        let lines = bytes.split(separator: 0x0A).map { line in
            var line = line
            while let last = line.last, blanks.contains(last) { line.removeLast() }
            return (line.count, Array(line.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }))
        }
        guard limit == 1 << 20 else { return }
        let expected = lines.map(\.1).filter { !$0.isEmpty }
        check(records.count == expected.count, "as many records as lines: \(records.count), \(expected.count)")
    }
}

nonisolated(unsafe) private let reader = RecordReader(idField: nil)
nonisolated(unsafe) private let readerByID = RecordReader(idField: Array("id".utf8))

/// An object of id and value: its id has to be one.
private func isExported(_ value: PlainJSON) -> Bool {
    guard case .object(let members) = value else { return false }
    return Set(members.map(\.name)) == [Array("id".utf8), Array("value".utf8)]
}

/// What is stored is JSON by the wire's grammar, compact, under a name.
private func checkRecord(_ record: [UInt8], _ first: UInt8) {
    let plain = PlainJSON.parse(record)
    for (reader, hasField) in [(reader, false), (readerByID, true)] {
        withExactBytes(record) { bytes in
            let batch = ImportBatch()
            do throws(RecordFault) {
                try reader.read(bytes, into: batch, now: 1_700_000_000_000)
            } catch {
                check(batch.count == 0, "what is refused is not stored")
                check(error.json.map { $0.offset >= 0 && $0.offset <= record.count } ?? true, "the fault's place")
                check(
                    plain == nil || !plain!.isWire || hasField || isExported(plain!.value),
                    "refused, though it is JSON: \(error.text)")
                return
            }
            guard let plain, plain.isWire else { return check(false, "stored, though it is no JSON") }
            check(batch.admitLast(), "the first of its id")
            var count = 0
            batch.forEach { (id, value, isNewID) in
                count += 1
                check(JSONWalk.isName(id, limit: WireLimits.keyBytes), "the id is a name")
                checkStored(Array(id), Array(value), isNewID: isNewID, plain.value, hasField: hasField)
            }
            check(count == 1, "one document a record")
        }
    }
}

private func checkStored(_ id: [UInt8], _ value: [UInt8], isNewID: Bool, _ plain: PlainJSON, hasField: Bool) {
    guard let stored = PlainJSON.parse(value)?.value else { return check(false, "what is stored is JSON") }
    var compact = ByteBuffer()
    value.withBytes { JSONText.compact($0, into: &compact) }
    check(compact.count == value.count, "without white space")
    func member(_ name: String) -> PlainJSON? {
        guard case .object(let members) = plain else { return nil }
        return members.first { $0.name == Array(name.utf8) }?.value
    }
    func isID(_ value: PlainJSON?) -> Bool { value == .string(id) || value == .number(id) }
    if hasField {
        check(stored == plain && isID(member("id")) && !isNewID, "a document under its own id")
    } else if isNewID {
        check(stored == plain, "a document under a new id")
    } else {
        check(stored == member("value") && isID(member("id")), "an exported document")
    }
}
