import Glibc
import KuraBytes
import SQLite
import Sodium

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
/// A thread walks over the tables by key, in snapshots that are given up after 200 ms or 32 MiB of WAL, and writes between them. Meanwhile
/// `FoldTap` has every slice told that is folded. When the walk is through, the tap's last slice says the revision: what the walk has seen
/// and what the tap was told make up the tables as of that. Contents of attachments are kept from going until they are written.
public final class BackupRun: @unchecked Sendable {
    // Made on the loop, then one thread's.

    /// Everything that was acknowledged before is in the backup; the tables must have it when `run` is called.
    public let foldedTo: UInt64
    /// Items as of the beginning.
    public let total: Int

    let configuration: StorageConfiguration
    private let request: BackupRequest
    private let folder: Folder
    private let attachments: AttachmentFiles
    private let damage: DamageBook
    private let epoch: String
    /// Scopes with `backup: false`, by store.
    private let marked: Set<ScopeName>
    /// Of a seed bundle: the model cache, what came from a bundle itself, and which items are in it.
    private let models: BundledModels?
    private let seededRev: UInt64
    private var bundled = BundledItems()
    /// nil: no secrets are taken.
    /// Let go of when `run` ends, and soon after the secrets are locked.
    private var keys: OpenedKeys?
    /// Shows that it is ours; nil while the secrets are sealed. It opens nothing.
    private let originKey: OriginKey?
    private let lease: KeyLease?
    /// Secrets are to be in it.
    public let hasSecrets: Bool
    /// Why it goes without the secrets though they are wanted; nil when it does not.
    private let unusable: BackupManifest.LeftOut.Reason?
    private let met: MetDamage
    private var known: (rev: UInt64, scopes: [UInt32: ScopeName]) = (.max, [:])
    private var contents: Set<ContentDigest> = []
    private var done = 0
    /// Rows of the tables that have no place in a seed bundle.
    private var passed = 0
    private var slice = ByteBuffer()

    struct ScopeName: Hashable, Sendable {
        var store: Store
        var name: [UInt8]
    }

    /// Bytes that are gathered in one snapshot, about.
    private static let sliceBytes = 1 << 20

    init(_ request: BackupRequest, _ storage: isolated Storage) throws(BackupFault) {
        self.request = request
        configuration = storage.configuration
        folder = storage.folder
        (attachments, damage) = (storage.attachments, storage.damage)
        epoch = storage.epoch
        foldedTo = storage.rev
        models = request.isBundle ? BundledModels(request.selection, storage) : nil
        seededRev = storage.ledger.seededRev
        let ledger = storage.ledger
        var marked: Set<ScopeName> = []
        for scope in ledger.scopes.all where scope.store.has(.configurable) {
            let item = scope.withName { storage.configurations.get(scope.store, $0, ConfigurationStore.backup).item }
            guard let item, item.value.equals("false") else { continue }
            marked.insert(ScopeName(store: scope.store, name: scope.name))
            for part in Store.allCases where part.described.part == scope.store {
                marked.insert(ScopeName(store: part, name: scope.name))
            }
        }
        self.marked = marked
        total = ledger.scopes.all.reduce(0) { $0 + ($1.store.has(.backedUp) ? $1.count : 0) }
        met = storage.secrets.keeper.met
        // Of those that were removed altogether the mark alone is left.
        let (secrets, isOpen) = (storage.secrets, storage.keyKeeper.ring.opened != nil)
        let wantsSecrets =
            request.selection.hasSecrets
            && (!secrets.audit.binding.mark.isEmpty || (isOpen ? ledger.holdsSecrets : secrets.rows.hasItems))
        unusable = !wantsSecrets ? nil : !isOpen ? .locked : secrets.audit.binding.areUnvouched ? .damaged : nil
        keys = wantsSecrets && unusable == nil ? storage.keyKeeper.ring.opened : nil
        originKey = storage.keyKeeper.ring.originKey
        lease = keys == nil ? nil : storage.keyKeeper.ring.lease
        hasSecrets = keys != nil
        guard unusable == nil || request.goesWithoutUnusableSecrets else {
            throw unusable == .locked ? .secretsLocked : .secretsDamaged
        }
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
        defer { keys = nil }
        let lease = lease
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
        let held = try BackupSecrets(configuration, keys, met)
        defer { held?.discard() }
        let tap = try FoldTap(configuration, erases: held != nil)
        defer { tap.discard() }
        folder.submit(tap)
        while try !tap.isReady() {
            if isCancelled() { throw .cancelled }
            usleep(1000)
        }
        attachments.beginKeeping()
        defer { attachments.endKeeping() }
        let writer = try BackupWriter(to: sink, locks, kind: kind)
        var manifest = BackupManifest()
        manifest.epoch = epoch
        manifest.createdAt = configuration.clock.wall
        manifest.include = request.selection.words
        manifest.schema = Int(Tables.migrator.newestVersion)
        // What is in a bundle comes from one only when it is laid down.
        if !request.isBundle { manifest.seededRev = seededRev }
        try writer.write(.beginning) { manifest.append(to: &$0) }
        let walked = try walk(writer, held, isCancelled, progress)
        while tap.rev < walked {
            if isCancelled() { throw .cancelled }
            usleep(1000)
        }
        let (rev, scopes) = try tap.close()
        manifest.rev = rev
        try tap.forEach { (encoded, record) throws(BackupFault) in
            if isCancelled() { throw .cancelled }
            if record.store.isSealed || !isWanted(record.store, record.scope) { return }
            if request.isBundle { bundled.note(record) }
            note(record)
            try writer.append(encoded: encoded)
        }
        var sealed = held
        var reason = unusable
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
            let services = scopes.filter { $0.store == .secrets && $0.name.withBytes { NameHash(text: $0) } != nil }
            let count = services.reduce(0) { $0 + max($1.count - 1, 0) }
            manifest.leftOut.append(.init(store: "secrets", count: count, reason: reason))
        }
        try write(scopes, to: writer, &manifest, hasSecrets: sealed != nil)
        manifest.counts[.secrets] = sealed?.count ?? 0
        try writer.flush()
        try writeContents(to: writer, &manifest, isCancelled)
        if let models {
            try models.write(to: writer, isCancelled: isCancelled)
            (manifest.namespaces, manifest.models) = (models.namespaces, models.entries)
        }
        if let sealed {
            try sealed.writeKeys(to: writer)
            manifest.needsRootKey = writer.fileKey == nil && sealed.count > 0
        }
        try writer.finish(&manifest, request.isBundle ? nil : originKey)
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

