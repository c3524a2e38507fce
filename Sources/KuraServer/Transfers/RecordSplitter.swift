import Glibc
import KuraBytes
import KuraProtocol

/// Cuts an input of any length into records: lines (NDJSON) or the elements of one JSON array, as a value without I/O.
///
/// It looks for line ends, or for the brackets, commas and quotes that separate elements; whether a record is JSON is for
/// whoever takes it. Blank lines and a byte order mark are passed over, CR before LF belongs to the line end. Memory is
/// bounded by the longest record that is let through; a longer one is reported once and skipped.
struct RecordSplitter: ~Copyable {
    enum Format: Equatable {
        case lines, array
    }

    struct Record: Equatable {
        /// Its bytes in `bytes(of:)`.
        fileprivate(set) var lower = 0
        fileprivate(set) var upper = 0
        /// Line of the input on which it begins, from 1.
        var line = 1
        /// Where it begins, and where to go on behind it: bytes of the input.
        var offset = 0
        var end = 0
    }

    enum Event: Equatable {
        case record(Record)
        /// Longer than the limit; it has been skipped.
        case oversize(Record)
        /// The array's own text is wrong here: a comma too many or too few, no end, something behind it.
        case malformed(Record)
        /// Give it more (`append`) or say that there is no more (`finish`).
        case needsMore
        case end
    }

    private enum Phase {
        case start, between, element, behind
    }

    /// Longest record, in bytes.
    let limit: Int
    /// Nil until the first byte that is not blank has been seen.
    private(set) var format: Format?
    private var window = ByteBuffer()
    /// Place of the window's first byte in the input.
    private var base: Int
    private let origin: Int
    /// In the window: what comes before is done with.
    private var cursor = 0
    /// In the window: what comes before has been looked at.
    private var scanned = 0
    private var line = 1
    private var isFinished = false
    private var hasPassedMark = false
    private var phase = Phase.start
    private var record = Record()
    private var isSkipping = false
    // Inside an array:
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    private var expectsComma = false
    private var hasComma = false

    /// `offset`: place of the first byte that will be appended; above 0 an array is gone on with, brackets or not.
    init(limit: Int, format: Format? = nil, offset: Int = 0) {
        self.limit = limit
        self.format = format
        base = offset
        origin = offset
        hasPassedMark = offset > 0
    }

    /// Bytes of the input that have been appended, those before `offset` counted.
    var inputEnd: Int { base + window.count }

    /// The record that is too long already, as far as it is known, while its end is looked for.
    var oversized: Record? { isSkipping ? record : nil }

    /// Bytes of memory that the input takes.
    var heldBytes: Int { window.capacity }

    // MARK: Filling

    /// Has `body` append up to `count` bytes.
    mutating func fill<R>(upTo count: Int, _ body: (inout ByteBuffer) -> R) -> R {
        window.removeFirst(cursor)
        base += cursor
        scanned -= cursor
        record.lower -= cursor
        cursor = 0
        window.reserve(count)
        return body(&window)
    }

    mutating func append(_ bytes: Bytes) {
        fill(upTo: bytes.count) { $0.append(bytes) }
    }

    /// There is no more.
    mutating func finish() { isFinished = true }

    // MARK: Splitting

    /// A record's bytes; good until the next call of a mutating function.
    func bytes(of record: Record) -> Bytes {
        window.bytes(record.lower..<record.upper)
    }

    mutating func next() -> Event {
        if phase == .start, !detect() { return isFinished ? .end : .needsMore }
        return format == .lines ? nextLine() : nextElement()
    }

    private func byte(_ position: Int) -> UInt8 { window.bytes[position] }

    /// Passes over what may come first.
    /// - Returns: false when more bytes are needed to tell.
    private mutating func detect() -> Bool {
        if !hasPassedMark {
            guard window.count - cursor >= 3 || isFinished else { return false }
            if window.count - cursor >= 3, byte(cursor) == 0xEF, byte(cursor + 1) == 0xBB, byte(cursor + 2) == 0xBF {
                cursor += 3
            }
            hasPassedMark = true
        }
        skipBlanks()
        scanned = cursor
        guard cursor < window.count else { return false }
        let first = byte(cursor)
        if format == nil {
            let goesOn = origin > 0 && (first == UInt8(ascii: ",") || first == UInt8(ascii: "]"))
            format = first == UInt8(ascii: "[") && origin == 0 || goesOn ? .array : .lines
        }
        phase = .between
        if format == .array {
            if first == UInt8(ascii: "["), origin == 0 {
                cursor += 1
            } else {
                expectsComma = first == UInt8(ascii: ",")
            }
            scanned = cursor
        }
        return true
    }

    private mutating func skipBlanks() {
        while cursor < window.count {
            switch byte(cursor) {
            case 0x0A: line += 1
            case 0x20, 0x09, 0x0D: break
            default: return
            }
            cursor += 1
        }
    }

    /// The bytes from `lower` to `upper` as a record, without the white space at its end.
    private func made(_ lower: Int, _ upper: Int, line: Int, end: Int) -> Record {
        var upper = upper
        while upper > lower, [0x20, 0x09, 0x0D, 0x0A].contains(byte(upper - 1)) { upper -= 1 }
        return Record(lower: lower, upper: upper, line: line, offset: base + lower, end: base + end)
    }

