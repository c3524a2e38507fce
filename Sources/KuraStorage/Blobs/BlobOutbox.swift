/// What the table of blobs has to learn, in order, and how much of it is under way. Knows no thread.
struct BlobOutbox {
    private var changes: [BlobChange] = []
    /// Bytes of them.
    private(set) var bytes = 0
    private(set) var underWay = 0
    private var nextNumber: UInt32 = 1

    private static let changesAtOnce = 256
    private static let bytesAtOnce = 1 << 20
    /// Writes under way before the next one is handed over; further changes go along with it.
    private static let writesAtOnce = 2

    var isEmpty: Bool { changes.isEmpty }

    /// - Returns: whether they are to be handed over at once.
    mutating func append(_ change: BlobChange) -> Bool {
        changes.append(change)
        bytes += change.footprint
        return changes.count >= Self.changesAtOnce || bytes >= Self.bytesAtOnce
    }

    /// Whether the turn's changes are to be handed over.
    var isDue: Bool { !changes.isEmpty && underWay < Self.writesAtOnce }

    /// The number of a write, by which the index knows it again; never 0.
    mutating func number() -> UInt32 {
        defer { nextNumber = nextNumber == .max ? 1 : nextNumber + 1 }
        return nextNumber
    }

    /// The changes, which are handed over.
    mutating func take() -> (changes: [BlobChange], bytes: Int) {
        underWay += 1
        defer { forget() }
        return (changes, bytes)
    }

    /// A write has come back.
    mutating func noteDone() { underWay -= 1 }

    /// Nobody learns of them any more.
    mutating func forget() { (changes, bytes) = ([], 0) }
}
