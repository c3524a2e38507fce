import CSyscalls
import Glibc
import KuraBytes
import SQLite

/// One file of the log, `log/NNNNNN.log`; `SegmentFormat` says how it lies on the disk.
///
/// It is filled with zeros before it is used, so that a commit overwrites and `fdatasync` has no metadata to write. A commit is one
/// write.
///
/// Made and closed by the housekeeper, written by the loop, synced through its descriptor by the log-sync thread.
package final class Segment: ReadableSegment, @unchecked Sendable {
    // Handed from the housekeeper to the loop and back, one at a time; others only pass the descriptor to fdatasync.

    package let number: Int
    package let path: String
    /// For fdatasync.
    let descriptor: Int32
    /// Bytes that the file had in advance; beyond them it grows and a sync costs twice as much.
    package let capacity: Int
    /// Bytes of the file, which has grown where the next segment was not ready in time.
    var extent: Int { max(capacity, used) }
    /// Nil when its head does not say.
    package let history: LogHistory?
    private let salt: UInt64
    private var encoder = RowEncoder()
    private var blocks = BlockCount()
    private var contents: SegmentContents
    private lazy var values = PatchedValues(of: self)

    /// Its file was another segment's before, and may have rows of that one behind its own.
    let isRecycled: Bool

    /// What a segment gets in advance when there is hardly any room.
    static let leastCapacity = 16 << 10
    /// More than any segment has. It gets 64 MiB in advance at most, and grows beyond that by the row that does not fit, and by what is
    /// written while the next one cannot be made.
    static let mostBytes = 4 << 30
    private static let ending = ".log"
    private static let draftEnding = ".new"

    /// Numbers that segments have. One a millisecond would take 34 years to use them up.
    static let numbers = 1...1 << 40

    package static func path(_ directory: String, _ number: Int) -> String { directory + "/" + name(number, ending) }

    /// Six digits at least.
    private static func name(_ number: Int, _ ending: String) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 6 - digits.count)) + digits + ending
    }

    /// The number in a segment file's name; nil for other files.
    static func number(ofFile name: String) -> Int? { spelled(name, ending) }

    /// Nil for a name that no daemon has written: a number is spelled in one way.
    static func spelled(_ name: String, _ ending: String) -> Int? {
        guard name.hasSuffix(ending), let number = Int(name.dropLast(ending.count)), numbers ~= number,
            name == Self.name(number, ending)
        else { return nil }
        return number
    }

    /// Whether a file is a segment that was being made.
    static func isDraft(_ name: String) -> Bool { spelled(name, draftEnding) != nil }

    /// Makes a segment: head and zeros, synced, the directory too. Before that it has not its name.
    /// `recycled`: a retired segment's file to use again instead of writing zeros; it is renamed.
    /// `capacity`: bytes of the file.
    /// `synced`: everything up to this revision is on the disk.
    /// `history`: what its changes belong to.
    convenience init(
        creating number: Int, in directory: String, capacity: Int, recycled: String?, synced: UInt64 = 0,
        history: LogHistory? = nil
    ) throws(StorageFault) {
        let path = Self.path(directory, number)
        guard Self.numbers ~= number else {
            throw .refused(
                "no segment may follow \(Self.path(directory, number - 1)), whose number no daemon has come to: "
                    + "move it away")
        }
        if let action = FaultPoints.hit(.logPrepare), let code = action.errno {
            throw .system(errno: code, call: "prepare", path: path)
        }
        let head = SegmentHead(number: number, salt: .random(in: 1...UInt64.max), synced: synced, history: history)
        let draft = recycled ?? String(path.dropLast(Self.ending.count)) + Self.draftEnding
        if recycled == nil { try FileSystem.remove(draft) }
        let descriptor = try FileSystem.open(draft, O_RDWR | O_CREAT | O_NOFOLLOW)
        do throws(StorageFault) {
            try Self.fill(descriptor, draft, head, capacity: capacity)
            try FileSystem.rename(draft, path)
            try FileSystem.syncDirectory(directory)
        } catch {
            close(descriptor)
            if recycled == nil { FileSystem.tryToRemove(draft) }
            throw error
        }
        self.init(
            number: number, path: path, descriptor: descriptor, capacity: max(capacity, FileSystem.size(path)),
            head: head, isRecycled: recycled != nil)
    }

    /// Opens a segment that an earlier run left, and reads through it.
    /// - Throws: `.damaged` when it has no head.
    package convenience init(opening number: Int, in directory: String) throws(StorageFault) {
        let path = Self.path(directory, number)
        let descriptor = try FileSystem.open(path, O_RDWR | O_NOFOLLOW)
        do throws(StorageFault) {
            let head = try Self.head(descriptor, path)
            let size = try FileSystem.length(path)
            self.init(number: number, path: path, descriptor: descriptor, capacity: size, head: head)
        } catch {
            close(descriptor)
            throw error
        }
        try scan()
    }

    private init(
        number: Int, path: String, descriptor: Int32, capacity: Int, head: SegmentHead, isRecycled: Bool = false
    ) {
        self.isRecycled = isRecycled
        (self.number, self.path, self.descriptor, self.capacity) = (number, path, descriptor, capacity)
        (salt, history) = (head.salt, head.history)
        contents = SegmentContents(synced: head.synced)
    }

    deinit { close(descriptor) }

    // MARK: What it has

    package var previousRev: UInt64 { contents.previousRev }
    package var firstRev: UInt64 { contents.firstRev }
    package var lastRev: UInt64 { contents.lastRev }
    /// When the last commit in here was made, milliseconds since 1970; 0 for a segment of an earlier run.
    var lastAt: Int64 { contents.lastAt }
    /// Bytes of the file in use.
    var used: Int { contents.end }
    package var greatestSynced: UInt64 { contents.greatestSynced }
    package var present: RevisionSet { contents.present }
    package var damages: [SegmentDamage] { contents.damages }

    // MARK: Head

    /// What a segment's file says of itself; nil when neither of its heads is whole.
    static func head(_ path: String) throws(StorageFault) -> SegmentHead? {
        let descriptor = try FileSystem.openRegular(path)
        defer { close(descriptor) }
        return try anyHead(descriptor, path)
    }

    private static func anyHead(_ descriptor: Int32, _ path: String) throws(StorageFault) -> SegmentHead? {
        var buffer = ByteBuffer(capacity: SegmentFormat.wholeHeadLength)
        var found: SegmentHead?
        for offset in [0, SegmentFormat.headCopy] {
            buffer.removeAll()
            _ = try FileSystem.read(
                descriptor, atMost: SegmentFormat.wholeHeadLength, at: offset, into: &buffer, path: path)
            guard let head = SegmentHead(buffer.bytes), head.salt == found?.salt ?? head.salt else { continue }
            // The other one may still say what history it is of.
            if head.history != nil { return head }
            found = found ?? head
        }
        return found
    }

    private static func head(_ descriptor: Int32, _ path: String) throws(StorageFault) -> SegmentHead {
        guard let head = try anyHead(descriptor, path) else {
            throw .damaged("\(path) does not begin as a segment of the log does: it is damaged")
        }
        guard SegmentFormat.oldestLayout...SegmentFormat.layout ~= head.layout else {
            throw .refused("\(path) has log layout \(head.layout), this version knows \(SegmentFormat.layout)")
        }
        return head
    }

    /// Gives the file its head and its bytes in advance: overwriting and syncing them later changes no metadata.
    private static func fill(
        _ descriptor: Int32, _ path: String, _ head: SegmentHead, capacity: Int
    ) throws(StorageFault) {
        var page = ByteBuffer(capacity: 4096)
        head.append(to: &page)
        while page.count < 4096 { page.append(0) }
        // Before anything else of a file that is used again: with another salt no row of its former life counts.
        for offset in [0, SegmentFormat.headCopy] {
            try FileSystem.write(
                descriptor, page.bytes(0..<SegmentFormat.firstRow - SegmentFormat.headCopy), at: offset, path: path)
        }
        CountingVFS.count(role: .log, part: .wal, writes: 2, bytesWritten: 1024)
        var offset = Int(lseek(descriptor, 0, SEEK_END))
        // Somebody has made more of a file that is used again than any segment has: it would never be full.
        if offset > Self.mostBytes {
            guard ftruncate(descriptor, off_t(capacity)) == 0 else { throw FileSystem.fail("ftruncate", path) }
        }
        page.removeAll()
        for _ in 0..<4096 { page.append(0) }
        // A page at a time: one large write would lie in large folios of the page cache, each of which the kernel counts as
        // written whole whenever a commit touches it.
        var pacing = PacedWriting()
        while offset < capacity {
            let length = min(page.count - offset % page.count, capacity - offset)
            try FileSystem.write(descriptor, page.bytes(0..<length), at: offset, path: path)
            CountingVFS.count(role: .log, part: .room, writes: 1, bytesWritten: length)
            // The sync below is through the same descriptor, and would not tell again.
            guard pacing.wrote(length, at: Int64(offset), to: { descriptor }) else {
                throw FileSystem.fail("sync_file_range", path)
            }
            offset += length
        }
        CountingVFS.count(role: .log, part: .room, syncs: 1)
        guard fdatasync(descriptor) == 0 else { throw FileSystem.fail("fdatasync", path) }
    }

    // MARK: Writing

    /// Whether a commit of that many bytes should go to the next segment.
    func isFull(for bytes: Int) -> Bool { used + RowEncoder.mostBytes(for: bytes) > capacity }

    /// Appends one row. Not synced.
    /// `previous`: the revision before the first in `records`, and `rev` the last.
    /// `synced`: the revision up to which everything is on the disk now.
    /// - Throws: with `isFull` when there is no room, and then nothing of it is left; else its outcome is unknown.
    func append(
        previous: UInt64, rev: UInt64, at: Int64, records: Bytes, synced: UInt64
    ) throws(StorageFault) {
        let row = try encoder.encode(
            previous: previous, rev: rev, at: at, synced: synced, records: records, salt: salt)
        do throws(StorageFault) { try write(row) } catch {
            if error.isFull { try takeBack(row.count) }
            throw error
        }
        CountingVFS.count(
            role: .log, part: .wal, writes: 1, bytesWritten: row.count + blocks.givenAgain(by: used))
        contents.append(previous: previous, rev: rev, at: at, synced: synced, bytes: row.count)
    }

    private func write(_ row: Bytes) throws(StorageFault) {
        if let fault = FaultPoints.hit(.vfsWrite, role: .log) {
            throw .system(errno: fault.errno ?? EIO, call: "write", path: path)
        }
        try FileSystem.write(descriptor, row, at: used, path: path)
    }

    /// Leaves nothing of a row that was written in part: a shorter one may follow in its place.
    private func takeBack(_ count: Int) throws(StorageFault) {
        let end = min(used + count, max(capacity, used))
        if size > end, ftruncate(descriptor, off_t(max(capacity, used))) != 0 {
            throw FileSystem.fail("ftruncate", path)
        }
        guard end > used else { return }
        var zeros = ByteBuffer(capacity: end - used)
        while zeros.count < end - used { zeros.append(0) }
        // These bytes have their room.
        do throws(StorageFault) { try FileSystem.write(descriptor, zeros.bytes, at: used, path: path) } catch {
            throw error.isFull ? .system(errno: EIO, call: "write", path: path) : error
        }
    }

    // MARK: Giving room back

    /// Cuts off what the file has behind its last row: what it has in advance, rows of a former life, and one that was torn off.
    /// Nothing is appended to it afterwards.
    func trim() throws(StorageFault) {
        guard used < size else { return }
        guard ftruncate(descriptor, off_t(used)) == 0 else { throw FileSystem.fail("ftruncate", path) }
    }

    /// Makes what it has durable in its place. Rows that a later one says to be on the disk are passed over.
    /// `synced`: everything up to this revision is on the disk.
    func writeAgain(above synced: UInt64) throws(StorageFault) {
        try trim()
        var walk = rawWalk(after: synced)
        var start = walk.offset
        while case .row(let row) = try walk.next(), row.rev <= synced { start = walk.offset }
        try FileSystem.writeAgain(path, from: start)
        CountingVFS.count(role: .log, part: .wal, bytesWritten: used - start, syncs: 1)
    }

    /// Cuts off the rows above `rev`.
    func cut(after rev: UInt64) throws(StorageFault) {
        var walk = walk()
        var end = walk.offset
        var last: UInt64 = 0
        while case .row(let row) = try walk.next(), row.rev <= rev { (end, last) = (walk.offset, row.rev) }
        contents.cut(to: end, lastRev: last)
        try trim()
    }

    static func remove(_ number: Int, in directory: String) throws(StorageFault) {
        try FileSystem.remove(path(directory, number))
    }

    // MARK: Reading

    /// Reads through it once.
    private func scan() throws(StorageFault) {
        var walk = walk()
        while true {
            let before = walk.offset
            switch try walk.next() {
            case .row(let row): contents.note(row, from: before, to: walk.offset)
            case .damage(let damage): contents.note(damage, to: walk.offset)
            case .end: return
            }
        }
    }

    /// What is whole behind the last row: for whoever knows that changes up to `rev` have been there.
    package func salvageTail(upTo rev: UInt64) throws(StorageFault) -> SegmentDamage? {
        var walk = SegmentWalk(
            descriptor, path: path, salt: salt, size: size, from: used, lastRev: lastRev, values: values)
        let damage = try walk.salvageTail(upTo: rev)
        return damage.saved.isEmpty && damage.lost.isEmpty ? nil : damage
    }

    /// Bytes of the file now; it may have lost its name.
    private var size: Int { max(0, Int(lseek(descriptor, 0, SEEK_END))) }

    /// Steps through everything in it, from the front.
    func walk() -> SegmentWalk { walk(after: 0, values) }

    /// The same from about a revision on, with patches as they lie there.
    func rawWalk(after rev: UInt64) -> SegmentWalk { walk(after: rev, nil) }

    private func walk(after rev: UInt64, _ values: PatchedValues?) -> SegmentWalk {
        let place = contents.place(after: rev)
        return SegmentWalk(
            descriptor, path: path, salt: salt, size: size, from: place.offset, lastRev: place.after, values: values)
    }

    package func someRows(
        after rev: UInt64, _ body: (SegmentRow) throws(StorageFault) -> Bool
    ) throws(StorageFault) {
        var walk = walk(after: rev, values)
        while true {
            switch try walk.next() {
            case .row(let row):
                if row.rev > rev, try !body(row) { return }
            case .damage: continue
            case .end: return
            }
        }
    }
}

/// What the device is given besides a row: it takes whole blocks, and no row ends where one does, so that a row which begins in a block
/// that was synced gives that block once more.
private struct BlockCount {
    private var syncsBefore: Int?
    private static let blockBytes = 4096

    /// Bytes of the block that a row at `offset` begins in, when it has been synced.
    mutating func givenAgain(by offset: Int) -> Int {
        let syncs = CountingVFS.syncs(.log, .wal)
        defer { syncsBefore = syncs }
        guard let syncsBefore, syncsBefore != syncs, offset % Self.blockBytes != 0 else { return 0 }
        return Self.blockBytes
    }
}
