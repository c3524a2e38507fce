import Glibc
import KuraBytes

extension SnapshotSource {
    /// The backups in the data directory: the newest that is whole, has everything and needs no key.
    static let backups = SnapshotSource { (configuration) throws(StorageFault) in
        guard let newest = BackupDirectory.newestSnapshot(configuration) else { return nil }
        let name = newest.path.split(separator: "/").last.map(String.init) ?? newest.path
        return Snapshot(
            name: name, rev: newest.manifest.rev, leftOut: RecoveredOmission.all(in: newest.manifest) + newest.unfit
        ) {
            (configuration) throws(StorageFault) in
            try restore(newest, configuration)
        }
    }

    /// Makes a data directory of it in DATA/tmp, and takes tables and contents of attachments from there. Keys stay as they are: what is
    /// sealed in it was sealed under them.
    private static func restore(
        _ snapshot: BackupDirectory.Snapshot, _ configuration: StorageConfiguration
    ) throws(StorageFault) {
        let scratch = try DraftDirectory.make(in: configuration.temporaryDirectory, prefix: "restored-")
        defer { scratch.discard() }
        do throws(BackupFault) { try BackupRestore.restore(snapshot.path, inside: scratch) } catch {
            throw StorageFault(error)
        }
        try adopt(scratch.path, configuration)
    }

    /// Takes tables and contents of attachments of a directory that was made of a backup; nothing has the tables' name yet.
    static func adopt(_ scratch: String, _ configuration: StorageConfiguration) throws(StorageFault) {
        let made = StorageConfiguration(dataDirectory: scratch)
        // What the tables refer to is there before they are. Most of it is: a quarantine leaves contents where they were. What the
        // snapshot has is whole, and takes the place of what may be damaged.
        try FileSystem.makeDirectories(configuration.attachmentsDirectory)
        if FileSystem.exists(made.attachmentsDirectory) {
            for group in try FileSystem.names(in: made.attachmentsDirectory) {
                let (from, to) = (
                    made.attachmentsDirectory + "/" + group, configuration.attachmentsDirectory + "/" + group
                )
                try FileSystem.makeDirectory(to)
                for name in try FileSystem.names(in: from) {
                    try FileSystem.rename(from + "/" + name, to + "/" + name)
                }
                try FileSystem.syncDirectory(to)
            }
            try FileSystem.syncDirectory(configuration.attachmentsDirectory)
        }
        for end in ["-wal", ""] where FileSystem.exists(made.tablesPath + end) {
            try FileSystem.rename(made.tablesPath + end, configuration.tablesPath + end)
        }
        try FileSystem.syncDirectory(configuration.durableDirectory)
    }
}

extension StorageFault {
    /// Why a snapshot could not be restored: for want of room, which may come, or for what it is.
    init(_ fault: BackupFault) {
        switch fault {
        case .noSpace: self = .system(errno: ENOSPC, call: "restore", path: "tmp")
        case .system(let errno, let call, let path): self = .system(errno: errno, call: call, path: path)
        case .tables(.unreadable(let error)) where fault.isPassing: self = .database(error, file: "tmp")
        default: self = .damaged(fault.description)
        }
    }
}
