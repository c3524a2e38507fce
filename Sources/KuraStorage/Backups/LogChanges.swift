import Glibc
import KuraBytes

/// The changes of a log that follow a backup: its segments are the increments. They go into the log of what is restored, up to a revision,
/// and the first start takes them in as after any unclean stop, so there is no second way to apply changes.
///
/// The log is read from copies, one segment after the other: it may be a running daemon's.
public struct LogChanges: Sendable {
    /// A directory of segments: DATA/log, what was copied of it, or what a recovery set aside.
    public var log: String
    /// nil: everything that follows without a gap.
    public var rev: UInt64?

    public init(log: String, upTo rev: UInt64?) {
        self.log = log
        self.rev = rev
    }

    /// Where the contents of attachments are that the log names.
    private var attachments: StorageConfiguration? {
        for parent in ["/..", "/../../.."] {
            let data = StorageConfiguration(dataDirectory: log + parent)
            if FileSystem.isDirectory(data.attachmentsDirectory) { return data }
        }
        return nil
    }

    /// What adding them has come to.
    struct Added {
        /// Everything is as of this revision.
        var rev: UInt64
        var hasSecrets = false
        /// Epoch of the newest root key that the store's record of the secrets is sealed with in them; 0 when they have none.
        var keyEpoch: UInt32 = 0
    }

    /// Adds them to what was made of a backup.
    /// `hasKeys`: it has secrets, and what leads to their keys.
    /// - Throws: why they cannot be: then nothing is restored.
    func add(
        to configuration: StorageConfiguration, _ manifest: BackupManifest, hasKeys: Bool
    ) throws(BackupFault) -> Added {
        guard FileSystem.isDirectory(log) else { throw .refused("\(log) is no directory of log segments") }
        try checkFiles()
        if let newest = Formats.newestSegment(in: log), newest.version > Formats.log {
            throw .refused(
                "\(log)/\(newest.name) has log layout \(newest.version), made by a newer version; this one knows up to \(Formats.log)"
            )
        }
        if let rev, rev < manifest.rev {
            throw .refused(
                "the backup is as of revision \(manifest.rev) already: take an earlier one for revision \(rev)")
        }
        guard manifest.include.isEmpty else {
            throw .refused("the backup has only a part: what the log has cannot be added to that")
        }
        if let left = manifest.leftOut.first(where: { $0.store == "secrets" }) {
            throw .refused(
                "the backup leaves secrets out (\(left.reason.rawValue)), which the log's changes of secrets count on")
        }
        let scratch = configuration.temporaryDirectory + "/changes"
        var lists: [[UInt8]: [ContentDigest]] = [:]
        var added = Added(rev: manifest.rev)
        let records = RecordGuard(.log)
        var unfit: String?
        var reports: [String] = []
        let saved: UInt64
        let newest: UInt64
        do throws(StorageFault) {
            try FileSystem.makeDirectory(scratch)
            var salvage = LogSalvage(
                from: log, scratch: scratch, to: configuration, after: manifest.rev, upTo: rev ?? .max, isTaking: true
            ) { reports.append($0) }
            salvage.visit = { record, at in
                unfit = unfit ?? records.problem(record, at: at)
                if record.store.isSealed { added.hasSecrets = true }
                if let epoch = SecretRecords.epoch(of: record) { added.keyEpoch = max(added.keyEpoch, epoch) }
                guard record.store == .attachments else { return }
                let name = Array(record.scope) + [0] + Array(record.key)
                lists[name] = record.value.isEmpty ? [] : AttachmentList(record.value).attachments.map(\.digest)
            }
            try salvage.run()
            (saved, newest) = (salvage.savedRev, salvage.newestRev)
            try FileSystem.removeDirectory(scratch)
        } catch { throw BackupFault(error) }
        if let unfit { throw .refused(unfit) }
        if saved < rev ?? newest {
            let reason = reports.first.map { " (\($0))" } ?? ""
            throw .refused(
                newest < rev ?? newest
                    ? "the log ends with revision \(newest)\(reason)"
                    : "revision \(saved + 1) is not in the log, which has revisions up to \(newest)\(reason)"
                        + (rev == nil ? "; '--at \(saved)' restores what comes before it" : ""))
        }
        guard !added.hasSecrets || hasKeys else {
            throw .refused("the log has secrets, and the backup, which has none, nothing that leads to their keys")
        }
        try copy(Set(lists.values.flatMap(\.self)), to: configuration)
        added.rev = saved
        return added
    }

    /// What lies in a segment's place and is no file, or has more than a segment: what it hides cannot be told, so nobody may take the log
    /// for whole.
    private func checkFiles() throws(BackupFault) {
        let names: [String]
        do throws(StorageFault) { names = try FileSystem.names(in: log) } catch { throw BackupFault(error) }
        for name in names.sorted() {
            let stem = name.hasSuffix("-wal") ? String(name.dropLast(4)) : name
            guard LogFiles.number(ofFile: stem) != nil else { continue }
            let path = log + "/" + name
            guard FileSystem.isRegular(path) else {
                throw .refused("\(path) is no regular file, and a segment of the log belongs there")
            }
            let size = FileSystem.size(path)
            guard size <= Segment.mostBytes else {
                throw .refused(
                    "\(path) has \(size) bytes, and no segment of the log has more than \(Segment.mostBytes)")
            }
        }
    }

    /// Brings contents along that lists of the log name.
    private func copy(_ digests: Set<ContentDigest>, to configuration: StorageConfiguration) throws(BackupFault) {
        for digest in digests {
            let target = AttachmentFiles.path(digest, configuration)
            guard !FileSystem.exists(target) else { continue }
            guard let from = attachments.map({ AttachmentFiles.path(digest, $0) }), FileSystem.exists(from) else {
                throw .refused("the content \(digest.text) of an attachment is not there any more")
            }
            do throws(StorageFault) {
                let directory = String(target.dropLast(ContentDigest.length - 1))
                try FileSystem.makeDirectory(directory)
                try FileSystem.copy(from, to: target)
                let descriptor = try FileSystem.openRegular(target)
                defer { close(descriptor) }
                guard try RestoredContents.digest(of: descriptor, target) == digest else {
                    throw .damaged("the content \(digest.text) of an attachment is damaged")
                }
                guard fchmod(descriptor, 0o400) == 0 else { throw FileSystem.fail("fchmod", target) }
                try FileSystem.syncDirectory(directory)
                try FileSystem.syncDirectory(configuration.attachmentsDirectory)
            } catch { throw BackupFault(error) }
        }
    }
}