    // MARK: Lines

    private mutating func nextLine() -> Event {
        while true {
            if !isSkipping { skipIndent() }
            let from = max(cursor, scanned)
            guard let newline = window.bytes.firstIndex(of: 0x0A, from: from) else { return lastLine() }
            let line = made(cursor, newline, line: self.line, end: newline + 1)
            let isOversize = isOversize(cursor, newline)
            self.line += 1
            cursor = newline + 1
            scanned = cursor
            if let event = judged(line, isOversize) { return event }
        }
    }

    /// White space in front of a line is no part of it, nor is a CR: going on at a line passes over it as well.
    private mutating func skipIndent() {
        while cursor < window.count, [0x20, 0x09, 0x0D].contains(byte(cursor)) { cursor += 1 }
    }

    /// What there is after the last line end.
    private mutating func lastLine() -> Event {
        scanned = window.count
        if isFinished {
            guard cursor < window.count || isSkipping else { return .end }
            let line = made(cursor, window.count, line: self.line, end: window.count)
            let isOversize = isOversize(cursor, window.count)
            cursor = window.count
            return judged(line, isOversize) ?? .end
        }
        if isSkipping || window.count - cursor > limit + 1 { beginSkipping() }
        return .needsMore
    }

    /// Notes where the oversize record begins, and lets go of its bytes.
    private mutating func beginSkipping() {
        if !isSkipping { record = Record(line: line, offset: base + cursor) }
        isSkipping = true
        cursor = window.count
    }

    /// White space at the end counts, since it is not known to be the end while the line comes in; the line end does not.
    private func isOversize(_ lower: Int, _ upper: Int) -> Bool {
        upper - lower > limit + (upper > lower && byte(upper - 1) == 0x0D ? 1 : 0)
    }

    /// A line, an oversize one, or nil when it is blank.
    private mutating func judged(_ line: Record, _ isOversize: Bool) -> Event? {
        if isSkipping {
            isSkipping = false
            return .oversize(Record(line: record.line, offset: record.offset, end: line.end))
        }
        if isOversize { return .oversize(line) }
        return line.lower == line.upper ? nil : .record(line)
    }

    // MARK: Elements

    private mutating func nextElement() -> Event {
        while true {
            switch phase {
            case .start, .between:
                if let event = between() { return event }
            case .element:
                if let event = element() { return event }
            case .behind:
                skipBlanks()
                scanned = cursor
                guard cursor < window.count else { return isFinished ? .end : .needsMore }
                let place = Record(line: line, offset: base + cursor, end: base + cursor)
                format = .lines
                cursor = window.count
                isFinished = true
                return .malformed(place)
            }
        }
    }

    /// Looks for the next element's first byte.
    private mutating func between() -> Event? {
        skipBlanks()
        scanned = cursor
        guard cursor < window.count else {
            guard isFinished else { return .needsMore }
            format = .lines
            return .malformed(Record(line: line, offset: base + cursor, end: base + cursor))
        }
        let place = Record(line: line, offset: base + cursor, end: base + cursor + 1)
        switch byte(cursor) {
        case UInt8(ascii: ","):
            cursor += 1
            guard expectsComma else { return .malformed(place) }
            expectsComma = false
            hasComma = true
        case UInt8(ascii: "]"):
            cursor += 1
            phase = .behind
            if hasComma { return .malformed(place) }
        default:
            record = Record(lower: cursor, line: line, offset: base + cursor)
            phase = .element
            depth = 0
            isInString = false
            isEscaped = false
            hasComma = false
        }
        return nil
    }

    /// Looks for the byte behind the element: a comma or the array's bracket.
    private mutating func element() -> Event? {
        var position = scanned
        var lines = 0
        var isClosed = false
        let bytes = window.bytes
        scan: while position < bytes.count {
            let byte = bytes[position]
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                } else if byte == 0x0A {
                    lines += 1
                }
            } else {
                switch byte {
                case UInt8(ascii: "\""): isInString = true
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}") where depth > 0: depth -= 1
                case UInt8(ascii: "]"):
                    if depth == 0 {
                        isClosed = true
                        break scan
                    }
                    depth -= 1
                case UInt8(ascii: ",") where depth == 0:
                    isClosed = true
                    break scan
                case 0x0A: lines += 1
                default: break
                }
            }
            position += 1
        }
        scanned = position
        line += lines
        guard isClosed || isFinished else {
            if isSkipping || position - record.lower > limit {
                isSkipping = true
                cursor = position
                record.lower = position
            } else {
                // The window keeps the element from its first byte on.
                cursor = record.lower
            }
            return .needsMore
        }
        cursor = position
        phase = .between
        expectsComma = true
        var found = made(record.lower, position, line: record.line, end: position)
        found.offset = record.offset
        // White space behind it counts, as in a line.
        if isSkipping || position - record.lower > limit {
            isSkipping = false
            return .oversize(found)
        }
        return .record(found)
    }
}
