import KuraBytes

/// A row that is found by a key.
protocol HashedRow: BitwiseCopyable {
    associatedtype Key: Equatable
    /// The same while the row is found.
    var key: Key { get }
    static func hash(_ key: Key, _ seed: UInt64) -> UInt64
    /// The number of the next one in its bucket (`RowIndex`).
    var chain: UInt32 { get set }
}

/// Rows in one growing block, each of which keeps its place, and is found by its key. A place that was given up is the next row's. Belongs to
/// the loop.
struct HashedRows<Row: HashedRow>: ~Copyable {
    private var rows = GrowingRow<Row>()
    private var free = GrowingRow<Int32>()
    /// A row's number in it is its place and one.
    private var index = RowIndex()
    private let seed = UInt64.random(in: 0...UInt64.max)
    /// Rows that are found.
    private(set) var count = 0

    subscript(place: Int32) -> Row {
        @inline(__always) _read { yield rows[Int(place)] }
        @inline(__always) _modify { yield &rows[Int(place)] }
    }

    /// Places that there are, those that were given up too.
    var places: Range<Int32> { 0..<Int32(rows.count) }

    func find(_ key: Row.Key) -> Int32? {
        var number = index.first(Row.hash(key, seed))
        while number != 0 {
            let place = Int(number) - 1
            if rows[place].key == key { return Int32(place) }
            number = rows[place].chain
        }
        return nil
    }

    /// Puts in a row whose key is not there.
    mutating func insert(_ row: Row) -> Int32 {
        let place: Int
        if free.count > 0 {
            place = Int(free[free.count - 1])
            free.truncate(to: free.count - 1)
            rows[place] = row
        } else {
            place = rows.count
            rows.append(row)
        }
        rows[place].chain = index.insert(UInt32(place + 1), Row.hash(row.key, seed))
        count += 1
        Self.grow(&index, &rows, count, seed)
        return Int32(place)
    }

    private static func grow(
        _ index: inout RowIndex, _ rows: inout GrowingRow<Row>, _ count: Int, _ seed: UInt64
    ) {
        index.grow(
            rows: count, hash: { Row.hash(rows[Int($0) - 1].key, seed) }, next: { rows[Int($0) - 1].chain },
            setNext: { rows[Int($0) - 1].chain = $1 })
    }

    /// A row is not found any more, and keeps its place until that is given up.
    mutating func remove(_ place: Int32) {
        let (number, row) = (UInt32(place + 1), rows[Int(place)])
        let hash = Row.hash(row.key, seed)
        var before = index.first(hash)
        if before == number {
            index.setFirst(row.chain, hash)
        } else {
            while rows[Int(before) - 1].chain != number { before = rows[Int(before) - 1].chain }
            rows[Int(before) - 1].chain = row.chain
        }
        count -= 1
    }

    /// Gives up the place of a row that is not found.
    mutating func giveUp(_ place: Int32) { free.append(place) }
}
