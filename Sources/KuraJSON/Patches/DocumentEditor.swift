public import KuraBytes

/// A document's text, changed place by place; what is not touched stays byte for byte.
///
/// A change copies what lies before and behind it, so that each costs the document's size: `work` adds it up, for a bound.
/// Its memory is used again from document to document.
struct DocumentEditor: ~Copyable {
    private var original = Bytes()
    private var current = ByteBuffer()
    private var next = ByteBuffer()
    private var isChanged = false
    /// Bytes that were looked at and moved.
    var work = 0

    /// What a path leads to.
    enum Spot {
        /// A value, and the value with its name.
        case value(Range<Int>, member: Range<Int>)
        /// Where a new last member or element would stand.
        case end(of: Range<Int>)
        /// The first `depth` names lead somewhere, the next does not, and another may follow it.
        case nothing(depth: Int)
        /// They lead to something that has no parts.
        case scalar(depth: Int)
        /// They lead to an array, which has no such position.
        case badPosition(depth: Int)
    }

    /// `document` stays where it is until the end.
    mutating func begin(_ document: Bytes) {
        original = document
        isChanged = false
        work = 0
    }

    /// Forgets the document, and gives back what a large one has made the buffers grow to.
    mutating func end() {
        original = Bytes()
        if current.capacity > 64 << 10 { current.releaseMemory() }
        if next.capacity > 64 << 10 { next.releaseMemory() }
    }

    /// The document as it is now; good until the next change.
    var text: Bytes { isChanged ? current.bytes : original }

    // MARK: Finding

    /// `depth`: how many of the names to follow; nil for all.
    mutating func locate(_ path: borrowing PathNames, depth: Int? = nil) -> Spot {
        var value = 0..<text.count
        var member = value
        let depth = depth ?? path.count
        for level in 0..<depth {
            // Looking for one part passes over the parts before it.
            work += value.count
            let isLast = level == depth - 1
            let name = path.name(level)
            switch text[value.lowerBound] {
            case UInt8(ascii: "{"):
                guard let found = findMember(name, in: value) else {
                    return isLast ? .end(of: value) : .nothing(depth: level)
                }
                (value, member) = found
            case UInt8(ascii: "["):
                let found = findElement(name, in: value)
                switch found {
                case .element(let range): (value, member) = (range, range)
                case .behindLast: return isLast ? .end(of: value) : .nothing(depth: level)
                case .beyond: return .nothing(depth: level)
                case .noPosition: return .badPosition(depth: level)
                }
            default: return .scalar(depth: level)
            }
        }
        return .value(value, member: member)
    }

    private func findMember(_ name: Bytes, in object: Range<Int>) -> (value: Range<Int>, member: Range<Int>)? {
        var index = object.lowerBound + 1
        while index < object.upperBound, text[index] == UInt8(ascii: "\"") {
            let behindName = StoredValue.endOfString(text, index)
            let end = StoredValue.end(text, behindName + 1)
            guard behindName < end, end <= text.count else { return nil }
            if ResolvedText.equals(text.extracting(index + 1..<behindName - 1), name) {
                return (behindName + 1..<end, index..<end)
            }
            index = end + 1
        }
        return nil
    }

    private enum Found {
        case element(Range<Int>)
        case behindLast, beyond, noPosition
    }

    private func findElement(_ name: Bytes, in array: Range<Int>) -> Found {
        let isEmpty = array.count == 2
        if name.equals("-") { return .behindLast }
        guard let position = Self.position(name) else { return .noPosition }
        var left = position
        var index = array.lowerBound + 1
        while index < array.upperBound - 1 {
            let end = StoredValue.end(text, index)
            if left == 0 { return .element(index..<end) }
            left -= 1
            index = end + 1
        }
        return left == 0 || isEmpty && position == 0 ? .behindLast : .beyond
    }

    /// Digits without a leading zero. Source: RFC 6901, 4.
    private static func position(_ name: Bytes) -> Int? {
        guard (1...9).contains(name.count), name.count == 1 || name[0] != UInt8(ascii: "0") else { return nil }
        var position = 0
        for byte in name {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            position = position * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return position
    }

    // MARK: Changing

    /// Puts bytes in the place of a part of the text, which may be empty; they may be a part of it themselves.
    mutating func replace(_ range: Range<Int>, _ write: (inout ByteBuffer) -> Void) {
        let old = text
        next.removeAll()
        next.reserve(old.count)
        next.append(old.extracting(0..<range.lowerBound))
        write(&next)
        next.append(old.extracting(range.upperBound..<old.count))
        swap(&current, &next)
        isChanged = true
        work += text.count
    }

    /// Takes a member or element out, with the comma beside it.
    mutating func remove(_ member: Range<Int>) {
        var range = member
        if text[range.lowerBound - 1] == UInt8(ascii: ",") {
            range = range.lowerBound - 1..<range.upperBound
        } else if text[range.upperBound] == UInt8(ascii: ",") {
            range = range.lowerBound..<range.upperBound + 1
        }
        replace(range) { _ in }
    }

    /// Adds a value at a container's end; in an object under `name`.
    mutating func append(to container: Range<Int>, name: Bytes, _ write: (inout ByteBuffer) -> Void) {
        let isObject = text[container.lowerBound] == UInt8(ascii: "{")
        let isEmpty = container.count == 2
        replace(container.upperBound - 1..<container.upperBound - 1) { output in
            if !isEmpty { output.append(UInt8(ascii: ",")) }
            if isObject {
                output.append(quotedName: name)
                output.append(UInt8(ascii: ":"))
            }
            write(&output)
        }
    }

    /// Adds an element before another.
    mutating func insert(before element: Range<Int>, _ write: (inout ByteBuffer) -> Void) {
        replace(element.lowerBound..<element.lowerBound) { output in
            write(&output)
            output.append(UInt8(ascii: ","))
        }
    }
}

extension ByteBuffer {
    /// A name as a JSON string with its quotes.
    public mutating func append(quotedName name: Bytes) {
        append(UInt8(ascii: "\""))
        for byte in name {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                append(UInt8(ascii: "\\"))
                append(byte)
            case 0..<0x20:
                let digits = Bytes("0123456789abcdef")
                append("\\u00")
                append(digits[Int(byte >> 4)])
                append(digits[Int(byte & 15)])
            default: append(byte)
            }
        }
        append(UInt8(ascii: "\""))
    }
}
