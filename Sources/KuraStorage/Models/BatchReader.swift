import KuraBytes

/// Reads what a batch's buffer holds.
struct BatchReader {
    private let buffer: Bytes
    private(set) var position = 0

    init(_ buffer: Bytes) {
        self.buffer = buffer
    }

    var isAtEnd: Bool { position >= buffer.count }
    func peekChange() -> ModelBatch.Change? { ModelBatch.Change(rawValue: buffer[position]) }
    func peekFile() -> Int {
        Int(UInt16(littleEndian: buffer.loadUnaligned(fromByteOffset: position + 1, as: UInt16.self)))
    }

    mutating func begin() -> (ModelBatch.Change, namespace: UInt32) {
        let change = peekChange() ?? .shrink
        position += 3
        defer { position += 4 }
        return (change, UInt32(littleEndian: buffer.loadUnaligned(fromByteOffset: position, as: UInt32.self)))
    }

    mutating func bytes() -> Bytes {
        let count = Int(UInt32(littleEndian: buffer.loadUnaligned(fromByteOffset: position, as: UInt32.self)))
        position += 4 + count
        return buffer.extracting(position - count..<position)
    }

    mutating func skip(numbers: Int, bytes count: Int) {
        position += numbers * 8
        for _ in 0..<count { _ = bytes() }
    }

    /// Passes over what comes next.
    mutating func skipChange() {
        switch begin().0 {
        case .put:
            skip(numbers: 0, bytes: 1)
            skip(numbers: 6, bytes: 3)
        case .touch:
            skip(numbers: 0, bytes: 1)
            skip(numbers: 6, bytes: 0)
        case .delete: skip(numbers: 0, bytes: 1)
        case .namespace: skip(numbers: 0, bytes: 2)
        case .mark:
            skip(numbers: 0, bytes: 1)
            skip(numbers: 3, bytes: 0)
        case .dropNamespace, .dropFile, .shrink: break
        }
    }

    mutating func number() -> Int64 {
        defer { position += 8 }
        return Int64(littleEndian: buffer.loadUnaligned(fromByteOffset: position, as: Int64.self))
    }
}
