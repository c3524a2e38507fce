import Glibc
import KuraBytes
import SQLite

/// A seed bundle: prepared settings, documents and models in one file, which a start lays down where there is nothing.
///
/// It is read to its end and checked before anything is made of it.
struct SeedBundle {
    let path: String
    let manifest: BackupManifest
    let digest: [UInt8]

    /// - Throws: why it is refused.
    init(_ path: String) throws(BackupFault) {
        self.path = path
        let verified = try BackupRestore.verify(path, kind: .bundle)
        (manifest, digest) = (verified.manifest, verified.digest)
    }

    /// Shows each part of it.
    /// - Throws: also when it is another file than was checked.
    func read(_ body: (BackupFormat.Payload, Bytes) throws(BackupFault) -> Void) throws(BackupFault) {
        let descriptor = try BackupRestore.open(path)
        defer { close(descriptor) }
        let reader = try BackupReader(descriptor, path: path, kind: .bundle)
        while let (kind, payload) = try reader.next() { try body(kind, payload) }
        guard reader.digest() == digest else { throw .refused("it has changed while it was read") }
    }

    /// What DATA/seed.json says when the tables begin with it.
    func record(at time: Int64) -> SeedRecord { SeedRecord(digest: digest, rev: manifest.rev, at: time) }

    /// Makes tables of it, and contents of attachments: in DATA/tmp first, then in their places, the tables last. Where there are tables
    /// already they go, with their WAL: only those of a recovery that has found nothing.
    /// - Returns: what is there now.
    func layTables(_ configuration: StorageConfiguration) throws(BackupFault) -> BackupManifest.Counts {
        let scratch = try DraftDirectory.scratch(configuration, prefix: "seed-")
        defer { scratch.discard() }
        let outcome = try BackupRestore.restore(self, into: scratch.path)
        do throws(StorageFault) {
            _ = FaultPoints.hit(.bundleLay)
            try FileSystem.removeAll(of: configuration.tablesPath)
            _ = FaultPoints.hit(.bundleLay)
            try SnapshotSource.adopt(scratch.path, configuration)
            _ = FaultPoints.hit(.bundleLay)
        } catch { throw BackupFault(error) }
        // A domain of it may be relaxed; nothing has been lost.
        RelaxedDurability.noteCleanStop(configuration, rev: manifest.rev)
        return outcome.counts
    }
}

/// DATA/seed.json: which bundle the tables began with. A recovery that has only the log goes on from the same one. It is not there when
/// they began otherwise: the log would be added to what it does not follow.
struct SeedRecord: Equatable {
    var digest: [UInt8]
    var rev: UInt64
    /// Milliseconds since 1970.
    var at: Int64

    init(digest: [UInt8], rev: UInt64, at: Int64) { (self.digest, self.rev, self.at) = (digest, rev, at) }

    private static func digits(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    func write(_ configuration: StorageConfiguration) throws(StorageFault) {
        var text = ByteBuffer()
        text.append("{\"format\":1")
        text.append(note: "digest", Self.digits(digest))
        text.append(note: "rev", Int64(rev))
        text.append(note: "at", at)
        text.append("}\n")
        try FileSystem.replace(configuration.seedRecordPath, with: text.bytes, in: configuration.dataDirectory)
    }

    static func remove(_ configuration: StorageConfiguration) throws(StorageFault) {
        guard FileSystem.exists(configuration.seedRecordPath) else { return }
        try FileSystem.remove(configuration.seedRecordPath)
        try FileSystem.syncDirectory(configuration.dataDirectory)
    }

    /// Whether the tables began with that bundle.
    static func names(_ bundle: SeedBundle, _ configuration: StorageConfiguration) -> Bool {
        let text = try? FileSystem.contents(configuration.seedRecordPath, atMost: 4096)
        return text?.withBytes { text in
            guard let note = NoteReader(text) else { return false }
            return note.text("digest") == digits(bundle.digest) && note.rev("rev") == bundle.manifest.rev
        } ?? false
    }
}

extension FileSystem {
    /// A database with all that belongs to it.
    static func removeAll(of database: String) throws(StorageFault) {
        for end in ["", "-wal", "-shm", "-journal"] { try remove(database + end) }
    }
}

/// What a seed bundle was to a start, for `storage.status`.
public struct SeedStatus: Equatable, Sendable {
    public enum State: String, Sendable {
        /// There was data in every store, and the file was not looked at.
        case notNeeded
        case laidDown
        /// A store that is absent began empty.
        case failed
    }

    public var file: String
    /// Stores that this start has laid down: `settings`, `documents`, `models`.
    public var stores: [String] = []
    /// Why what is missing was not laid down; empty when nothing was in the way.
    public var problem = ""

    public var state: State { problem.isEmpty ? stores.isEmpty ? .notNeeded : .laidDown : .failed }
}
