public import KuraBytes

/// Plain lines: what nearly every client sends, read without looking for anything else.
///
/// A line is plain when it is compact, has the members `jsonrpc`, `id`, `method`, `params` in this order, parameters by name in the
/// documented order (any may be left out), and neither escapes nor other than ASCII in the strings that are looked at. Whatever is
/// otherwise, each fault as well, is left to the general reader, which begins again: so there is one judge of what is
/// wrong, and this one can only agree with it or decline. It costs a third of it.
extension RequestReader {
    /// Reads and binds a plain line.
    /// - Returns: false when the line is not plain, or not right; nothing that it wrote down counts then.
    func readPlain(_ line: Bytes) -> Bool {
        var front = PlainFront(line)
        guard front.take("{\"jsonrpc\":\"2.0\",\"id\":") else { return false }
        var id = JSONValue(start: front.position, kind: .number)
        if front.next == UInt8(ascii: "\"") {
            id.kind = .string
            guard front.takeString() else { return false }
        } else {
            guard front.takeDigits() != nil else { return false }
        }
        id.end = front.position
        guard front.take(",\"method\":\""), let name = front.takeWord(), let method = table.index(of: name) else {
            return false
        }
        state.pointee.text = line
        state.pointee.id = id
        state.pointee.hasID = true
        state.pointee.methodIndex = method
        state.pointee.present = 0
        if front.take("}") {
            return front.isAtEnd && table.entries[method].required == 0
        }
        guard front.take(",\"params\":{") else { return false }
        return bindPlain(&front, method)
    }

    /// Looks at a line that is answered later. What was read last is forgotten.
    /// - Returns: false when it is not plain.
    public func glance(_ line: Bytes) -> Bool {
        guard readPlain(line) else {
            reset(Bytes())
            return false
        }
        return true
    }

    /// What a plain line has behind its id, up to the contents of a string parameter: lines that agree in it ask the same of other keys.
    public func middle(upTo parameter: Int) -> Bytes {
        guard has(parameter) else { return Bytes() }
        return state.pointee.text.extracting(Int(state.pointee.id.end)..<Int(slots[parameter].string.start))
    }

    /// The same up to the method's closing quote.
    public var middleOfMethod: Bytes {
        let start = Int(state.pointee.id.end)
        return state.pointee.text.extracting(start..<start + 11 + methodName.count + 1)
    }

    /// From the first parameter on.
    private func bindPlain(_ front: inout PlainFront, _ method: Int) -> Bool {
        var present: UInt32 = 0
        if !front.take("}") {
            var position = 0
            let parameters = table.entries[method].parameters
            while true {
                // Each comes behind the one before, so none can come twice.
                while true {
                    guard position < parameters.count else { return false }
                    if front.take(parameters[position].token) { break }
                    position += 1
                }
                guard checkPlain(&front, parameters[position], position) else { return false }
                present |= 1 << UInt32(truncatingIfNeeded: position)
                position += 1
                if front.take(",") { continue }
                guard front.take("}") else { return false }
                break
            }
        }
        state.pointee.present = present
        let required = table.entries[method].required
        return front.take("}") && front.isAtEnd && present & required == required
    }

    /// One value, against what its parameter may be.
    private func checkPlain(_ front: inout PlainFront, _ parameter: MethodTable.Parameter, _ position: Int) -> Bool {
        var slot = Slot(value: JSONValue(start: front.position, kind: .string))
        switch parameter.shape {
        case .name, .text, .word:
            guard front.takeString() else { return false }
            slot.string = JSONString(start: slot.value.start + 1, end: front.position - 1)
            guard slot.string.count >= parameter.lower, slot.string.count <= parameter.upper else { return false }
            if parameter.shape == .word {
                let contents = front.text.extracting(Int(slot.string.start)..<Int(slot.string.end))
                guard parameter.words!.contains(where: { $0.equals(contents) }) else { return false }
            }
        case .integer:
            guard let number = front.takeDigits(), number >= parameter.lower, number <= parameter.upper else {
                return false
            }
            slot.value.kind = .number
            slot.integer = number
        case .boolean:
            let isTrue = front.take("true")
            guard isTrue || front.take("false") else { return false }
            slot.value.kind = isTrue ? .true : .false
            slot.integer = isTrue ? 1 : 0
        case .json:
            if !front.takeString() { guard takeAny(&front, &slot.value) else { return false } }
        case .map, .object:
            guard takeAny(&front, &slot.value), slot.value.kind == .object else { return false }
        case .list:
            guard takeAny(&front, &slot.value), slot.value.kind == .array else { return false }
        }
        slot.value.end = front.position
        slots[position] = slot
        return true
    }

