import KuraBytes

/// The rows committed lately, in memory: what nearly every subscriber reads, and for the rows of the segment being
/// written, which belongs to the loop alone, the only place to read them from.
///
/// It keeps `keepBytes` of rows, and besides whatever no closed segment holds, but never more than `mostBytes`: then rows
/// of a segment that cannot be closed (full disk) go, and can be read again when it is. Belongs to the loop.
final class RecentChanges {
    private var blocks: ContiguousArray<ChangeChunk> = []
    private var bytes = 0
    /// Everything above this revision is here.
    private(set) var after: UInt64
    private(set) var lastRev: UInt64
    private let keepBytes: Int
    private let mostBytes: Int
    private let blockBytes: Int

    /// `rev`: the newest revision, whose row is not here any more.
    init(after rev: UInt64, keepBytes: Int, mostBytes: Int) {
        after = rev
        lastRev = rev
        self.keepBytes = keepBytes
        self.mostBytes = max(keepBytes, mostBytes)
        blockBytes = max(1024, min(256 << 10, keepBytes / 8))
    }

    /// Takes a row that has just been appended to the log.
    /// `closedRev`: closed segments hold everything up to this revision.
    func append(rev: UInt64, at: Int64, records: Bytes, closedRev: UInt64) {
        if let last = blocks.last, last.recordBytes + records.count <= blockBytes {
            bytes -= last.footprint
        } else {
            blocks.append(ChangeChunk(after: lastRev))
        }
        let block = blocks[blocks.count - 1]
        block.append(rev: rev, at: at, records: records)
        bytes += block.footprint
        lastRev = rev
        trim(closedRev)
    }

    private func trim(_ closedRev: UInt64) {
        var gone = 0
        // The newest block stays, whatever its size.
        while gone < blocks.count - 1 {
            let block = blocks[gone]
            let isSpare = block.lastRev <= closedRev && bytes - block.footprint >= keepBytes
            guard isSpare || bytes > mostBytes else { break }
            bytes -= block.footprint
            after = block.lastRev
            gone += 1
        }
        if gone > 0 { blocks.removeFirst(gone) }
    }

    /// The rows that follow `rev`; nil when the first of them is not here, or there are none.
    func chunk(after rev: UInt64) -> ChangeChunk? {
        guard rev >= after, rev < lastRev else { return nil }
        var low = 0
        var high = blocks.count - 1
        while low < high {
            let middle = (low + high) / 2
            if blocks[middle].lastRev <= rev { low = middle + 1 } else { high = middle }
        }
        return blocks[low]
    }

    /// All rows that follow `rev`, for another thread: the newest chunk, which is still filled, is copied.
    func chunks(after rev: UInt64) -> [ChangeChunk] {
        blocks.suffix(from: blocks.firstIndex { $0.lastRev > rev } ?? blocks.count).map { chunk in
            chunk === blocks.last ? ChangeChunk(copying: chunk) : chunk
        }
    }

    /// Bytes of memory taken.
    var footprint: Int { bytes }
}
