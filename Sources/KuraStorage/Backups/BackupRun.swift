import Glibc
import KuraBytes
import SQLite

/// What somebody wants of a backup.
public struct BackupRequest: Sendable {
    public var selection = BackupSelection()
    /// Who may open it; a passphrase is hashed later, on a thread that may wait.
    public var locks = BackupLocks()
    /// A seed bundle instead: without secrets and tombstones, without what came from a bundle, with the model cache.
    public var isBundle = false
    /// Secrets that are locked or damaged are left out, and that is said; otherwise they are a reason to refuse.
    public var goesWithoutUnusableSecrets = false

    public init() {}
}

/// What a backup has come to.
public struct BackupSummary: Sendable {
    public var manifest: BackupManifest
    public var bytes: Int
    /// BLAKE2b-256 of the whole file.
    public var digest: [UInt8]
    /// Opens what has just been written, to verify it; nil when it is not encrypted.
    public var opener: BackupOpener
    var kind: BackupFormat.Kind

    public var isEncrypted: Bool { opener.fileKey != nil }

    /// Reads a file back that it was written to.
    /// - Returns: whether every byte is what was written.
    public func isWhole(in descriptor: Int32, isCancelled: () -> Bool) throws(BackupFault) -> Bool {
        posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
        let reader = try BackupReader(descriptor, path: "", opener, kind: kind)
        let found = try reader.verify(isCancelled: isCancelled)
        return found == manifest && reader.bytesRead == bytes && reader.digest() == digest
    }
}

/// One consistent backup of everything that lasts, while writes go on.
///
/// A thread walks over the tables (`BackupWalk`). Meanwhile `FoldTap` has every slice told that is folded. When the walk is through, the
/// tap's last slice says the revision: what the walk has seen and what the tap was told make up the tables as of that. Contents of
/// attachments are kept from going until they are written.
public final class BackupRun: @unchecked Sendable {
    // Made on the loop, then one thread's.

    /// Everything that was acknowledged before is in the backup; the tables must have it when `run` is called.
    public let foldedTo: UInt64
    /// Items as of the beginning.
    public let total: Int

    let configuration: StorageConfiguration
    private let request: BackupRequest
    private let folder: Folder
    private let epoch: String
    private let extent: BackupExtent
    private let contents: BackupContents
    private let keys: BackupKeys
    /// Of a seed bundle: the model cache.
    private let models: BundledModels?

    /// Secrets are to be in it.
    public var hasSecrets: Bool { keys.areTaken }

    init(_ request: BackupRequest, _ storage: isolated Storage) throws(BackupFault) {
        self.request = request
        configuration = storage.configuration
        folder = storage.tables.folder
        epoch = storage.start.epoch
        foldedTo = storage.rev
        total = storage.ledger.scopes.all.reduce(0) { $0 + ($1.store.has(.backedUp) ? $1.count : 0) }
        extent = BackupExtent(request, storage)
        contents = BackupContents(storage)
        models = request.isBundle ? BundledModels(request.selection, storage) : nil
        keys = try BackupKeys(request, storage)
    }

    /// Writes all of it.
    ///
    /// `locks`: who may open it.
    /// `isCancelled`: asked again and again.
    /// `progress`: told items that are done.
    /// Throws: what kept it from being whole; then what was written is no backup.
    public func run(
        to sink: any BackupSink, _ locks: BackupLocks, isCancelled: @escaping @Sendable () -> Bool,
        progress: (Int) -> Void
    ) throws(BackupFault) -> BackupSummary {
        defer { keys.letGo() }
        let lease = keys.lease
        do throws(BackupFault) {
            return try make(
                to: sink, locks, isCancelled: { lease?.isRevoked == true || isCancelled() }, progress: progress)
        } catch {
            throw error == .cancelled && lease?.isRevoked == true ? .secretsLocked : error
        }
    }

