import Glibc
import KuraBytes
import SQLite

/// Takes what has been superseded of secrets out of closed segments: heads and values up to a revision that are not the newest of their items
/// there. So nothing is left in the log of a version that was destroyed, nor of its key, and as little of what was deleted or trimmed.
///
/// A segment that has such records is written anew without them, beside the log, synced, and takes its place by a rename; every row stays,
/// since a transaction of secrets always has the records of its service and the store, so revisions have no holes. What stood there is
/// overwritten with zeros then. The others are looked at behind their last row, where a recycled file has rows of its former life.
///
/// The feed loses states of secrets that were followed by newer ones, which it may pass over anyway. All of the segments are in the tables,
/// durably: no start reads them again. On the housekeeper's thread, where segments of the past are read and let go as well.
struct LogScrub {
    /// Segments to look at.
    let numbers: [Int]
    /// Records above this revision stay, whatever they are.
    let rev: UInt64
    let directory: String
    let temporary: String
    let reader: SegmentReader

    /// What a file that awaits its zeros is called under DATA/tmp.
    static let leftoverPrefix = "scrub-"

    /// - Returns: sizes of the segments' files now, by number.
    /// - Throws: also when somebody still holds a segment (`isBusy`): then it is tried again. What is done stays done.
    func run() throws(StorageFault) -> [Int: Int] {
        for number in numbers { reader.forget(number) }
        var newest: [[UInt8]: UInt64] = [:]
        var found: [Int] = []
        for number in numbers where LogFiles.exists(number, in: directory) {
            found.append(number)
            try LogFiles.open(number, in: directory).rows(after: 0) { (row) throws(StorageFault) in
                var offset = 0
                while let record = try LogRecord.next(in: row.records, at: &offset) {
                    guard record.rev <= rev, let name = Self.name(record) else { continue }
                    newest[name] = max(newest[name] ?? 0, record.rev)
                }
            }
        }
        var sizes: [Int: Int] = [:]
        for number in found {
            let hasSuperseded = try has(number) { isSuperseded($0, newest) }
            if hasSuperseded {
                try rewrite(number, without: newest)
            } else {
                try zeroTail(number)
            }
            sizes[number] = LogFiles.size(number, in: directory)
        }
        return sizes
    }

    /// Whose state the record has; nil for what stays.
    private static func name(_ record: LogRecord) -> [UInt8]? {
        guard record.store.isSealed, NameHash(text: record.scope) != nil, record.key.count >= NameHash.textBytes else {
            return nil
        }
        return [record.store.rawValue] + Array(record.scope) + Array(record.key)
    }

    private func isSuperseded(_ record: LogRecord, _ newest: [[UInt8]: UInt64]) -> Bool {
        guard record.rev <= rev, let name = Self.name(record), let last = newest[name] else { return false }
        return record.rev < last
    }

    // MARK: Reading

    private func has(_ number: Int, _ wanted: (LogRecord) -> Bool) throws(StorageFault) -> Bool {
        var result = false
        let segment = try LogFiles.open(number, in: directory)
        // What is damaged may be anything.
        guard segment.damages.isEmpty else { return true }
        try segment.someRows(after: 0) { (row) throws(StorageFault) in
            var offset = 0
            while !result, let record = try LogRecord.next(in: row.records, at: &offset) { result = wanted(record) }
            return !result
        }
        return result
    }

    // MARK: Writing

    private func rewrite(_ number: Int, without newest: [[UInt8]: UInt64]) throws(StorageFault) {
        let paths = LogFiles.paths(number, in: directory)
        let fresh = Segment.path(temporary, number)
        try copy(number, without: newest)
        let leftover = temporary + "/" + Self.leftoverPrefix + "\(number)"
        // One of an attempt that failed.
        try Self.erase(leftover)
        guard let rows = paths.first, try FileSystem.link(rows, leftover) else {
            throw .refused("\(leftover) cannot be made")
        }
        if let code = FaultPoints.hit(.scrubSegment)?.errno {
            throw .system(errno: code, call: "rename", path: rows)
        }
        try FileSystem.rename(fresh, Segment.path(directory, number))
        // Those of an earlier layout have other names.
        for path in paths where path != Segment.path(directory, number) {
            try FileSystem.remove(path)
            try FileSystem.syncDirectory(directory)
        }
        try FileSystem.syncDirectory(directory)
        if let code = FaultPoints.hit(.scrubZeros)?.errno { throw .system(errno: code, call: "write", path: leftover) }
        try Self.erase(leftover)
    }

