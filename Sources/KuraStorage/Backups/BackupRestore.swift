import Glibc
import KuraBytes
import Sodium

/// Brings a backup back: into a directory of its own, whole or not at all.
public enum BackupRestore {
    public struct Outcome: Sendable {
        public var manifest: BackupManifest
        /// Names the history that begins.
        public var epoch: String
        /// What is there now.
        public var counts: BackupManifest.Counts
        /// Everything is as of this revision; above the manifest's with changes of a log.
        public var rev: UInt64
        /// What opens the secrets, one of these from where they come from: they stay sealed until it is brought. None: they open as they are.
        public var neededKeys: [KeySlot.Kind]
        public var needsRootKey: Bool { !neededKeys.isEmpty }
        /// Whose work the backup is.
        public var origin = BackupOrigin.unproved
        /// Attachments that lists go without, as `collection/id/name`.
        public var lostAttachments: [String] = []
        /// Segments of the log that do not say of which history they are.
        public var unnamedSegments: [String] = []
    }

    /// What reading all of a file has come to.
    public struct Verified {
        public var manifest: BackupManifest
        public var bytes: Int
        /// BLAKE2b-256 of the file.
        public var digest: [UInt8]
        public var origin: BackupOrigin
    }

    /// Reads all of a file.
    /// - Throws: why it is refused.
    public static func verify(
        _ path: String, _ opener: BackupOpener = BackupOpener(), isCancelled: () -> Bool = { false }
    ) throws(BackupFault) -> Verified {
        try verify(path, opener, kind: .backup, isCancelled: isCancelled)
    }

    /// Reads all of a backup in DATA/backups; no link leads out of there.
    /// - Throws: why it is refused.
    public static func verify(
        named name: String, _ configuration: StorageConfiguration, _ opener: BackupOpener, isCancelled: () -> Bool
    ) throws(BackupFault) -> Verified {
        var records = RecordGuard(.backup)
        return try verify(
            BackupDirectory.path(name, configuration), opener, kind: .backup, &records, followsLinks: false,
            isCancelled: isCancelled)
    }

    static func verify(
        _ path: String, _ opener: BackupOpener = BackupOpener(), kind: BackupFormat.Kind,
        isCancelled: () -> Bool = { false }
    ) throws(BackupFault) -> Verified {
        var records = RecordGuard(of: kind)
        return try verify(path, opener, kind: kind, &records, isCancelled: isCancelled)
    }

    /// `records`: a fresh one; afterwards it says what was left out.
    static func verify(
        _ path: String, _ opener: BackupOpener = BackupOpener(), kind: BackupFormat.Kind,
        _ records: inout RecordGuard, followsLinks: Bool = true, isCancelled: () -> Bool = { false }
    ) throws(BackupFault) -> Verified {
        let descriptor = try open(path, followsLinks: followsLinks)
        defer { close(descriptor) }
        // What is read is to be what the disk has, not what it was told.
        posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
        let reader = try BackupReader(descriptor, path: path, opener, kind: kind)
        let manifest = try reader.verify(&records, isCancelled: isCancelled)
        return Verified(
            manifest: manifest, bytes: reader.bytesRead, digest: reader.digest(), origin: reader.origin)
    }

    /// Makes a data directory of a backup. Everything is verified before the first byte is written, and the directory gets its name
    /// when it is whole.
    ///
    /// Until then it has a random one beside it, is held open, and is gone by its descriptor alone: whatever somebody lays in the way of its path,
    /// nothing else is written to or removed.
    ///
    /// `takesUnproved`: also what is not shown to be ours by what `opener` has.
    /// `directory`: not there, or empty. To root what leads to it has to be root's own (`PathWalk`).
    /// `changes`: what was changed since, which the daemon's first start takes in.
    /// `progress`: told bytes of the file, and how many they are in all; twice, since it is read twice.
    /// Throws: why nothing was restored.
    @discardableResult
    public static func restore(
        _ path: String, into directory: String, _ opener: BackupOpener = BackupOpener(),
        selection: BackupSelection = BackupSelection(), changes: LogChanges? = nil, takesUnproved: Bool = true,
        progress: (Int, Int) -> Void = { _, _ in }
    ) throws(BackupFault) -> Outcome {
        let target = try RestoreTarget(directory)
        _ = try target.isTaken()
        let verified = try verify(path, opener)
        guard takesUnproved || verified.origin == .ours else { throw .unproved(verified.origin) }
        if !takesUnproved, let changes { try opener.check(changes) }
        let bytes = verified.bytes
        progress(bytes, 2 * bytes)
        // Once more: reading takes a while.
        let takesEmpty = try target.isTaken()
        let draft = try target.draft()
        do throws(BackupFault) {
            var outcome = try make(
                draft.directory.ownPath, path, opener, RecordGuard(.backup), verified.manifest, verified.digest,
                selection, changes
            ) {
                progress(bytes + $0, 2 * bytes)
            }
            do throws(StorageFault) { try draft.publish(as: target.name, takesEmpty: takesEmpty) } catch {
                throw BackupFault(error)
            }
            outcome.origin = verified.origin
            return outcome
        } catch {
            draft.discard()
            throw error.calling(draft.directory.ownPath, target.path)
        }
    }

    /// Makes a data directory of a snapshot in one of our own in DATA/tmp, which is empty. Records that a daemon does not write are left out:
    /// a recovery has nothing better.
    @discardableResult
    static func restore(_ path: String, inside draft: borrowing DraftDirectory) throws(BackupFault) -> Outcome {
        var records = RecordGuard(.backup, leavesOut: true)
        let verified = try verify(path, BackupOpener(), kind: .backup, &records)
        return try make(
            draft.path, path, BackupOpener(), RecordGuard(.backup, leavesOut: true), verified.manifest,
            verified.digest, BackupSelection(), nil
        ) { _ in }
    }

