import KuraBytes

/// The names along a path into a document, outermost first. Its memory is used again from path to path.
struct PathNames: ~Copyable {
    private var bytes = ByteBuffer()
    private var ends: [Int] = []

    var count: Int { ends.count }

    /// Good until the next change.
    func name(_ level: Int) -> Bytes {
        bytes.bytes((level > 0 ? ends[level - 1] : 0)..<ends[level])
    }

    /// Takes a JSON pointer in.
    /// Source: RFC 6901, 3 and 4.
    /// - Parameter quoted: the inside of the JSON string that it stands in.
    /// - Returns: false when it is none.
    mutating func read(pointer quoted: Bytes) -> Bool {
        removeAll()
        var isFirst = true
        var isTilde = false
        for byte in ResolvedText(quoted) {
            if isTilde {
                switch byte {
                case UInt8(ascii: "0"): bytes.append(UInt8(ascii: "~"))
                case UInt8(ascii: "1"): bytes.append(UInt8(ascii: "/"))
                default: return false
                }
                isTilde = false
                continue
            }
            switch byte {
            case UInt8(ascii: "/"):
                if !isFirst { ends.append(bytes.count) }
            case UInt8(ascii: "~"): isTilde = true
            default: bytes.append(byte)
            }
            if isFirst, byte != UInt8(ascii: "/") { return false }
            isFirst = false
        }
        if !isFirst { ends.append(bytes.count) }
        return !isTilde
    }

    mutating func read(_ path: FieldPath) {
        removeAll()
        for name in path.componentNames {
            bytes.append(name)
            ends.append(bytes.count)
        }
    }

    /// Whether `other` leads to a part of what this leads to.
    func isPrefix(of other: borrowing PathNames) -> Bool {
        guard count <= other.count else { return false }
        for level in 0..<count where !name(level).equals(other.name(level)) { return false }
        return true
    }

    /// The first `depth` names and the one behind them as a JSON pointer.
    func pointer(_ depth: Int? = nil) -> [UInt8] {
        var pointer: [UInt8] = []
        for level in 0..<min(count, depth.map { $0 + 1 } ?? count) {
            pointer.append(UInt8(ascii: "/"))
            for byte in name(level) {
                switch byte {
                case UInt8(ascii: "~"): pointer += [UInt8(ascii: "~"), UInt8(ascii: "0")]
                case UInt8(ascii: "/"): pointer += [UInt8(ascii: "~"), UInt8(ascii: "1")]
                default: pointer.append(byte)
                }
            }
        }
        return pointer
    }

    private mutating func removeAll() {
        bytes.removeAll()
        ends.removeAll(keepingCapacity: true)
    }
}