    /// Writes the segment anew under DATA/tmp, and syncs it.
    private func copy(_ number: Int, without newest: [[UInt8]: UInt64]) throws(StorageFault) {
        let source = try LogFiles.open(number, in: directory)
        let target = try Segment(
            creating: number, in: temporary, capacity: Segment.leastCapacity, recycled: nil, history: source.history)
        var copy = SegmentCopy(into: target, in: temporary)
        var kept = ByteBuffer()
        try source.rows(after: 0) { (row) throws(StorageFault) in
            kept.removeAll()
            var offset = 0
            var start = 0
            while let record = try LogRecord.next(in: row.records, at: &offset) {
                if !isSuperseded(record, newest) { kept.append(row.records.extracting(start..<offset)) }
                start = offset
            }
            // A row without records would be damage to whoever reads it.
            guard !kept.isEmpty else { throw .damagedLog }
            var row = row
            row.records = kept.bytes
            try copy.append(row)
        }
        try copy.finish()
        // It has what was in use only.
        try target.trim()
    }

    private func zeroTail(_ number: Int) throws(StorageFault) {
        if let segment = try LogFiles.open(number, in: directory) as? Segment {
            return try Self.zero(segment.path, from: segment.used)
        }
        let path = SQLiteSegment.path(directory, number) + "-wal"
        let commits = try WALCommits(path: path)
        let end = commits.ends.last ?? 0
        guard commits.isReadable, end < FileSystem.size(path) else { return }
        try Self.zero(path, from: end)
    }

    // MARK: Zeros

    /// Erases one of the log's files, which loses its name there first, durably. A kill in between leaves a file that awaits its zeros, and these
    /// the next start writes; under its own name it would be a damaged segment.
    /// `temporary`: DATA/tmp.
    static func letGo(_ path: String, to temporary: String) throws(StorageFault) {
        let leftover = temporary + "/" + leftoverPrefix + (path.split(separator: "/").last ?? "")
        do throws(StorageFault) {
            try erase(leftover)
            try FileSystem.rename(path, leftover)
            for moved in [path, leftover] {
                try FileSystem.syncDirectory(String(moved[..<(moved.lastIndex(of: "/") ?? moved.endIndex)]))
            }
        } catch {
            // Somebody has mounted something there, or there is no room for a name. What has got there is the next start's.
            return try erase(path)
        }
        _ = FaultPoints.hit(.scrubLetGo)
        try erase(leftover)
    }

    /// Overwrites a file with zeros and takes it away, unless it has another name still: then only the name goes. One that is not there is fine.
    static func erase(_ path: String) throws(StorageFault) {
        // A link goes, and what it leads to stays as it is.
        if FileSystem.isRegular(path) {
            let descriptor = try openToErase(path)
            defer { close(descriptor) }
            var information = stat()
            // Safety: the kernel fills one `stat`, which is ours.
            guard unsafe fstat(descriptor, &information) == 0 else { throw FileSystem.fail("fstat", path) }
            if information.st_nlink == 1 { try zero(descriptor, path, from: 0, to: Int(information.st_size)) }
        }
        try FileSystem.remove(path)
    }

    /// Overwrites a file from `start` on, and syncs it; what is zeros already is left alone.
    static func zero(_ path: String, from start: Int) throws(StorageFault) {
        let size = FileSystem.size(path)
        guard start < size else { return }
        let descriptor = try openToErase(path)
        defer { close(descriptor) }
        try zero(descriptor, path, from: start, to: size)
    }

    /// Overwrites a WAL whose changes are all in the database file. Its head goes first, and is synced: a power cut amid the zeros could else leave the first
    /// commits, which a start would take for the newest.
    static func zero(wal path: String) throws(StorageFault) {
        let size = FileSystem.size(path)
        guard size > 0 else { return }
        let descriptor = try openToErase(path)
        defer { close(descriptor) }
        try zero(descriptor, path, from: 0, to: min(size, sectorBytes))
        try zero(descriptor, path, from: 0, to: size)
    }

    /// What a disk writes whole or not at all.
    private static let sectorBytes = 512

    private static func openToErase(_ path: String) throws(StorageFault) -> Int32 {
        try FileSystem.open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK)
    }

    private static func zero(
        _ descriptor: Int32, _ path: String, from start: Int, to size: Int
    ) throws(StorageFault) {
        guard start < size else { return }
        let zeros = [UInt8](repeating: 0, count: 64 << 10)
        var buffer = ByteBuffer(capacity: 64 << 10)
        var pacing = PacedWriting()
        var offset = start
        while let data = FileSystem.data(descriptor, from: offset), data < size {
            offset = data
            let length = min(zeros.count, size - offset)
            buffer.removeAll()
            let count = try FileSystem.read(descriptor, atMost: length, at: offset, into: &buffer, path: path)
            if count == 0 { break }
            let isZero = zeros.withBytes { $0.extracting(0..<count).equals(buffer.bytes) }
            if !isZero {
                try zeros.withBytes { (zeros) throws(StorageFault) in
                    try FileSystem.write(descriptor, zeros.extracting(0..<count), at: offset, path: path)
                }
                CountingVFS.count(role: .log, part: .wal, writes: 1, bytesWritten: count)
                guard pacing.wrote(count, at: Int64(offset), to: { descriptor }) else {
                    throw FileSystem.fail("sync_file_range", path)
                }
            }
            offset += count
        }
        guard fdatasync(descriptor) == 0 else { throw FileSystem.fail("fdatasync", path) }
    }
}
