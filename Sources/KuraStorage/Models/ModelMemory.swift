import KuraBytes

/// How much of memory the model cache takes, and which values leave it first: only those that are in a file. Belongs to the loop.
final class ModelMemory {
    private let places = CachePlaces()
    private var order: CacheOrder
    /// Bytes of rows, keys and the values that are there.
    private(set) var bytes = 0
    let limit: Int

    init(limit: Int) {
        self.limit = limit
        order = CacheOrder(places)
    }

    /// Whether a value may leave memory.
    func mayDrop(_ row: UInt32) -> Bool { places.holds(row) }

    func prefetch(_ row: UInt32) { places.prefetch(row) }

    /// The row was asked for.
    func visit(_ row: UInt32) { if places.holds(row) { places.visit(row) } }

    /// An entry has come, or goes.
    func take(_ footprint: Int) { bytes += footprint }

    func giveBack(_ footprint: Int) { bytes -= footprint }

    /// The row's value is in a file, and may leave memory.
    func allowDropping(_ row: UInt32, bytes count: Int) { order.insert(row, bytes: count, limit: limit) }

    /// The row's value is in no file, or is gone.
    func keep(_ row: UInt32) { order.remove(row) }

    /// Puts a value that has been read into its row.
    func insert(_ value: Bytes, of row: UInt32, _ rows: borrowing ModelRows) {
        replaceBlock(of: row, rows) { CacheBlock($0.bytes, value) }
        rows[row].valueCount = UInt32(value.count)
        rows[row].flags.insert(.resident)
        allowDropping(row, bytes: value.count)
    }

    /// Lets go of the value that is wanted least.
    /// - Returns: false when none may leave.
    func dropValue(_ rows: borrowing ModelRows, _ sketch: FrequencySketch) -> Bool {
        guard let victim = order.victim(sketch, limit: limit, hash: { rows[$0].hash }) else { return false }
        order.remove(victim)
        rows[victim].flags.remove(.resident)
        let valueCount = Int(rows[victim].valueCount)
        replaceBlock(of: victim, rows) { CacheBlock($0.bytes(0..<Int($0.count) - valueCount)) }
        return true
    }

    private func replaceBlock(of row: UInt32, _ rows: borrowing ModelRows, _ make: (CacheBlock) -> CacheBlock) {
        let old = rows[row].block
        bytes -= old.footprint
        rows[row].block = make(old)
        bytes += rows[row].block.footprint
        old.release()
    }
}
