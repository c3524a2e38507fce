import Glibc
import KuraBytes
import Sodium

/// Contents of attachments that a backup's records name, each once. Made on the loop, then one thread's.
final class BackupContents {
    private let configuration: StorageConfiguration
    private let attachments: AttachmentFiles
    private let damage: DamageBook
    private var digests: Set<ContentDigest> = []

    init(_ storage: isolated Storage) {
        (configuration, attachments, damage) = (storage.configuration, storage.tables.attachments, storage.start.damage)
    }

    /// No content goes until `letGo`.
    func keep() { attachments.beginKeeping() }

    func letGo() { attachments.endKeeping() }

    /// Which contents a list of attachments needs.
    func note(_ record: BackupRecord) {
        guard record.store == .attachments, !record.value.isEmpty else { return }
        for attachment in AttachmentList(record.value).attachments { digests.insert(attachment.digest) }
    }

    /// Writes all of them, in pieces; the manifest is told which are damaged.
    func write(
        to writer: BackupWriter, _ manifest: inout BackupManifest, _ isCancelled: () -> Bool
    ) throws(BackupFault) {
        let ordered = digests.map { (text: $0.text, digest: $0) }.sorted { $0.text < $1.text }
        var buffer = ByteBuffer(capacity: BackupFormat.chunkBytes)
        for (text, digest) in ordered {
            if try write(digest, to: writer, &buffer, isCancelled) {
                manifest.counts[.attachments] += 1
            } else {
                damage.note(content: digest)
                manifest.leftOut.append(
                    .init(store: "documents", name: Array(text.utf8), count: 1, reason: .damaged))
            }
        }
    }

    /// - Returns: whether the content is what its digest says.
    private func write(
        _ digest: ContentDigest, to writer: BackupWriter, _ buffer: inout ByteBuffer, _ isCancelled: () -> Bool
    ) throws(BackupFault) -> Bool {
        let path = AttachmentFiles.path(digest, configuration)
        let descriptor: Int32
        do throws(StorageFault) { descriptor = try FileSystem.openRegular(path) } catch {
            // For want of descriptors nothing was found out about it.
            if error.isWant { throw BackupFault(error) }
            return false
        }
        defer { close(descriptor) }
        var hash = GenericHash()
        let size = FileSystem.size(path)
        var offset = 0
        repeat {
            if isCancelled() { throw .cancelled }
            buffer.removeAll()
            do throws(StorageFault) {
                let count = try FileSystem.read(
                    descriptor, atMost: BackupFormat.chunkBytes, at: offset, into: &buffer, path: path)
                if count == 0 { break }
            } catch { break }
            hash.update(buffer.bytes)
            try writer.write(.content) { payload in
                payload.append(bytesOf: digest)
                payload.append(littleEndian: UInt64(size))
                payload.append(littleEndian: UInt64(offset))
                payload.append(buffer.bytes)
            }
            offset += buffer.count
        } while offset < size
        // An empty one has no piece.
        if size == 0 {
            try writer.write(.content) { payload in
                payload.append(bytesOf: digest)
                payload.append(littleEndian: UInt64(0))
                payload.append(littleEndian: UInt64(0))
            }
        }
        let found = ContentDigest(hash.finish())
        return offset == size && found == digest
    }
}