    private func isWanted(_ store: Store, _ scope: Bytes) -> Bool {
        guard request.selection.contains(store, scope) else { return false }
        return marked.isEmpty || !marked.contains(ScopeName(store: store, name: Array(scope)))
    }

    /// Which contents a list of attachments needs.
    private func note(_ record: BackupRecord) {
        guard record.store == .attachments, !record.value.isEmpty else { return }
        for attachment in AttachmentList(record.value).attachments { contents.insert(attachment.digest) }
    }

    // MARK: The walk

    /// - Returns: the revision of the last snapshot.
    private func walk(
        _ writer: BackupWriter, _ sealed: BackupSecrets?, _ isCancelled: @escaping @Sendable () -> Bool,
        _ progress: (Int) -> Void
    ) throws(BackupFault) -> UInt64 {
        var last: UInt64 = 0
        do throws(StoreError) {
            let tables = try TableReader(configuration, isCancelled: isCancelled)
            let statements: WalkStatements
            do throws(SQLiteError) { statements = try WalkStatements(tables.connection) } catch {
                throw .unreadable(error)
            }
            for part in [WalkStatements.Part.resident, .rows] {
                var isAtEnd = false
                while !isAtEnd {
                    try tables.snapshot { (snapshot) throws(SQLiteError) in
                        last = max(last, snapshot.rev)
                        try learnScopes(tables, snapshot)
                        isAtEnd = try statements.step(part) { (id, record) throws(SQLiteError) in
                            take(id, record, part, snapshot, statements)
                        }
                    }
                    do throws(BackupFault) { try write(to: writer, sealed) } catch { throw unwrapped(error) }
                    progress(done)
                }
            }
        } catch { throw fault ?? BackupFault(error) }
        return last
    }

    /// Kept while it passes through what throws `StoreError`.
    private var fault: BackupFault?

    private func unwrapped(_ error: BackupFault) -> StoreError {
        fault = error
        return .cancelled
    }

    private func learnScopes(_ tables: TableReader, _ snapshot: TableReader.Snapshot) throws(SQLiteError) {
        guard known.rev != snapshot.rev else { return }
        let select = try tables.connection.prepare("SELECT id, store, name FROM scopes")
        var scopes: [UInt32: ScopeName] = [:]
        while try select.step() {
            guard let store = Store(rawValue: UInt8(select.int64(1))) else { continue }
            scopes[UInt32(select.int64(0))] = ScopeName(store: store, name: Array(select.bytes(2)))
        }
        known = (snapshot.rev, scopes)
    }

