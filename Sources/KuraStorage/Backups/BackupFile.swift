import Glibc
public import KuraBytes
import SQLite

// Safety: the kernel fills one `stat`, which is ours.

/// A file of DATA/backups that is being written: under another name until it is whole, synced and verified.
public final class BackupFile: BackupSink {
    /// It may get another than it began with, before `finish`.
    var name: String
    private let kind: BackupFormat.Kind
    private let configuration: StorageConfiguration
    /// Locked as long as it is open (flock(2)), so that nobody takes it for one that a kill has left.
    private let draft: String
    private var descriptor: Int32
    private var offset = 0
    private var pacing = PacedWriting()
    private let space: FreeSpace
    private var lookAgainAt = 0

    /// Bytes behind which the room that is left is looked at again.
    private static let lookBytes = 8 << 20

    /// - Throws: `refused` when there is one of that name.
    init(_ name: String, _ configuration: StorageConfiguration, kind: BackupFormat.Kind = .backup) throws(BackupFault) {
        let (place, directory) = (BackupDirectory.path(name, configuration, kind), configuration.backupsDirectory)
        space = FreeSpace(directory: configuration.dataDirectory, minimum: configuration.caches.minFreeBytes)
        self.name = name
        self.kind = kind
        self.configuration = configuration
        do throws(StorageFault) {
            if !FileSystem.exists(directory) {
                try FileSystem.makeDirectory(directory)
                try FileSystem.syncDirectory(configuration.dataDirectory)
            }
            guard !FileSystem.exists(place) else { throw .refused("there is a backup called \(name)") }
            // Two of a name at once meet at the end, and one of them loses.
            BackupDirectory.removeLeftDrafts(of: place, in: directory)
            (draft, descriptor) = try Self.begin(place)
        } catch { throw BackupFault(error) }
    }

    private static func begin(_ place: String) throws(StorageFault) -> (String, Int32) {
        while true {
            let draft = BackupDirectory.draft(of: place)
            let descriptor = try FileSystem.open(draft, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
            var information = stat()
            // Before it was locked somebody may have taken it for one that was left.
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0, unsafe fstat(descriptor, &information) == 0,
                information.st_nlink > 0
            {
                return (draft, descriptor)
            }
            close(descriptor)
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    public func write(_ bytes: Bytes) throws(BackupFault) {
        switch FaultPoints.hit(.backupWrite) {
        case .skip:
            offset += bytes.count
            return
        case let fault?: throw BackupFault(.system(errno: fault.errno ?? EIO, call: "write", path: draft))
        case nil: break
        }
        if offset >= lookAgainAt {
            lookAgainAt = offset + Self.lookBytes
            // A backup is not worth the change that finds no room.
            if space.look() { throw .noSpace }
        }
        do throws(StorageFault) {
            try FileSystem.write(descriptor, bytes, at: offset, path: draft)
        } catch { throw BackupFault(error) }
        CountingVFS.count(role: .other, part: .content, writes: 1, bytesWritten: bytes.count)
        // Written out bit by bit: behind one large sync the log's own would wait.
        guard pacing.wrote(bytes.count, at: Int64(offset), to: { descriptor }) else {
            throw .system(errno: errno, call: "sync_file_range", path: draft)
        }
        offset += bytes.count
    }

    /// Syncs what was written, reads all of it back, and gives it its name.
    /// - Throws: what is wrong; then there is no such backup.
    public func finish(_ summary: BackupSummary, isCancelled: () -> Bool) throws(BackupFault) {
        do throws(BackupFault) {
            if let code = FaultPoints.hit(.backupSync)?.errno {
                throw .system(errno: code, call: "fdatasync", path: draft)
            }
            guard fdatasync(descriptor) == 0 else { throw .system(errno: errno, call: "fdatasync", path: draft) }
            CountingVFS.count(role: .other, part: .content, syncs: 1)
            let read = try BackupRestore.verify(
                draft, summary.opener, kind: summary.kind, isCancelled: isCancelled)
            guard read.digest == summary.digest, read.bytes == summary.bytes, read.manifest == summary.manifest else {
                throw .refused("what was written is not what the disk has")
            }
            do throws(StorageFault) {
                let place = BackupDirectory.path(name, configuration, kind)
                guard try FileSystem.link(draft, place) else { throw .refused("there is a backup called \(name)") }
                FileSystem.tryToRemove(draft)
                try FileSystem.syncDirectory(configuration.backupsDirectory)
            } catch { throw BackupFault(error) }
        } catch {
            abandon()
            throw error
        }
    }

    /// Takes away what has been written.
    public func abandon() {
        FileSystem.tryToRemove(draft)
    }
}
