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
        var lists = LoggedLists()
        var added = Added(rev: manifest.rev)
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
            (saved, newest) = (salvage.savedRev, salvage.newestRev)
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
                    : "revision \(saved + 1) is not in the log, which has revisions up to \(newest)\(reason)"
                        + (rev == nil ? "; '--at \(saved)' restores what comes before it" : ""))
        }
        guard !added.hasSecrets || hasKeys else {
            throw .refused("the log has secrets, and the backup, which has none, nothing that leads to their keys")
        }
        for list in lists.lists.values {
            for attachment in list.attachments { try copy(attachment, to: configuration) }
        }
        return added
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

    /// Brings a content along that a list of the log names.
    private func copy(_ attachment: Attachment, to configuration: StorageConfiguration) throws(BackupFault) {
        let digest = attachment.digest
        let target = AttachmentFiles.path(digest, configuration)
        if !FileSystem.exists(target) {
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
        let size = FileSystem.size(target)
        guard size == attachment.bytes else {
            throw .refused(
                "the log says \(attachment.bytes) bytes of the content \(digest.text) of an attachment, and it has \(size)"
            )
        }
    }
}

/// Lists of attachments that the changes of a log come to, and which of their documents are there: a list is changed together with its
/// document, in one revision.
struct LoggedLists {
    struct List {
        var rev: UInt64
        var isLive: Bool
        var attachments: [Attachment]
    }

    private struct Document {
        var rev: UInt64
        var isLive: Bool
    }

    /// The hash alone is the same of some names of one byte and of two.
    private struct Key: Hashable {
        var hash: UInt64
        var length: Int
    }

    /// By collection and id, a zero between them.
    private(set) var lists: [[UInt8]: List] = [:]
    /// Of all documents that are changed: nothing is kept of them but this.
    private var documents: [Key: Document] = [:]
    /// When collections were dropped.
    private var dropped: [[UInt8]: UInt64] = [:]
    private let seed = UInt64.random(in: 0...UInt64.max)

    private func key(_ name: [UInt8]) -> Key {
        Key(hash: name.withBytes { Hash.bytes($0, seed: seed) }, length: name.count)
    }

    /// Takes a change in the order of the log.
    mutating func note(_ record: LogRecord) {
        guard record.store == .documents || record.store == .attachments else { return }
        if record.isDrop {
            let scope = Array(record.scope)
            if record.store == .documents { dropped[scope] = record.rev }
            lists = lists.filter { !$0.key.starts(with: scope + [0]) }
            return
        }
        let name = Array(record.scope) + [0] + Array(record.key)
        if record.store == .documents {
            documents[key(name)] = Document(rev: record.rev, isLive: !record.isTombstone)
        } else {
            lists[name] = List(
                rev: record.rev, isLive: !record.isTombstone,
                attachments: record.value.isEmpty ? [] : AttachmentList(record.value).attachments)
        }
    }

    /// Why they are not what a daemon writes: the first list, by its revision, whose document is not there; nil when there is none.
    var problem: String? {
        var first: (rev: UInt64, name: [UInt8])?
        for (name, list) in lists where list.isLive && list.rev < first?.rev ?? .max {
            let scope = Array(name.prefix { $0 != 0 })
            let document = documents[key(name)]
            let isThere = document.map { $0.isLive && $0.rev >= dropped[scope] ?? 0 } ?? false
            if !isThere { first = (list.rev, name) }
        }
        guard let first else { return nil }
        let place = first.name.split(separator: 0, maxSplits: 1).map { Array($0).withBytes { ShownName.text($0) } }
            .joined(separator: "/")
        return "the change of revision \(first.rev) (attachments/\(place)) is not what a daemon writes: "
            + "it lists attachments of a document that is not there"
    }
}