    /// Makes a data directory of a bundle that has been checked, without its models; `directory` is not there, or empty.
    static func restore(_ bundle: SeedBundle, into directory: String) throws(BackupFault) -> Outcome {
        try make(
            directory, bundle.path, BackupOpener(), RecordGuard(.bundle), bundle.manifest, bundle.digest,
            BackupSelection(isBundle: true), nil
        ) { _ in }
    }

    /// What was asked for is not in the backup; what is, as far as a line has room.
    private static func absent(_ word: [UInt8], _ scopes: Set<[UInt8]>) -> BackupFault {
        let most = 20
        let names = scopes.map { String(decoding: $0, as: UTF8.self) }.filter {
            $0.contains("/") && !$0.hasPrefix("secrets/")
        }
        .sorted()
        let shown = names.prefix(most).joined(separator: ", ")
        let more = names.count > most ? " and \(names.count - most) more" : ""
        return .refused(
            "'\(String(decoding: word, as: UTF8.self))' is not in it; it has \(names.isEmpty ? "no such scope" : shown + more)"
        )
    }

    /// Nobody waits for the other end of a FIFO, and a device is not read.
    static func open(_ path: String, followsLinks: Bool = true) throws(BackupFault) -> Int32 {
        do throws(StorageFault) { return try FileSystem.openRegular(path, followsLinks: followsLinks) } catch {
            if case .system(EINVAL, _, _) = error { throw .refused("it is no regular file") }
            throw BackupFault(error)
        }
    }

    private static func make(
        _ draft: String, _ path: String, _ opener: BackupOpener, _ judge: RecordGuard,
        _ manifest: BackupManifest, _ digest: [UInt8], _ selection: BackupSelection, _ changes: LogChanges?,
        _ progress: (Int) -> Void
    ) throws(BackupFault) -> Outcome {
        let configuration = StorageConfiguration(dataDirectory: draft)
        do throws(StorageFault) {
            // It is ours alone, so nobody exchanges what is in it; the path to it may be the descriptor's.
            let lock = try DataDirectory.open(draft, configuration: configuration)
            _ = lock
        } catch { throw BackupFault(error) }
        let descriptor = try open(path)
        defer { close(descriptor) }
        let isBundle = judge.origin == .bundle
        var records = judge
        let reader = try BackupReader(descriptor, path: path, opener, kind: isBundle ? .bundle : .backup)
        let tables = try RestoredTables(
            configuration.tablesPath, withTombstones: !isBundle, leavesOutStrays: judge.leavesOut)
        let contents = RestoredContents(configuration)
        var keys: RestoredKeys?
        var hasSecrets = false
        var scopes: Set<[UInt8]> = []
        while let (kind, payload) = try reader.next() {
            switch kind {
            case .records:
                var position = 0
                while let judged = try records.next(in: payload, at: &position) {
                    let record = judged.record
                    if !selection.words.isEmpty, let word = BackupSelection.word(record.store, record.scope) {
                        scopes.insert(word)
                    }
                    guard selection.contains(record.store, record.scope) else { continue }
                    if record.store.isSealed { hasSecrets = true }
                    try tables.apply(judged)
                }
            case .content: try contents.take(payload, tables)
            case .keys: keys = try RestoredKeys(payload, fileKey: reader.fileKey)
            case .beginning, .manifest, .models: break
            }
            progress(reader.bytesRead)
        }
        // It was verified a moment ago, and somebody may have put another in its place.
        guard reader.digest() == digest else { throw .refused("\(path) has changed while it was read") }
        if let missing = selection.missing(among: scopes).first { throw absent(missing, scopes) }
        try contents.finish(tables, manifest)
        let added = try changes?.add(to: configuration, manifest, hasKeys: keys != nil)
        let rev = added?.rev ?? manifest.rev
        let epoch = UUIDv7Generator.random()
        // A partial restore begins a history without a parent: no log continues it.
        let isWhole = selection.isEverything && manifest.include.isEmpty
        try tables.finish(
            LogHistory(epoch: epoch, parent: isWhole ? added?.epoch ?? manifest.epoch : "", began: rev),
            rev: manifest.rev,
            seededRev: isBundle ? manifest.rev : manifest.seededRev)
        if selection.isEverything || isBundle, records.omissions.isEmpty {
            guard Store.all(.named).allSatisfy({ tables.counts[$0] == manifest.counts[$0] }) else {
                throw .refused("what came of it is not what its manifest says; nothing was restored")
            }
        }
        var neededKeys: [KeySlot.Kind] = []
        if hasSecrets || added?.hasSecrets == true {
            guard let keys else { throw .malformed }
            neededKeys = try keys.fitting(epoch: added?.keyEpoch ?? 0, opener.brought).write(configuration)
        }
        // Nothing of what was acknowledged is missing: the counter goes on where it was.
        RelaxedDurability.noteCleanStop(configuration, rev: rev)
        do throws(StorageFault) {
            try FileSystem.syncDirectory(configuration.durableDirectory)
            try FileSystem.syncDirectory(draft)
        } catch { throw BackupFault(error) }
        var counts = tables.counts
        counts[.attachments] = contents.count
        var outcome = Outcome(
            manifest: manifest, epoch: epoch, counts: counts, rev: rev, neededKeys: neededKeys)
        (outcome.lostAttachments, outcome.unnamedSegments) = (added?.lost ?? [], added?.unnamed ?? [])
        return outcome
    }
}
