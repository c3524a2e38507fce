public import KuraBytes

/// The smallest of many keys with their rows, as many as are wanted and memory allows: a heap whose root is the largest.
///
/// When the keys together grow over the bound, the largest go, and no more than what is left is kept from then on: what is here is
/// always the smallest of all that came, only fewer.
public struct SmallestEntries {
    public struct Entry: Sendable {
        public var key: [UInt8]
        public var row: Int64
        /// What belongs to the key besides.
        public var value: [UInt8]

        static func < (left: Entry, right: Entry) -> Bool {
            left.key == right.key ? left.row < right.row : left.key.lexicographicallyPrecedes(right.key)
        }
    }

    private var heap: [Entry] = []
    private var limit: Int
    private var bytes = 0
    private let byteLimit: Int
    /// The keys that are here, when each is wanted once only.
    private var keys: Set<[UInt8]>?
    /// Entries came that are not here.
    public private(set) var leftOut = false

    /// `isDistinct`: a key that is here already is not taken again.
    public init(limit: Int, byteLimit: Int, isDistinct: Bool = false) {
        keys = isDistinct ? [] : nil
        self.limit = limit
        self.byteLimit = byteLimit
    }

    var count: Int { heap.count }

    /// Whether an entry with this key would be kept: a look before anything is copied.
    public func wants(_ key: Bytes, row: Int64) -> Bool {
        guard heap.count >= limit, let largest = heap.first else { return true }
        return largest.key.withBytes { own in
            key.precedes(own) || (!own.precedes(key) && row < largest.row)
        }
    }

    public mutating func insert(_ key: Bytes, row: Int64, value: Bytes = Bytes()) {
        if keys != nil, heap.first?.key.withBytes({ $0.equals(key) }) == true { return }
        guard wants(key, row: row) else {
            leftOut = true
            return
        }
        if keys?.insert(Array(key)).inserted == false { return }
        heap.append(Entry(key: Array(key), row: row, value: Array(value)))
        bytes += Self.size(heap[heap.count - 1])
        rise(heap.count - 1)
        if heap.count > limit { removeLargest() }
        while bytes > byteLimit, heap.count > 1 {
            removeLargest()
            limit = heap.count
        }
    }

    /// The entries, smallest first.
    public var sorted: [Entry] { heap.sorted { $0 < $1 } }

    private static func size(_ entry: Entry) -> Int { entry.key.count + entry.value.count + 96 }

    private mutating func removeLargest() {
        bytes -= Self.size(heap[0])
        heap.swapAt(0, heap.count - 1)
        let largest = heap.removeLast()
        keys?.remove(largest.key)
        sink(0)
        leftOut = true
    }

    private mutating func rise(_ start: Int) {
        var place = start
        while place > 0, heap[(place - 1) / 2] < heap[place] {
            heap.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private mutating func sink(_ start: Int) {
        var place = start
        while true {
            var largest = place
            for child in [2 * place + 1, 2 * place + 2] where child < heap.count && heap[largest] < heap[child] {
                largest = child
            }
            guard largest != place else { return }
            heap.swapAt(place, largest)
            place = largest
        }
    }
}
