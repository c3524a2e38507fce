import KuraBytes

/// The entries of the model cache in memory: a row each, found by namespace and key. A number stands for a row; 0 is nobody.
///
/// Rows lie in one growing block; what is removed leaves its number to the next. Belongs to the loop.
struct ModelRows: ~Copyable {
    private let table = Cell(GrowingRow<ModelRow>())
    private let index = Cell(RowIndex())
    private let unused = Cell(GrowingRow<UInt32>())
    private let seed = UInt64.random(in: 0...UInt64.max)

    init() { table.pointee.append(ModelRow()) }

    deinit {
        // A free row has an empty one.
        for row in 0..<end { self[row].block.release() }
    }

    subscript(row: UInt32) -> ModelRow {
        @inline(__always) _read { yield table.pointee[Int(row)] }
        @inline(__always) nonmutating _modify { yield &table.pointee[Int(row)] }
    }

    /// Behind the last row that there is, free ones included.
    var end: UInt32 { UInt32(table.pointee.count) }
    /// Entries.
    var count: Int { table.pointee.count - 1 - unused.pointee.count }

    // MARK: Finding

    func hash(_ namespace: UInt32, _ key: Bytes) -> UInt64 {
        Hash.bytes(key, seed: seed &+ UInt64(namespace) &* 0x9E37_79B9_7F4A_7C15)
    }

    /// The row of a key; 0 when there is none.
    func find(_ namespace: UInt32, _ key: Bytes, _ hash: UInt64) -> UInt32 {
        var row = index.pointee.first(hash)
        while row != 0 {
            if self[row].hash == hash, self[row].namespace == namespace, self[row].key.equals(key) { return row }
            row = self[row].chain
        }
        return 0
    }

    func find(_ namespace: UInt32, _ key: Bytes) -> UInt32 { find(namespace, key, hash(namespace, key)) }

    // MARK: Coming and going

    /// Puts a row into the index.
    func insert(_ row: ModelRow) -> UInt32 {
        var number = end
        if unused.pointee.count > 0 {
            number = unused.pointee[unused.pointee.count - 1]
            unused.pointee.truncate(to: unused.pointee.count - 1)
            self[number] = row
        } else {
            table.pointee.append(row)
        }
        self[number].chain = index.pointee.insert(number, row.hash)
        index.pointee.grow(
            rows: count, hash: { self[$0].hash }, next: { self[$0].chain }, setNext: { self[$0].chain = $1 })
        return number
    }

    /// Takes a row out of the index and gives its memory back.
    func remove(_ row: UInt32) {
        let (hash, chain) = (self[row].hash, self[row].chain)
        var before = index.pointee.first(hash)
        if before == row {
            index.pointee.setFirst(chain, hash)
        } else {
            while self[before].chain != row { before = self[before].chain }
            self[before].chain = chain
        }
        self[row].block.release()
        self[row] = ModelRow()
        unused.pointee.append(row)
    }

    // MARK: Fetching memory that is looked at soon

    func prefetchBucket(_ hash: UInt64) { index.pointee.prefetch(hash) }

    /// - Returns: the first row of the bucket; 0 when it is empty.
    func prefetchRow(_ hash: UInt64) -> UInt32 {
        let row = index.pointee.first(hash)
        if row != 0 { table.pointee.prefetch(Int(row)) }
        return row
    }

    func prefetchBlock(_ hash: UInt64) {
        let row = index.pointee.first(hash)
        if row != 0, self[row].hash == hash { self[row].block.prefetch() }
    }
}
