import Glibc
import KuraBytes
import SQLite

/// Puts a seed bundle's part of the model cache into its files: when there are no namespaces, before anything is read.
///
/// Entries are stale whatever their times were, and last until somebody has fetched them anew. The main file has either all of them or
/// none: a partition that a kill has left is nobody's until the main file names it.
///
/// Safety: a part of `ModelLoad`, which has one user at a time.
final class ModelSeed: @unchecked Sendable {
    private let path: String
    private let boot: Boot
    private let space: FreeSpace
    private(set) var namespaces = 0
    private(set) var entries = 0
    private(set) var problem: String?
    /// It was laid down, or tried to be.
    private(set) var isTried = false
    private var fault: BackupFault?

    init(_ path: String, _ boot: Boot, _ space: FreeSpace) {
        self.path = path
        self.boot = boot
        self.space = space
    }

    /// Lays it down when there is none of the cache. What goes wrong is told in `problem`, and the cache begins empty.
    func lay(_ files: CacheFiles) {
        guard isAbsent(files) else { return }
        isTried = true
        guard boot.beginsSeeding() else {
            problem = "starts trapped while it was being laid down"
            return
        }
        defer { boot.endsSeeding() }
        do throws(BackupFault) {
            // What caches may not take from the disk a bundle does not give them.
            if space.look() { throw .noSpace }
            let bundle = try SeedBundle(path)
            guard bundle.manifest.models > 0 else { return }
            do throws(SQLiteError) { try lay(bundle, files) } catch { throw fault ?? .tables(.unreadable(error)) }
        } catch {
            (namespaces, entries) = (0, 0)
            problem = error.description
        }
    }

    /// Says what was laid down, or was not.
    func tell() {
        guard isTried else { return }
        boot.hasSeeded(models: entries, namespaces: namespaces, problem: problem)
    }

    /// Whether there is no model cache; what has been dropped, or has never had a namespace, is none.
    private func isAbsent(_ files: CacheFiles) -> Bool {
        guard files.exists(CacheFiles.main) else { return true }
        do throws(SQLiteError) {
            let main = try files.file(CacheFiles.main)
            return try main.connection.scalar("SELECT count(*) FROM model_namespaces") == 0
        } catch { return false }
    }

    private func lay(_ bundle: SeedBundle, _ files: CacheFiles) throws(SQLiteError) {
        let main = try files.file(CacheFiles.main)
        try main.transaction { () throws(SQLiteError) in
            var number: UInt32 = 0
            var file = main
            var partition: ModelBatchOfSeeds?
            var records = RecordGuard(.bundle)
            do throws(BackupFault) {
                try bundle.read { (kind, payload) throws(BackupFault) in
                    guard kind == .models else { return }
                    var position = 0
                    while let next = try records.nextModel(in: payload, at: &position) {
                        do throws(SQLiteError) {
                            switch next {
                            case .namespace(let name, let text):
                                try partition?.finish()
                                number += 1
                                namespaces += 1
                                let configuration = ModelConfiguration(text: text)
                                try Self.statements(of: main).put(namespace: number, name, configuration.text)
                                file = main
                                partition = nil
                                if configuration.isPartition, configuration.persists {
                                    file = try files.file(ModelNamespace.partitionFile(number))
                                    partition = try ModelBatchOfSeeds(file)
                                }
                            case .entry(let entry):
                                guard number > 0 else { throw SQLiteError.damaged("an entry of no namespace") }
                                entries += 1
                                try Self.statements(of: file).put(seed: entry, namespace: number, sequence: entries)
                            }
                        } catch { throw .tables(.unreadable(error)) }
                    }
                }
                do throws(SQLiteError) { try partition?.finish() } catch { throw .tables(.unreadable(error)) }
                _ = FaultPoints.hit(.bundleLay)
            } catch {
                fault = error
                throw SQLiteError.damaged(error.description)
            }
        }
    }

    private static func statements(of file: CacheFile) throws(SQLiteError) -> ModelStatements {
        try file.keep { (connection) throws(SQLiteError) in try ModelStatements(connection) }
    }
}

/// A transaction on a partition's file, undone unless it is finished.
private final class ModelBatchOfSeeds {
    private let file: CacheFile
    private var isOpen = true

    init(_ file: CacheFile) throws(SQLiteError) {
        self.file = file
        try file.connection.execute("BEGIN IMMEDIATE")
    }

    deinit { if isOpen { try? file.connection.execute("ROLLBACK") } }

    func finish() throws(SQLiteError) {
        guard isOpen else { return }
        try file.connection.execute("COMMIT")
        isOpen = false
    }
}

extension ModelStatements {
    fileprivate func put(namespace number: UInt32, _ name: Bytes, _ configuration: [UInt8]) throws(SQLiteError) {
        try configuration.withBytes { (text) throws(SQLiteError) in try put(namespace: Int64(number), name, text) }
    }

    /// An entry that is stale, and stays so until it is fetched. Reads tell entries apart by their sequences.
    fileprivate func put(seed entry: BundleModel.Entry, namespace: UInt32, sequence: Int) throws(SQLiteError) {
        let flags = ModelRow.Flags([.stale, .seeded]).rawValue
        try put(
            namespace: Int64(namespace), entry.key, [Int64(sequence), entry.storedAt, 0, .max, .max, Int64(flags)],
            entry.etag,
            entry.tags, entry.value)
    }
}
