import Glibc
import KuraBytes
import SQLite

/// The model cache's part of a seed bundle: what its files have that somebody would be shown, without what came from a bundle.
///
/// Made on the loop, then one thread's. What was put before is in the files when the cache thread has come to `CacheBarrier`; what is only
/// in memory (`persist: false`, scratch) is nowhere else.
final class BundledModels: @unchecked Sendable {
    private let configuration: StorageConfiguration
    private let selection: BackupSelection
    private let barrier = CacheBarrier()
    private let clock: Int64
    private(set) var namespaces = 0
    private(set) var entries = 0
    private var records = ByteBuffer()

    /// Entries of one look-up.
    private static let piece = 64

    init(_ selection: BackupSelection, _ storage: isolated Storage) {
        configuration = storage.configuration
        self.selection = selection
        clock = storage.caches.clock
        storage.models.sendAll()
        if !storage.caches.writer.submit(barrier) { barrier.done.signal() }
    }

    /// Writes all of them.
    func write(to writer: BackupWriter, isCancelled: () -> Bool) throws(BackupFault) {
        while !barrier.done.wait(until: configuration.clock.deadline(milliseconds: 20)) {
            if isCancelled() { throw .cancelled }
        }
        let main = configuration.cacheDirectory + "/" + CacheFiles.main
        guard FileSystem.size(main) > 0 else { return }
        do throws(SQLiteError) {
            let connection = try open(main)
            defer { connection.close() }
            let select = try connection.prepare(
                "SELECT number, name, configuration FROM model_namespaces ORDER BY name")
            var found: [(number: Int64, name: [UInt8], text: [UInt8])] = []
            while try select.step() {
                found.append((select.int64(0), Array(select.bytes(1)), Array(select.bytes(2))))
            }
            for space in found where space.name.withBytes({ selection.contains(namespace: $0) }) {
                let settled = space.text.withBytes { ModelConfiguration(text: $0) }
                let marks = try BundledMarks(connection, namespace: space.number)
                guard settled.isPartition else {
                    try write(space, marks, connection, writer, isCancelled)
                    continue
                }
                let path =
                    configuration.cacheDirectory + "/"
                    + ModelNamespace.partitionFile(UInt32(truncatingIfNeeded: space.number))
                guard FileSystem.size(path) > 0 else { continue }
                let partition = try open(path)
                defer { partition.close() }
                try write(space, marks, partition, writer, isCancelled)
            }
        } catch { throw fault ?? .tables(.unreadable(error)) }
        try flush(writer)
    }

    /// Kept while it passes through what throws `SQLiteError`.
    private var fault: BackupFault?

    private func open(_ path: String) throws(SQLiteError) -> Connection {
        let connection = try Connection(path: path, mode: .readOnly)
        try connection.setBusyTimeout(milliseconds: 5000)
        return connection
    }

    private func write(
        _ space: (number: Int64, name: [UInt8], text: [UInt8]), _ marks: BundledMarks, _ connection: Connection,
        _ writer: BackupWriter, _ isCancelled: () -> Bool
    ) throws(SQLiteError) {
        let next = try connection.prepare(
            """
            SELECT key, sequence, storedAt, staleUntil, errorUntil, flags, etag, tags, value
            FROM model_heads JOIN model_values USING(namespace, key)
            WHERE namespace = ?1 AND key > ?2 ORDER BY key LIMIT \(Self.piece)
            """)
        var after: [UInt8] = []
        var isBegun = false
        var found = 0
        repeat {
            found = 0
            let from = after
            try from.withBytes { (from) throws(SQLiteError) in
                try next.bind(1, space.number)
                try next.bind(2, bytes: from)
                while try next.step() {
                    found += 1
                    after = Array(next.bytes(0))
                    let flags = ModelRow.Flags(rawValue: UInt8(truncatingIfNeeded: next.int64(5)))
                    let end = flags.contains(.failed) ? max(next.int64(3), next.int64(4)) : next.int64(3)
                    let sequence = UInt64(truncatingIfNeeded: next.int64(1))
                    guard !flags.contains(.seeded), clock < end,
                        !marks.haveDropped(next.bytes(0), tags: next.bytes(7), since: sequence)
                    else { continue }
                    if !isBegun {
                        isBegun = true
                        namespaces += 1
                        space.name.withBytes { name in
                            space.text.withBytes { text in
                                BundleModel.namespace(name: name, configuration: text).append(to: &records)
                            }
                        }
                    }
                    entries += 1
                    let entry = BundleModel.Entry(
                        storedAt: next.int64(2), key: next.bytes(0), etag: next.bytes(6), tags: next.bytes(7),
                        value: next.bytes(8))
                    BundleModel.entry(entry).append(to: &records)
                    guard records.count >= BackupFormat.chunkBytes else { continue }
                    do throws(BackupFault) { try flush(writer) } catch {
                        fault = error
                        throw SQLiteError.damaged("")
                    }
                }
            }
            next.reset()
            if isCancelled() {
                fault = .cancelled
                throw SQLiteError.damaged("")
            }
        } while found == Self.piece
    }

    private func flush(_ writer: BackupWriter) throws(BackupFault) {
        guard !records.isEmpty else { return }
        try writer.write(.models) { $0.append(records.bytes) }
        records.removeAll()
        if records.capacity > 4 * BackupFormat.chunkBytes { records = ByteBuffer() }
    }
}

/// What of a namespace has been invalidated so that it is gone, as the main file has it.
private struct BundledMarks {
    private var whole: UInt64 = 0
    private var tags: [[UInt8]: UInt64] = [:]
    private var prefixes: [[UInt8]: UInt64] = [:]

    init(_ connection: Connection, namespace: Int64) throws(SQLiteError) {
        let select = try connection.prepare("SELECT kind, name, dropBefore FROM model_marks WHERE namespace = ?1")
        try select.bind(1, namespace)
        while try select.step() {
            let (name, before) = (Array(select.bytes(1)), UInt64(truncatingIfNeeded: select.int64(2)))
            switch select.int64(0) {
            case 1: tags[name] = before
            case 2: prefixes[name] = before
            default: whole = max(whole, before)
            }
        }
    }

    func haveDropped(_ key: Bytes, tags names: Bytes, since sequence: UInt64) -> Bool {
        if whole > sequence { return true }
        if prefixes.contains(where: { $0.value > sequence && key.starts(with: $0.key) }) { return true }
        var position = 0
        while !tags.isEmpty, position < names.count {
            let end = min(position + 1 + Int(names[position]), names.count)
            if tags[Array(names.extracting(position + 1..<end))] ?? 0 > sequence { return true }
            position = end
        }
        return false
    }
}

/// Tells when the cache thread has done what was submitted before.
final class CacheBarrier: CacheJob {
    let done = Semaphore()

    func run(_ files: CacheFiles) { done.signal() }
}
