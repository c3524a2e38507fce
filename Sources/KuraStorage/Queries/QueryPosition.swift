import KuraBytes

/// Where a page of a query ended: the next one begins behind it, whatever has come and gone meanwhile.
///
/// As bytes: a letter for the kind, eight bytes that stand for the query, then the place; numbers lowest byte first.
public enum QueryPosition: Sendable, Equatable {
    case row(Int64)
    case id([UInt8])
    /// An index's number, a key in it, a row.
    case key(index: Int64, [UInt8], row: Int64)
    /// A key of the wanted order, a row.
    case sorted([UInt8], row: Int64)

    private var letter: UInt8 {
        switch self {
        case .row: UInt8(ascii: "r")
        case .id: UInt8(ascii: "i")
        case .key: UInt8(ascii: "k")
        case .sorted: UInt8(ascii: "s")
        }
    }

    public var encoded: [UInt8] {
        var bytes = ByteBuffer()
        bytes.append(letter)
        switch self {
        case .row(let row): bytes.append(littleEndian: row)
        case .id(let id): bytes.append(id)
        case .key(let index, let key, let row):
            bytes.append(littleEndian: index)
            bytes.append(littleEndian: row)
            bytes.append(key)
        case .sorted(let key, let row):
            bytes.append(littleEndian: row)
            bytes.append(key)
        }
        return Array(bytes.bytes)
    }

    /// Nil when the bytes are no position.
    public init?(_ encoded: [UInt8]) {
        let position: QueryPosition? = encoded.withBytes { bytes in
            guard !bytes.isEmpty else { return nil }
            func number(_ offset: Int) -> Int64? {
                bytes.count >= offset + 8
                    ? bytes.loadUnaligned(fromByteOffset: offset, as: Int64.self).littleEndian : nil
            }
            switch bytes[0] {
            case UInt8(ascii: "r"): return bytes.count == 9 ? number(1).map { .row($0) } : nil
            case UInt8(ascii: "i"): return .id(Array(encoded[1...]))
            case UInt8(ascii: "k"):
                guard let index = number(1), let row = number(9) else { return nil }
                return .key(index: index, Array(encoded[17...]), row: row)
            case UInt8(ascii: "s"): return number(1).map { .sorted(Array(encoded[9...]), row: $0) }
            default: return nil
            }
        }
        guard let position else { return nil }
        self = position
    }
}
