import Glibc
import KuraBytes
import SQLite

/// Room for the audit when the disk is full: a file of zeros, written in advance, which takes sealed blocks until the log has room again.
///
/// A frame a block: u32 length, u64 number, the row; a length of 0 ends them. What a kill leaves half-written does not open.
///
/// It is written and synced on the loop: while the disk is full there is nothing else to sync.
final class AuditReserve {
    private let bytes: Int
    private static let pieceBytes = 64 << 10

    struct Frame {
        var number: UInt64
        var row: [UInt8]
    }
    private let path: String
    private var descriptor: Int32 = -1
    private var end = 0
    private(set) var frames: [Frame] = []
    /// What the audit's head will be when these are in the log; nil while there are none.
    var head: AuditHead?
    /// The log has them with this revision.
    private var revInLog: UInt64?

    /// Opens it, or makes it when there is room.
    init(_ configuration: StorageConfiguration) {
        path = configuration.auditReservePath
        bytes = min(max(configuration.auditBytes / 8, 128 << 10), 1 << 20)
        do throws(StorageFault) {
            if try FileSystem.length(path) < bytes { try make() }
            descriptor = try FileSystem.open(path, O_RDWR)
            try read()
        } catch {
            if descriptor >= 0 { close(descriptor) }
            descriptor = -1
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Nothing more is taken; what is left is for what has been answered already.
    var isUsedUp: Bool { descriptor < 0 || end + bytes / 8 > bytes }

    private func make() throws(StorageFault) {
        let descriptor = try FileSystem.open(path, O_RDWR | O_CREAT | O_TRUNC)
        defer { close(descriptor) }
        let zeros = [UInt8](repeating: 0, count: 64 << 10)
        do throws(StorageFault) {
            for offset in stride(from: 0, to: bytes, by: zeros.count) {
                try zeros.withBytes { (zeros) throws(StorageFault) in
                    try FileSystem.write(descriptor, zeros, at: offset, path: path)
                }
                CountingVFS.count(role: .other, part: .room, writes: 1, bytesWritten: zeros.count)
            }
        } catch {
            FileSystem.tryToRemove(path)
            throw error
        }
    }

    private func read() throws(StorageFault) {
        // An array, which does without a map of its own when memory is short.
        var contents: [UInt8] = []
        var piece = ByteBuffer(capacity: Self.pieceBytes)
        repeat {
            piece.removeAll()
            let most = min(Self.pieceBytes, bytes - contents.count)
            _ = try FileSystem.read(descriptor, atMost: most, at: contents.count, into: &piece, path: path)
            contents += Array(piece.bytes)
        } while !piece.bytes.isEmpty && contents.count < bytes
        contents.withBytes { bytes in
            while bytes.count - end > 12 {
                let length = Int(bytes.littleEndian(end, UInt32.self))
                guard length > 0, bytes.count - end >= 12 + length else { return }
                let number = bytes.littleEndian(end + 4, UInt64.self)
                frames.append(Frame(number: number, row: Array(bytes.extracting(end + 12..<end + 12 + length))))
                end += 12 + length
            }
        }
    }

    /// Puts blocks behind those that are there, and has them on the disk.
    /// - Returns: false when it cannot; then none of them is.
    func append(_ blocks: [Frame]) -> Bool {
        guard descriptor >= 0 else { return false }
        var text = ByteBuffer()
        for block in blocks {
            text.append(littleEndian: UInt32(block.row.count))
            text.append(littleEndian: block.number)
            text.append(block.row)
        }
        let length = text.count
        text.append(littleEndian: UInt32(0))
        guard end + text.count <= bytes else { return false }
        do throws(StorageFault) {
            try FileSystem.write(descriptor, text.bytes, at: end, path: path, isBilled: true)
        } catch {
            return false
        }
        guard fdatasync(descriptor) == 0 else { return false }
        end += length
        frames += blocks
        return true
    }

    /// The log has taken what is here with that revision.
    func noteInLog(_ rev: UInt64) {
        guard !frames.isEmpty else { return }
        (head, revInLog) = (nil, rev)
    }

    /// A power cut may still take back what is only in the log.
    func noteSynced(_ synced: SyncedRev) {
        guard let rev = revInLog, synced.has(rev) else { return }
        revInLog = nil
        if head == nil { removeAll() }
    }

    private func removeAll() {
        frames = []
        end = 0
        var none = ByteBuffer()
        none.append(littleEndian: UInt32(0))
        // What stays there is known by its numbers to be in the log.
        try? FileSystem.write(descriptor, none.bytes, at: 0, path: path, isBilled: true)
    }
}