    /// A value of any kind, checked by the general reader.
    private func takeAny(_ front: inout PlainFront, _ value: inout JSONValue) -> Bool {
        guard front.next > 0x20 else { return false }
        names.truncate(to: 0)
        var reader = JSONReader(front.text, from: Int(front.position), names: names)
        // The request's and the parameters' objects are open.
        reader.depth = 2
        guard let found = try? reader.value() else { return false }
        value = found
        front.skip(to: found.end)
        return true
    }
}

/// What is left of a line. Each step takes what it names and goes behind it, or says no and stays.
///
/// Safety: `index` is between 0 and `end`, the number of the text's bytes: every step looks whether what it loads lies within before it
/// does, and goes on by what it has looked at. Debug builds, with which all tests run, check each load.
private struct PlainFront {
    let text: Bytes
    private let end: Int
    private var index = 0

    init(_ text: Bytes) {
        self.text = text
        end = text.count
    }

    var position: Int32 { Int32(truncatingIfNeeded: index) }
    var isAtEnd: Bool { index == end }
    /// 0 at the end.
    var next: UInt8 { index < end ? load(index, as: UInt8.self) : 0 }

    mutating func skip(to position: Int32) { index = Int(position) }

    @inline(__always)
    private func load<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: T.Type) -> T {
        assert(offset >= 0 && end - offset >= MemoryLayout<T>.size)
        return unsafe text.loadUnaligned(uncheckedByteOffset: offset, as: type)
    }

    /// The bytes of a literal, whose length the compiler knows, so that few comparisons of words are left of this.
    @inline(__always)
    mutating func take(_ literal: StaticString) -> Bool {
        let count = literal.utf8CodeUnitCount
        guard end - index >= count, isNext(Bytes(literal), count) else { return false }
        index += count
        return true
    }

    /// The bytes of a name with its quotes and colon.
    mutating func take(_ token: Bytes) -> Bool {
        let count = token.count
        guard end - index >= count, isNext(token, count) else { return false }
        index += count
        return true
    }

    /// Whether `count` bytes, which there are on both sides, are the same. The last word overlaps the one before.
    @inline(__always)
    private func isNext(_ other: Bytes, _ count: Int) -> Bool {
        if count >= 8 {
            var differs: UInt64 = 0
            var at = 0
            while count - at > 8 {
                differs |=
                    unsafe load(index + at, as: UInt64.self)
                    ^ other.loadUnaligned(uncheckedByteOffset: at, as: UInt64.self)
                at += 8
            }
            differs |=
                unsafe load(index + count - 8, as: UInt64.self)
                ^ other.loadUnaligned(uncheckedByteOffset: count - 8, as: UInt64.self)
            return differs == 0
        }
        if count >= 4 {
            let first =
                unsafe load(index, as: UInt32.self) ^ other.loadUnaligned(uncheckedByteOffset: 0, as: UInt32.self)
            let last =
                unsafe load(index + count - 4, as: UInt32.self)
                ^ other.loadUnaligned(uncheckedByteOffset: count - 4, as: UInt32.self)
            return first | last == 0
        }
        var at = 0
        while at < count {
            guard unsafe load(index + at, as: UInt8.self) == other[unchecked: at] else { return false }
            at += 1
        }
        return true
    }

    /// A whole number in at most 18 digits, as JSON writes it, without sign; what follows decides whether it was all.
    mutating func takeDigits() -> Int64? {
        var number: Int64 = 0
        var at = index
        while at < end, at - index < 18 {
            let digit = load(at, as: UInt8.self) &- UInt8(ascii: "0")
            guard digit < 10 else { break }
            number = number &* 10 &+ Int64(digit)
            at += 1
        }
        guard at > index, at - index == 1 || load(index, as: UInt8.self) != UInt8(ascii: "0") else { return nil }
        index = at
        return number
    }

    /// A string of printable ASCII without escapes, with its quotes.
    mutating func takeString() -> Bool {
        guard next == UInt8(ascii: "\"") else { return false }
        let stop = text.plainEnd(from: index + 1)
        guard stop < end, load(stop, as: UInt8.self) == UInt8(ascii: "\"") else { return false }
        index = stop + 1
        return true
    }

    /// The rest of such a string, and its closing quote.
    mutating func takeWord() -> Bytes? {
        let stop = text.plainEnd(from: index)
        guard stop < end, load(stop, as: UInt8.self) == UInt8(ascii: "\"") else { return nil }
        let word = text.extracting(index..<stop)
        index = stop + 1
        return word
    }
}
