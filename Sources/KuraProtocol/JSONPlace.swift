import KuraBytes

/// The place in a text at which a reader has stopped, for the error that tells of it: the containers that are open there.
///
/// It walks without recursion over what the reader has passed already, up to the fault; so it costs what reading that has cost, and
/// only a line with a fault pays.
struct JSONPlace {
    /// A name or a position, from the outside in.
    private struct Level {
        /// The name's text without its quotes; nil in an array, and where the fault is in a name.
        var name: Range<Int>?
        var isArray: Bool
        var position = 0
    }
    private let text: Bytes
    private var levels: [Level] = []

    /// Levels and bytes of a pointer. What is longer leads to a container further out.
    private static let pointerBytes = 1024

    /// `start`: where the value begins that the pointer starts at.
    init(of offset: Int, in text: Bytes, from start: Int = 0) {
        self.text = text
        var index = start
        var wantsName = false
        let end = min(offset, text.count)
        while index < end {
            switch text[index] {
            case UInt8(ascii: "{"):
                levels.append(Level(isArray: false))
                wantsName = true
            case UInt8(ascii: "["): levels.append(Level(isArray: true))
            case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = levels.popLast()
            case UInt8(ascii: ","):
                guard let last = levels.indices.last else { break }
                levels[last].name = nil
                if levels[last].isArray { levels[last].position += 1 } else { wantsName = true }
            case UInt8(ascii: "\""):
                let closing = Self.endOfString(text, index, end)
                if wantsName, closing < end, let last = levels.indices.last {
                    levels[last].name = index + 1..<closing
                    wantsName = false
                }
                index = closing
            default: break
            }
            index += 1
        }
    }

    /// Where a string's closing quote stands, or `end`.
    private static func endOfString(_ text: Bytes, _ start: Int, _ end: Int) -> Int {
        var index = start + 1
        while index < end {
            switch text[index] {
            case UInt8(ascii: "\""): return index
            case UInt8(ascii: "\\"): index += 2
            default: index += 1
            }
        }
        return end
    }

    /// The parameter that the fault is in, as it stands in the line; nil when it is in none, or they are given by position.
    var parameter: Bytes? {
        guard levels.count > 1, let outer = levels[0].name, text.extracting(outer).equals("params"),
            let name = levels[1].name, name.count <= 64
        else { return nil }
        return text.extracting(name)
    }

    /// Appends the levels from `first` on as a JSON pointer (RFC 6901).
    func append(from first: Int, to pointer: inout ByteBuffer, _ scratch: Scratch) {
        for level in levels.dropFirst(first) {
            let start = pointer.count
            pointer.append("/")
            if level.isArray {
                pointer.append(integer: Int64(level.position))
            } else if let name = level.name {
                for byte in scratch.unescape(text.extracting(name)) {
                    switch byte {
                    case UInt8(ascii: "~"): pointer.append("~0")
                    case UInt8(ascii: "/"): pointer.append("~1")
                    default: pointer.append(byte)
                    }
                    if pointer.count > Self.pointerBytes { break }
                }
            } else {
                // In a name: the object itself.
                pointer.truncate(to: start)
                return
            }
            guard pointer.count <= Self.pointerBytes else { return pointer.truncate(to: start) }
        }
    }
}