    /// Takes a row in.
    private func take(
        _ id: UInt32, _ found: BackupRecord, _ part: WalkStatements.Part, _ snapshot: TableReader.Snapshot,
        _ statements: WalkStatements
    ) -> WalkStatements.Step {
        // Dropped, or not asked for: all of it is passed over at once.
        guard let scope = known.scopes[id] else { return .skipScope }
        let isMeant = scope.name.withBytes { isWanted(scope.store, $0) }
        guard isMeant, !scope.store.isSealed || keys != nil else { return .skipScope }
        var record = found
        record.store = scope.store
        if request.isBundle, record.rev <= seededRev || record.flags.contains(.isDeleted) {
            passed += 1
            return passed % 1024 == 0 && snapshot.isStale ? .takeAndStop : .take
        }
        if slice.count + record.length > Self.sliceBytes, !slice.isEmpty { return .stop }
        scope.name.withBytes { name in
            record.scope = name
            record.append(to: &slice)
        }
        if request.isBundle { scope.name.withBytes { bundled.note(record, in: $0) } }
        note(record)
        done += 1
        return done % 32 == 0 && snapshot.isStale ? .takeAndStop : .take
    }

    /// Writes what a snapshot has brought, when it has been given up.
    private func write(to writer: BackupWriter, _ sealed: BackupSecrets?) throws(BackupFault) {
        var position = 0
        while position < slice.count {
            var end = position
            guard let record = try BackupRecord.next(in: slice.bytes, at: &end) else { break }
            let encoded = slice.bytes(position..<end)
            if record.store.isSealed { try sealed?.hold(encoded) } else { try writer.append(encoded: encoded) }
            position = end
        }
        slice.removeAll()
        if slice.capacity > 4 * Self.sliceBytes { slice = ByteBuffer() }
    }

    // MARK: The end

    private func write(
        _ scopes: [FoldTap.TappedScope], to writer: BackupWriter, _ manifest: inout BackupManifest, hasSecrets: Bool
    ) throws(BackupFault) {
        let ordered = scopes.sorted { left, right in
            left.store != right.store
                ? left.store.rawValue < right.store.rawValue : left.name.lexicographicallyPrecedes(right.name)
        }
        for scope in ordered where !scope.store.isSealed || hasSecrets {
            guard scope.name.withBytes({ request.selection.contains(scope.store, $0) }) else { continue }
            if request.isBundle, scope.lastRev <= seededRev { continue }
            try scope.name.withBytes { (name) throws(BackupFault) in
                try writer.append(
                    BackupRecord(
                        store: scope.store, flags: .isScope, rev: scope.lastRev, row: UInt64(scope.nextRow),
                        scope: name))
            }
            let isMarked = marked.contains(ScopeName(store: scope.store, name: scope.name))
            if isMarked {
                guard !scope.store.isPart else { continue }
                manifest.leftOut.append(
                    .init(
                        store: scope.store.roomName, scope: scope.name,
                        count: scope.count, reason: .marked))
                continue
            }
            let count = request.isBundle ? bundled.count(scope.store, scope.name) : scope.count
            if scope.store.isPublic { manifest.counts.add(scope.store, count) }
        }
    }

    /// Writes the contents of all attachments, each once, in pieces.
    private func writeContents(
        to writer: BackupWriter, _ manifest: inout BackupManifest, _ isCancelled: () -> Bool
    ) throws(BackupFault) {
        let digests = contents.map { (text: $0.text, digest: $0) }.sorted { $0.text < $1.text }
        var buffer = ByteBuffer(capacity: BackupFormat.chunkBytes)
        for (_, digest) in digests {
            let path = AttachmentFiles.path(digest, configuration)
            var offset = 0
            var isWhole = false
            var opened: Int32?
            do throws(StorageFault) { opened = try FileSystem.openRegular(path) } catch {
                // For want of descriptors nothing was found out about it.
                if error.isWant { throw BackupFault(error) }
            }
            if let descriptor = opened {
                defer { close(descriptor) }
                var hash = GenericHash()
                let size = FileSystem.size(path)
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
                isWhole = offset == size && found == digest
            }
            if isWhole {
                manifest.counts[.attachments] += 1
            } else {
                damage.note(content: digest)
                manifest.leftOut.append(
                    .init(store: "documents", name: Array(digest.text.utf8), count: 1, reason: .damaged))
            }
        }
    }
}

extension Storage {
    /// Prepares a backup; the work is done by `BackupRun.run`, on a thread that may wait.
    /// - Throws: `secretsLocked`.
    public func backup(_ request: BackupRequest) throws(BackupFault) -> BackupRun { try BackupRun(request, self) }
}
