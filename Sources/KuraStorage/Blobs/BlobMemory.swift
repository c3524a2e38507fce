/// Small contents in memory, within a bound. Who is read stays: a hand goes round, and takes those that were not read since it came by last
/// (the clock algorithm). What the table does not have yet is passed over, so the bound may be exceeded by what waits to be written, which
/// has a bound of its own.
struct BlobMemory {
    private var ring: ContiguousArray<(content: BlobPlace, bytes: [UInt8])> = []
    private var hand = 0
    private(set) var bytes = 0
    let limit: Int

    /// What an entry takes besides its bytes, about.
    private static let overhead = 64
    /// Entries that one call looks at.
    private static let looks = 64

    init(limit: Int) { self.limit = limit }

    var count: Int { ring.count }

    func bytes(of content: BlobPlace, _ index: BlobIndex) -> [UInt8]? {
        let place = index.content(content).memory
        return place < 0 ? nil : ring[Int(place)].bytes
    }

    mutating func insert(_ bytes: [UInt8], of content: BlobPlace, _ index: BlobIndex) {
        guard index.content(content).memory < 0 else { return }
        trim(index, for: bytes.count + Self.overhead)
        ring.append((content, bytes))
        self.bytes += bytes.count + Self.overhead
        // Just behind the hand, which so comes to it last.
        let last = ring.count - 1
        if hand < last { ring.swapAt(hand, last) } else { hand = last }
        for place in [hand, last] { index.setContent(ring[place].content) { $0.memory = Int32(place) } }
        hand += 1
    }

    mutating func remove(_ content: BlobPlace, _ index: BlobIndex) {
        let place = Int(index.content(content).memory)
        guard place >= 0 else { return }
        index.setContent(content) { $0.memory = -1 }
        bytes -= ring[place].bytes.count + Self.overhead
        let last = ring.removeLast()
        guard place < ring.count else { return }
        ring[place] = last
        index.setContent(last.content) { $0.memory = Int32(place) }
    }

    /// Lets some go while there are more bytes than there may be.
    /// `room`: bytes that are to come.
    mutating func trim(_ index: BlobIndex, for room: Int = 0) {
        var looks = 0
        while bytes + room > limit, !ring.isEmpty, looks < Self.looks {
            looks += 1
            if hand >= ring.count { hand = 0 }
            let content = ring[hand].content
            let row = index.content(content)
            if row.write != 0 || row.isVisited {
                index.setContent(content) { $0.isVisited = false }
                hand += 1
            } else {
                remove(content, index)
            }
        }
    }
}