    private func make(
        to sink: any BackupSink, _ locks: BackupLocks, isCancelled: @escaping @Sendable () -> Bool,
        progress: (Int) -> Void
    ) throws(BackupFault) -> BackupSummary {
        let held = try keys.secrets(configuration)
        defer { held?.discard() }
        let tap = try FoldTap(configuration, erases: held != nil)
        defer { tap.discard() }
        folder.submit(tap)
        var pause = Pause()
        while try !tap.isReady() {
            if isCancelled() { throw .cancelled }
            pause.rest()
        }
        contents.keep()
        defer { contents.letGo() }
        let writer = try BackupWriter(to: sink, locks, kind: kind)
        var manifest = BackupManifest()
        manifest.epoch = epoch
        manifest.createdAt = configuration.clock.wall
        manifest.include = request.selection.words
        manifest.schema = Int(Tables.migrator.newestVersion)
        // What is in a bundle comes from one only when it is laid down.
        if !request.isBundle { manifest.seededRev = extent.seededRev }
        try writer.write(.beginning) { manifest.append(to: &$0) }
        let walked = try BackupWalk(configuration, extent, contents, hasSecrets: hasSecrets, isCancelled)
            .run(to: writer, held, progress)
        pause = Pause()
        while tap.rev < walked {
            if isCancelled() { throw .cancelled }
            pause.rest()
        }
        let (rev, scopes) = try tap.close()
        manifest.rev = rev
        let services = scopes.filter { $0.store == .secrets && $0.name.withBytes { NameHash(text: $0) } != nil }
        // The first secret, with its keys: the walk knew of neither.
        if keys.mayCome, services.contains(where: { $0.count > 0 }) { throw .keysChanged }
        try tap.forEach { (encoded, record) throws(BackupFault) in
            if isCancelled() { throw .cancelled }
            if record.store.isSealed || !extent.takes(record.store, record.scope) { return }
            extent.note(record)
            contents.note(record)
            try writer.append(encoded: encoded)
        }
        var sealed = held
        var reason = keys.unusable
        do throws(BackupFault) { try held?.prepare(tap, isCancelled) } catch {
            guard request.goesWithoutUnusableSecrets, error == .secretsDamaged || error == .slotsLost else {
                throw error
            }
            sealed = nil
            reason = .damaged
        }
        if let sealed {
            manifest.leftOut += try sealed.write(tap, to: writer, isEncrypted: writer.fileKey != nil, isCancelled)
        }
        if let reason {
            // Each service has its record beside them.
            let count = services.reduce(0) { $0 + max($1.count - 1, 0) }
            manifest.leftOut.append(.init(store: "secrets", count: count, reason: reason))
        }
        try extent.write(scopes, to: writer, &manifest, hasSecrets: sealed != nil)
        manifest.counts[.secrets] = sealed?.count ?? 0
        try writer.flush()
        try contents.write(to: writer, &manifest, isCancelled)
        if let models {
            try models.write(to: writer, isCancelled: isCancelled)
            (manifest.namespaces, manifest.models) = (models.namespaces, models.entries)
        }
        if let sealed {
            try sealed.writeKeys(to: writer)
            manifest.needsRootKey = writer.fileKey == nil && sealed.count > 0
        }
        try writer.finish(&manifest, request.isBundle ? nil : keys.origin)
        // Whoever has locked the secrets, or has called it off, has done so before it was whole.
        if isCancelled() { throw .cancelled }
        var opener = BackupOpener()
        opener.fileKey = writer.fileKey
        return BackupSummary(
            manifest: manifest, bytes: writer.bytesWritten, digest: writer.finish(), opener: opener, kind: kind)
    }

    /// Writes a scheduled snapshot. Where it goes without something that nobody has asked to be left out its name says so.
    /// - Returns: its name, too.
    public func writeScheduled(
        _ time: String, _ locks: BackupLocks, _ isCancelled: @escaping @Sendable () -> Bool
    ) throws(BackupFault) -> (name: String, summary: BackupSummary) {
        var name = BackupDirectory.scheduledPrefix + time
        let summary = try write(name, locks, isCancelled, { _ in }) { (file, manifest) in
            guard !manifest.shortfall.isEmpty else { return }
            name += BackupDirectory.partialSuffix
            file.name = name
        }
        return (name, summary)
    }

    /// Writes all of it to a file of DATA/backups, which is there when it is whole, synced and verified.
    /// `named`: called before that.
    public func write(
        _ name: String, _ locks: BackupLocks, _ isCancelled: @escaping @Sendable () -> Bool,
        _ progress: (Int) -> Void, named: (BackupFile, BackupManifest) -> Void = { _, _ in }
    ) throws(BackupFault) -> BackupSummary {
        let file = try BackupFile(name, configuration, kind: kind)
        let summary: BackupSummary
        do throws(BackupFault) {
            summary = try run(to: file, locks, isCancelled: isCancelled, progress: progress)
        } catch {
            file.abandon()
            throw error
        }
        named(file, summary.manifest)
        try file.finish(summary, isCancelled: isCancelled)
        return summary
    }

    private var kind: BackupFormat.Kind { request.isBundle ? .bundle : .backup }
}

extension Storage {
    /// Prepares a backup; the work is done by `BackupRun.run`, on a thread that may wait.
    /// - Throws: `secretsLocked`.
    public func backup(_ request: BackupRequest) throws(BackupFault) -> BackupRun { try BackupRun(request, self) }
}
