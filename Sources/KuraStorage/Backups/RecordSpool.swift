import Glibc
import KuraBytes
import Synchronization

/// Records that wait in a file of DATA/tmp until their turn comes: memory stays small, however many they are.
///
/// Written by one thread, and read by one when that has ended.
final class RecordSpool: @unchecked Sendable {
    // Handed from thread to thread by `FoldTap`, under its lock.
    private let path: String
    private let erases: Bool
    private var descriptor: Int32
    private var pending = ByteBuffer(capacity: 64 << 10)
    private var written = 0

    /// Most bytes: beyond it whoever fills the spool is told that there is no room.
    static let limit = 16 << 30
    private static let piece = 256 << 10

    private static let numbers = Atomic<Int>(0)

    /// `erases`: the file is overwritten before it goes, since it may have what is destroyed meanwhile.
    init(_ configuration: StorageConfiguration, erases: Bool) throws(StorageFault) {
        self.erases = erases
        let number = Self.numbers.add(1, ordering: .relaxed).newValue
        // By this name a start overwrites what a kill has left.
        path =
            configuration.temporaryDirectory + "/" + (erases ? LogScrub.leftoverPrefix : "") + "backup-\(number)"
        descriptor = try FileSystem.open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
    }

    /// Whatever it left behind is found by its name at the next start.
    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Takes the file away. May wait for the disk.
    func discard() {
        guard descriptor >= 0 else { return }
        close(descriptor)
        descriptor = -1
        if erases { try? LogScrub.erase(path) } else { FileSystem.tryToRemove(path) }
    }

    /// Bytes of all records.
    var length: Int { written + pending.count }

    func append(_ record: BackupRecord) throws(StorageFault) {
        record.append(to: &pending)
        if pending.count >= Self.piece { try flush() }
    }

    func append(encoded record: Bytes) throws(StorageFault) {
        pending.append(record)
        if pending.count >= Self.piece { try flush() }
    }

    func flush() throws(StorageFault) {
        guard !pending.isEmpty else { return }
        guard length <= Self.limit else { throw .system(errno: ENOSPC, call: "write", path: path) }
        try FileSystem.write(descriptor, pending.bytes, at: written, path: path, isBilled: true)
        written += pending.count
        pending.removeAll()
    }

    /// Forgets what was appended behind `length`.
    func truncate(to length: Int) {
        if length >= written {
            pending.truncate(to: length - written)
        } else {
            pending.removeAll()
            written = length
        }
    }

    /// Reads the records of the first `length` bytes in the order in which they were appended.
    /// `body`: gets each encoded, and as it reads.
    func forEach(
        upTo length: Int, _ body: (Bytes, BackupRecord) throws(BackupFault) -> Void
    ) throws(BackupFault) {
        do throws(StorageFault) { try flush() } catch { throw BackupFault(error) }
        var buffer = ByteBuffer(capacity: 2 * Self.piece)
        var offset = 0
        while true {
            let wanted = min(Self.piece, length - offset)
            if wanted > 0 {
                do throws(StorageFault) {
                    offset += try FileSystem.read(descriptor, atMost: wanted, at: offset, into: &buffer, path: path)
                } catch { throw BackupFault(error) }
            }
            var position = 0
            while let size = BackupRecord.length(in: buffer.bytes, at: position) {
                let encoded = buffer.bytes(position..<position + size)
                var start = 0
                guard let record = try BackupRecord.next(in: encoded, at: &start) else { throw .malformed }
                try body(encoded, record)
                position += size
            }
            buffer.removeFirst(position)
            if offset >= length { break }
        }
        guard buffer.isEmpty else { throw .malformed }
    }
}
