import KuraBytes
import SQLite

/// Walks over the tables by key, in snapshots that are given up after 200 ms or 32 MiB of WAL, and writes between them. One thread's.
final class BackupWalk {
    private let tables: TableReader
    private let statements: WalkStatements
    private let extent: BackupExtent
    private let contents: BackupContents
    private let hasSecrets: Bool
    private var scopes: (rev: UInt64, byNumber: [UInt32: (store: Store, name: [UInt8])]) = (.max, [:])
    /// The revision of the last snapshot.
    private var rev: UInt64 = 0
    private var done = 0
    /// Rows of the tables that have no place in a seed bundle.
    private var passed = 0
    /// The records that the last snapshot has read.
    private var slice = ByteBuffer()

    /// Bytes that are gathered in one snapshot, about.
    private static let sliceBytes = 1 << 20

    init(
        _ configuration: StorageConfiguration, _ extent: BackupExtent, _ contents: BackupContents, hasSecrets: Bool,
        _ isCancelled: @escaping @Sendable () -> Bool
    ) throws(BackupFault) {
        (self.extent, self.contents, self.hasSecrets) = (extent, contents, hasSecrets)
        do throws(EngineError) { tables = try TableReader(configuration, isCancelled: isCancelled) } catch {
            throw BackupFault(error)
        }
        do throws(SQLiteError) { statements = try WalkStatements(tables.connection) } catch {
            throw BackupFault(.unreadable(error))
        }
    }

    /// `progress`: told items that are done.
    /// - Returns: the revision of the last snapshot.
    func run(
        to writer: BackupWriter, _ sealed: BackupSecrets?, _ progress: (Int) -> Void
    ) throws(BackupFault) -> UInt64 {
        for part in [WalkStatements.Part.resident, .rows] {
            var isAtEnd = false
            while !isAtEnd {
                do throws(EngineError) { isAtEnd = try gather(part) } catch { throw BackupFault(error) }
                try write(to: writer, sealed)
                progress(done)
            }
        }
        return rev
    }

    /// Takes in what one snapshot shows.
    /// - Returns: whether no row of the part is left.
    private func gather(_ part: WalkStatements.Part) throws(EngineError) -> Bool {
        var isAtEnd = false
        try tables.snapshot { (snapshot) throws(SQLiteError) in
            rev = max(rev, snapshot.rev)
            try learnScopes(snapshot)
            isAtEnd = try statements.step(part) { (id, record) throws(SQLiteError) in take(id, record, snapshot) }
        }
        return isAtEnd
    }

    private func learnScopes(_ snapshot: TableReader.Snapshot) throws(SQLiteError) {
        guard scopes.rev != snapshot.rev else { return }
        let select = try tables.connection.prepare("SELECT id, store, name FROM scopes")
        var byNumber: [UInt32: (store: Store, name: [UInt8])] = [:]
        while try select.step() {
            guard let store = Store(rawValue: UInt8(select.int64(1))) else { continue }
            byNumber[UInt32(select.int64(0))] = (store, Array(select.bytes(2)))
        }
        scopes = (snapshot.rev, byNumber)
    }

    /// Takes a row in.
    private func take(
        _ id: UInt32, _ found: BackupRecord, _ snapshot: TableReader.Snapshot
    ) -> WalkStatements.Step {
        // Dropped, or not asked for: all of it is passed over at once.
        guard let scope = scopes.byNumber[id] else { return .skipScope }
        let isMeant = scope.name.withBytes { extent.takes(scope.store, $0) }
        guard isMeant, !scope.store.isSealed || hasSecrets else { return .skipScope }
        var record = found
        record.store = scope.store
        guard extent.takes(record) else {
            passed += 1
            return passed % 1024 == 0 && snapshot.isStale ? .takeAndStop : .take
        }
        if slice.count + record.length > Self.sliceBytes, !slice.isEmpty { return .stop }
        scope.name.withBytes { name in
            record.scope = name
            record.append(to: &slice)
            extent.note(record)
            contents.note(record)
        }
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
}
