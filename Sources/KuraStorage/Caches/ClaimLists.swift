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
        if number - min(newest, number) >= Self.window {
            // None of those that the ring has is in the window any more.
            for word in bits.indices { bits[word] = 0 }
            newest = number
        }
        while newest < number {
            newest += 1
            let place = newest % Self.window
            bits[Int(place / 64)] &= ~(1 << (place % 64))
        }
        let place = number % Self.window
        bits[Int(place / 64)] |= 1 << (place % 64)
    }
}

/// Moments in the order in which they come: a binary heap of places, so that what is over before its time leaves it at once.
struct DeadlineHeap {
    struct Entry {
        var at: UInt64
        var isClaim: Bool
        var number: UInt64
        /// Where in the heap it stands.
        fileprivate var position = 0

        init(at: UInt64, isClaim: Bool, number: UInt64) {
            self.at = at
            self.isClaim = isClaim
            self.number = number
        }
    }
    private var entries: [Entry] = []
    private var free: [Int32] = []
    private var heap: [Int32] = []

    var first: Entry? { heap.first.map { entries[Int($0)] } }
    var count: Int { heap.count }

    /// - Returns: its place, by which it is removed.
    mutating func insert(_ entry: Entry) -> Int32 {
        let place = free.popLast() ?? Int32(entries.count)
        if Int(place) == entries.count { entries.append(entry) } else { entries[Int(place)] = entry }
        heap.append(place)
        rise(heap.count - 1)
        return place
    }

    /// - Returns: the number of what was there.
    @discardableResult
    mutating func remove(_ place: Int32) -> UInt64 {
        let position = entries[Int(place)].position
        free.append(place)
        if let last = heap.popLast(), position < heap.count {
            heap[position] = last
            sink(position)
            rise(entries[Int(last)].position)
        }
        return entries[Int(place)].number
    }

    private func at(_ position: Int) -> UInt64 { entries[Int(heap[position])].at }

    private mutating func rise(_ start: Int) {
        var child = start
        while child > 0, at(child) < at((child - 1) / 2) {
            swap(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
        entries[Int(heap[child])].position = child
    }

    private mutating func sink(_ start: Int) {
        var parent = start
        while parent * 2 + 1 < heap.count {
            var child = parent * 2 + 1
            if child + 1 < heap.count, at(child + 1) < at(child) { child += 1 }
            guard at(child) < at(parent) else { break }
            swap(child, parent)
            parent = child
        }
        entries[Int(heap[parent])].position = parent
    }

    private mutating func swap(_ first: Int, _ second: Int) {
        heap.swapAt(first, second)
        entries[Int(heap[first])].position = first
        entries[Int(heap[second])].position = second
    }
}
