import Glibc
import KuraBytes

/// DATA/acknowledged: up to which revision everything was on the disk, so that it may have been acknowledged. A log that ends before it
/// has been cut.
///
/// It is written over after each sync of the log, and not synced itself: after a kill it is exact, after a power cut it may be some
/// seconds old, and then it says less than is true. Two slots of a sector each are written in turn:
///
///     0   8   "KURAACK\n"
///     8   u64 the revision
///     16  36  the history that it belongs to (`epoch`)
///     52  u32 CRC-32C of the bytes before it
///     56  u16 bytes of the mark that follow; 0 for none
///     58      how far the secrets had come, sealed (`SecretsMark`)
///
/// Whoever syncs the log writes it, one thread at a time.
package final class AcknowledgedNote: @unchecked Sendable {
    // Whoever syncs the log, one thread at a time.

    private let descriptor: Int32
    private var slot: ByteBuffer
    private var isSecond = false

    private static let magic = Array("KURAACK\n".utf8)
    private static let slotLength = 56
    private static let slotOffsets = [0, 512]
    private static let epochLength = 36

    /// Opens the note of a history, which is made when there is none. `rev`, `mark`: what it says from now on.
    init(_ path: String, epoch: String, rev: UInt64, mark: [UInt8] = []) throws(StorageFault) {
        slot = ByteBuffer(capacity: Self.slotLength)
        slot.append(Self.magic)
        slot.append(littleEndian: rev)
        slot.append(Array(epoch.utf8.prefix(Self.epochLength)))
        while slot.count < Self.slotLength { slot.append(0) }
        descriptor = try FileSystem.open(path, O_RDWR | O_CREAT | O_NOFOLLOW)
        set(mark)
        // The file has its room from the beginning: writing over it finds some on a full disk.
        for offset in Self.slotOffsets {
            seal(rev)
            try FileSystem.write(descriptor, slot.bytes, at: offset, path: path, isBilled: true)
        }
        guard fdatasync(descriptor) == 0 else { throw FileSystem.fail("fdatasync", path) }
        // An earlier start may have made the file and died before its name was durable.
        try FileSystem.syncDirectory(PathWalk.parent(of: path))
    }

    deinit { close(descriptor) }

    private func seal(_ rev: UInt64) {
        slot.overwrite(at: 8, littleEndian: rev)
        slot.overwrite(
            at: Self.slotLength - 4, littleEndian: SegmentFormat.sum(slot.bytes(0..<Self.slotLength - 4)))
    }

    private func set(_ mark: [UInt8]) {
        slot.truncate(to: Self.slotLength)
        slot.append(littleEndian: UInt16(mark.count))
        slot.append(mark)
    }

    /// Everything up to `rev` is on the disk. A note that cannot be written says less than is true.
    /// `mark`: of that revision or an earlier one; empty: it stays.
    func write(_ rev: UInt64, mark: [UInt8] = []) {
        if !mark.isEmpty { set(mark) }
        seal(rev)
        isSecond.toggle()
        let offset = Self.slotOffsets[isSecond ? 1 : 0]
        // Safety: address and count are of the same bytes.
        _ = unsafe pwrite(descriptor, slot.bytes.baseAddress, slot.count, off_t(offset))
    }

    /// What the note says, whichever history it is of: revisions go on from one to the next.
    /// - Returns: nil when there is none that can be believed.
    package static func read(_ path: String) throws(StorageFault) -> UInt64? {
        guard FileSystem.exists(path) else { return nil }
        let descriptor = try FileSystem.openRegular(path)
        defer { close(descriptor) }
        var newest: UInt64?
        var buffer = ByteBuffer(capacity: slotLength)
        for offset in slotOffsets {
            buffer.removeAll()
            _ = try FileSystem.read(descriptor, atMost: slotLength, at: offset, into: &buffer, path: path)
            let bytes = buffer.bytes
            guard isWhole(bytes) else { continue }
            newest = max(newest ?? 0, bytes.littleEndian(8, UInt64.self))
        }
        return newest
    }

    private static func isWhole(_ bytes: Bytes) -> Bool {
        bytes.count >= slotLength && bytes.extracting(0..<8).elementsEqual(magic)
            && SegmentFormat.sum(bytes.extracting(0..<slotLength - 4))
                == bytes.littleEndian(slotLength - 4, UInt32.self)
    }

    /// Whether there is a mark, of whichever history: then there have been secrets.
    package static func hasMark(_ path: String) -> Bool {
        guard FileSystem.exists(path), let descriptor = try? FileSystem.openRegular(path) else { return false }
        defer { close(descriptor) }
        var buffer = ByteBuffer(capacity: slotLength + 2)
        for offset in slotOffsets {
            buffer.removeAll()
            _ = try? FileSystem.read(descriptor, atMost: slotLength + 2, at: offset, into: &buffer, path: path)
            let bytes = buffer.bytes
            if isWhole(bytes), bytes.count >= slotLength + 2, bytes.littleEndian(slotLength, UInt16.self) > 0 {
                return true
            }
        }
        return false
    }

    /// The mark of the newest slot; empty when that has none, or is of another history.
    static func mark(_ path: String, of epoch: String) -> [UInt8] {
        guard FileSystem.exists(path), let descriptor = try? FileSystem.openRegular(path) else { return [] }
        defer { close(descriptor) }
        let history = Array(epoch.utf8.prefix(epochLength))
        var (newest, mark): (UInt64, [UInt8]) = (0, [])
        var buffer = ByteBuffer(capacity: slotOffsets[1])
        for offset in slotOffsets {
            buffer.removeAll()
            _ = try? FileSystem.read(descriptor, atMost: slotOffsets[1], at: offset, into: &buffer, path: path)
            let bytes = buffer.bytes
            guard isWhole(bytes), bytes.littleEndian(8, UInt64.self) >= newest else { continue }
            (newest, mark) = (bytes.littleEndian(8, UInt64.self), [])
            guard bytes.extracting(16..<16 + history.count).elementsEqual(history), bytes.count >= slotLength + 2 else {
                continue
            }
            let end = slotLength + 2 + Int(bytes.littleEndian(slotLength, UInt16.self))
            if bytes.count >= end { mark = Array(bytes.extracting(slotLength + 2..<end)) }
        }
        return mark
    }
}
