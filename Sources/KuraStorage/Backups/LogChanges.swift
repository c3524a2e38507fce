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
    /// Lists of attachments go without contents that are gone; else nothing is restored.
    public var withoutLostAttachments: Bool

    public init(log: String, upTo rev: UInt64?, withoutLostAttachments: Bool = false) {
        self.log = log
        self.rev = rev
        self.withoutLostAttachments = withoutLostAttachments
    }

    /// Where the contents of attachments are that the log names.
    private var attachments: StorageConfiguration? {
        for parent in ["/..", "/../../.."] {
            let data = StorageConfiguration(dataDirectory: log + parent)
            if FileSystem.isDirectory(data.attachmentsDirectory) { return data }
        }
        return nil
    }

    /// Up to where the log went, as the data directory says whose it is; 0 where none does.
    private var acknowledged: UInt64 {
        (try? AcknowledgedNote.read(StorageConfiguration(dataDirectory: log + "/..").acknowledgedPath)) ?? 0
    }

    /// What somebody else than the keys' owner, root, and who restores may change of the directory that the log lies in, of its own, and of
    /// its files; nil when there is nothing.
    func foreign(besides keys: String) throws(BackupFault) -> String? {
        func look(_ path: String) -> stat? {
            var information = stat()
            // Safety: Swift lends the path as a C string for the call, and the kernel fills what is ours.
            return unsafe stat(path, &information) == 0 ? information : nil
        }
        let names: [String]
        do throws(StorageFault) { names = try FileSystem.names(in: log) } catch { throw BackupFault(error) }
        let owners = [0, geteuid(), look(keys)?.st_uid ?? 0]
        return ([log + "/..", log] + names.map { log + "/" + $0 }).first { path in
            guard let found = look(path) else { return false }
            return !owners.contains(found.st_uid) || found.st_mode & 0o022 != 0
        }
    }

    /// What adding them has come to.
    struct Added {
        /// Everything is as of this revision.
        var rev: UInt64
        var hasSecrets = false
        /// The newest history that they are of.
        var epoch: String
        /// Attachments that the lists go without.
        var lost: [String] = []
        /// Segments that do not say of which history they are.
        var unnamed: [String] = []
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
        // Single damaged ones are in it as they are.
        if let left = manifest.leftOut.first(where: {
            $0.store == "secrets" && ($0.reason != .damaged || manifest.counts[.secrets] == 0)
        }) {
            throw .refused(
                "the backup leaves secrets out (\(left.reason.rawValue)), which the log's changes of secrets count on")
        }
        var (added, lists) = try copyRows(to: configuration, manifest, upTo: rev, without: [])
        guard !added.hasSecrets || hasKeys else {
            throw .refused("the log has secrets, and the backup, which has none, nothing that leads to their keys")
        }
        let lost = try bring(lists.contents, to: configuration)
        guard !lost.isEmpty else { return added }
        let names = lists.names(of: lost)
        guard withoutLostAttachments else { throw .refused(Self.refusal(names)) }
        do throws(StorageFault) { try FileSystem.remove(Segment.path(configuration.logDirectory, 1)) } catch {
            throw BackupFault(error)
        }
        // A running daemon's log may have gone on.
        (added, lists) = try copyRows(to: configuration, manifest, upTo: added.rev, without: lost)
        added.lost = names
        return added
    }

    private static func refusal(_ names: [String]) -> String {
        let most = 5
        let more = names.count > most ? " and \(names.count - most) more" : ""
        let what = names.count == 1 ? "content of an attachment is" : "contents of \(names.count) attachments are"
        return "the \(what) gone, or damaged: "
            + names.prefix(most).joined(separator: ", ") + more
            + "; '--without-lost-attachments' restores everything else"
    }

    /// Copies the rows that follow the backup into the log of what is restored.
    /// `lost`: contents that lists go without.
    private func copyRows(
        to configuration: StorageConfiguration, _ manifest: BackupManifest, upTo rev: UInt64?,
        without lost: Set<ContentDigest>
    ) throws(BackupFault) -> (Added, LoggedLists) {
        let scratch = configuration.temporaryDirectory + "/changes"
        var lists = LoggedLists()
        var added = Added(rev: manifest.rev, epoch: manifest.epoch)
        let records = RecordGuard(.log)
        var unfit: String?
        // The row under way, and the revision up to which it has been seen.
        var place: (row: UInt64, rev: UInt64) = (0, 0)
        var reports: [String] = []
        let saved: UInt64
        let newest: UInt64
        do throws(StorageFault) {
            try FileSystem.makeDirectory(scratch)
            var salvage = LogSalvage(
                from: log, scratch: scratch, to: configuration, after: manifest.rev, upTo: rev ?? .max, isTaking: true
            ) { reports.append($0) }
            salvage.contents.digests = lost
            // Before the segments are copied, which may be a running daemon's.
            salvage.start.acknowledged = acknowledged
            salvage.admit = { (segments) throws(StorageFault) in
                let segments = segments.filter { segment in
                    segment.lastRev > manifest.rev
                        || segment.damages.contains { $0.saved.contains { $0.rev > manifest.rev } }
                }
                added.epoch = try LogHistory.newest(after: manifest.epoch, manifest.rev, in: segments)
                added.unnamed = segments.filter { $0.history == nil }.map {
                    String($0.path.split(separator: "/").last ?? "")
                }
            }
            salvage.visit = { record, row in
                if place.row != row.rev { place = (row.rev, row.previous) }
                unfit = unfit ?? Self.problem(record, row, behind: place.rev)
                place.rev = max(place.rev, record.rev)
                guard record.rev > manifest.rev else { return }
                unfit = unfit ?? Self.problem(record, row, behind: added.rev) ?? records.problem(record, at: row.at)
                added.rev = max(added.rev, record.rev)
                if record.store.isSealed { added.hasSecrets = true }
                if let epoch = SecretRecords.epoch(of: record) { added.keyEpoch = max(added.keyEpoch, epoch) }
                lists.note(record)
            }
            try salvage.run()
            (saved, newest) = (salvage.savedRev, max(salvage.newestRev, salvage.start.acknowledged))
            try FileSystem.removeDirectory(scratch)
        } catch { throw BackupFault(error) }
        if let unfit = unfit ?? lists.problem { throw .refused(unfit) }
        guard added.rev == saved else {
            throw .refused(
                "the log is not what a daemon writes: it says that it goes to revision \(saved), and its last change is of \(added.rev)"
            )
        }
        if saved < rev ?? newest {
            let reason = reports.first.map { " (\($0))" } ?? ""
            throw .refused(
                newest < rev ?? newest
                    ? "the log ends with revision \(newest)\(reason)"
                    : "revision \(saved + 1) is not in the log, which has had revisions up to \(newest)\(reason)"
                        + (rev == nil ? "; '--at \(saved)' restores what comes before it" : ""))
        }
        return (added, lists)
    }

    /// Why a change cannot follow what comes before it, or not in its row: no start would take it. Nil when it can.
    private static func problem(_ record: LogRecord, _ row: SegmentRow, behind rev: UInt64) -> String? {
        let follows = record.rev == rev || record.rev == rev + 1 || RelaxedDurability.raises(record, from: rev)
        guard !follows || record.rev > row.rev else { return nil }
        return
            "the change of revision \(record.rev) is not what a daemon writes: it follows revision \(rev), in a row that ends with \(row.rev)"
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
    /// - Returns: those that are gone, or damaged.
    private func bring(
        _ contents: [Attachment], to configuration: StorageConfiguration
    ) throws(BackupFault) -> Set<ContentDigest> {
        var lost: Set<ContentDigest> = []
        for attachment in contents {
            if try !copy(attachment, to: configuration) { lost.insert(attachment.digest) }
        }
        return lost
    }

    /// - Returns: false when the content is gone, or damaged.
    private func copy(_ attachment: Attachment, to configuration: StorageConfiguration) throws(BackupFault) -> Bool {
        let digest = attachment.digest
        let target = AttachmentFiles.path(digest, configuration)
        if !FileSystem.exists(target) {
            guard let from = attachments.map({ AttachmentFiles.path(digest, $0) }), FileSystem.isRegular(from) else {
                return false
            }
            do throws(StorageFault) {
                let directory = String(target.dropLast(ContentDigest.length - 1))
                try FileSystem.makeDirectory(directory)
                try FileSystem.copy(from, to: target)
                let descriptor = try FileSystem.openRegular(target)
                defer { close(descriptor) }
                guard try RestoredContents.digest(of: descriptor, target) == digest else {
                    try FileSystem.remove(target)
                    return false
                }
                guard fchmod(descriptor, 0o400) == 0 else { throw FileSystem.fail("fchmod", target) }
                try FileSystem.syncDirectory(directory)
                try FileSystem.syncDirectory(configuration.attachmentsDirectory)
            } catch { throw BackupFault(error) }
        }
        let size = FileSystem.size(target)
        guard size == attachment.bytes else {
            throw .refused(
                "the log says \(attachment.bytes) bytes of the content \(digest.text) of an attachment, and it has \(size)"
            )
        }
        return true
    }
}
