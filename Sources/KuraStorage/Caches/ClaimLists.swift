/// The numbers of tokens that were used: a window over the newest, in a ring of bits. What is older counts as used.
struct SpentNumbers {
    private static let window: UInt64 = 1 << 16
    private var bits = [UInt64](repeating: 0, count: Int(window / 64))
    private var newest: UInt64 = 0

    func isKnown(_ number: UInt64) -> Bool { number + Self.window > newest }

    func contains(_ number: UInt64) -> Bool {
        guard isKnown(number), number <= newest else { return false }
        let place = number % Self.window
        return bits[Int(place / 64)] & 1 << (place % 64) != 0
    }

    mutating func insert(_ number: UInt64) {
        guard isKnown(number) else { return }
        while newest < number {
            newest += 1
            let place = newest % Self.window
            bits[Int(place / 64)] &= ~(1 << (place % 64))
        }
        let place = number % Self.window
        bits[Int(place / 64)] |= 1 << (place % 64)
    }
}

/// Moments in the order in which they come, a binary heap. What is over before its time stays in it until then.
struct DeadlineHeap {
    struct Entry {
        var at: UInt64
        var isClaim: Bool
        var number: UInt64
    }
    private var entries: [Entry] = []

    var first: Entry? { entries.first }
    var count: Int { entries.count }

    /// Forgets all that `isWanted` is false of.
    mutating func keep(_ isWanted: (Entry) -> Bool) {
        // A sorted row is a heap.
        entries = entries.filter(isWanted).sorted { $0.at < $1.at }
    }

    mutating func insert(_ entry: Entry) {
        var child = entries.count
        entries.append(entry)
        while child > 0, entries[child].at < entries[(child - 1) / 2].at {
            entries.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func removeFirst() {
        guard let last = entries.popLast(), !entries.isEmpty else { return }
        entries[0] = last
        var parent = 0
        while parent * 2 + 1 < entries.count {
            var child = parent * 2 + 1
            if child + 1 < entries.count, entries[child + 1].at < entries[child].at { child += 1 }
            guard entries[child].at < entries[parent].at else { return }
            entries.swapAt(child, parent)
            parent = child
        }
    }
}
