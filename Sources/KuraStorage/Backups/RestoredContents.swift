import Glibc
import KuraBytes
import Sodium

/// Contents of attachments on their way into a data directory.
final class RestoredContents {
    private let configuration: StorageConfiguration
    private var wanted: Set<ContentDigest>?
    private var directories: Set<String> = []
    private var whole: Set<ContentDigest> = []
    /// Contents that are whole.
    var count: Int { whole.count }

    init(_ configuration: StorageConfiguration) { self.configuration = configuration }

    private func prepare(_ tables: RestoredTables) throws(BackupFault) -> Set<ContentDigest> {
        if let wanted { return wanted }
        let found = try tables.countContents()
        wanted = found
        return found
    }

    /// Takes a piece.
    func take(_ payload: Bytes, _ tables: RestoredTables) throws(BackupFault) {
        let piece = try ContentPiece(payload)
        let (digest, offset) = (piece.digest, piece.offset)
        guard try prepare(tables).contains(digest) else { return }
        guard !whole.contains(digest) else { throw .malformed }
        let path = AttachmentFiles.path(digest, configuration)
        let directory = String(path.dropLast(ContentDigest.length - 1))
        do throws(StorageFault) {
            if directories.insert(directory).inserted { try FileSystem.makeDirectory(directory) }
            let isFirst = offset == 0
            let descriptor = try FileSystem.open(
                path, O_RDWR | O_NOFOLLOW | (isFirst ? O_CREAT | O_TRUNC : 0), mode: 0o600)
            defer { close(descriptor) }
            try FileSystem.write(descriptor, piece.bytes, at: offset, path: path, isBilled: true)
            guard offset + piece.bytes.count == piece.total else { return }
            guard try Self.digest(of: descriptor, path) == digest else {
                // As it was where the backup was made.
                FileSystem.tryToRemove(path)
                return
            }
            guard fchmod(descriptor, 0o400) == 0, fsync(descriptor) == 0 else { throw FileSystem.fail("fsync", path) }
            whole.insert(digest)
        } catch { throw BackupFault(error) }
    }

    static func digest(of descriptor: Int32, _ path: String) throws(StorageFault) -> ContentDigest {
        var hash = GenericHash()
        var buffer = ByteBuffer(capacity: 256 << 10)
        var offset = 0
        while true {
            buffer.removeAll()
            let count = try FileSystem.read(descriptor, atMost: 256 << 10, at: offset, into: &buffer, path: path)
            if count == 0 { return ContentDigest(hash.finish()) }
            hash.update(buffer.bytes)
            offset += count
        }
    }

    /// Has all of them on the disk.
    /// - Throws: also when one is missing that the manifest does not say to be left out.
    func finish(_ tables: RestoredTables, _ manifest: BackupManifest) throws(BackupFault) {
        let leftOut = Set(manifest.leftOut.map(\.name))
        for digest in try prepare(tables) where !whole.contains(digest) {
            guard leftOut.contains(Array(digest.text.utf8)) else {
                throw .refused("the content \(digest.text) of an attachment is not in it")
            }
            // Some of its pieces may have come.
            FileSystem.tryToRemove(AttachmentFiles.path(digest, configuration))
        }
        do throws(StorageFault) {
            for directory in directories { try FileSystem.syncDirectory(directory) }
            try FileSystem.syncDirectory(configuration.attachmentsDirectory)
        } catch { throw BackupFault(error) }
    }
}

/// A piece of a content, as a frame has it.
struct ContentPiece {
    var digest: ContentDigest
    /// Bytes of the content in all.
    var total: Int
    var offset: Int
    var bytes: Bytes

    /// - Throws: `malformed` when no content can have it.
    init(_ payload: Bytes) throws(BackupFault) {
        guard payload.count >= 48, let digest = ContentDigest(bytes: payload.extracting(0..<32)) else {
            throw .malformed
        }
        let total = UInt64(littleEndian: payload.loadUnaligned(fromByteOffset: 32, as: UInt64.self))
        let offset = UInt64(littleEndian: payload.loadUnaligned(fromByteOffset: 40, as: UInt64.self))
        bytes = payload.extracting(48..<payload.count)
        guard total <= UInt64(Attachment.byteLimit), offset <= total, UInt64(bytes.count) <= total - offset else {
            throw .malformed
        }
        (self.digest, self.total, self.offset) = (digest, Int(total), Int(offset))
    }
}
