import Glibc
import KuraBytes
import SQLite

/// Relaxed durability: changes of a scope that is configured so are acknowledged at once and synced at most every so many
/// seconds. A power cut may take back what was acknowledged; a kill of the process does not.
///
/// - A transaction whose changes are all in such scopes is relaxed; every other one is strict. Syncs are asked for by strict
///   ones, by the time that the oldest relaxed change may wait, or by an overlay that has to be folded; each covers all.
/// - A scope is relaxed from the moment on when that it is so has been synced: otherwise a power cut could take back the
///   configuration together with changes that were acknowledged under it.
/// - Revisions of lost changes must never be given out again with another meaning. So once a scope has been relaxed, every
///   start after an unclean stop raises the revision counter by a million, durably, before the first reply. That a stop was
///   clean is told by a file with the newest revision, which the next start removes.
package enum RelaxedDurability {
    /// What an unclean stop is taken to have lost at most.
    static let step: UInt64 = 1_000_000
    /// Where it is kept, in `Store.configuration`, that some scope is or was relaxed, and how often the counter was raised.
    static let scopeName = Array("storage".utf8)
    static let key = Array("relaxed".utf8)
    /// The count has this besides while no scope was ever relaxed: then a recovery has raised the counter, and no unclean stop does.
    private static let unrelaxed: UInt64 = 1 << 40
    /// The value of the first note, which raises nothing.
    private static let notedValue = Array("0".utf8)

    /// Notes durably that some scope is or was relaxed, within the transaction that makes it so.
    static func note(_ ledger: Ledger) throws(EngineError) {
        guard !isNoted(ledger) else { return }
        let scope = scopeName.withBytes { ledger.scopes.findOrPrepare(.configuration, $0) }
        let value = notedValue
        let old = key.withBytes { ledger.find(scope, $0) }
        try key.withBytes { (key) throws(EngineError) in
            try value.withBytes { (value) throws(EngineError) in
                try ledger.stage(
                    scope, key: key, value: value, isTombstone: false,
                    old: old, oldBytes: old.map { key.count + $0.value.count } ?? 0, newBytes: key.count + value.count
                ) { _ in }
            }
        }
    }

    static func isNoted(_ ledger: Ledger) -> Bool { raises(ledger).map { $0 < unrelaxed } ?? false }

    /// How often the counter was raised; nil when it never was, and no scope was ever relaxed.
    private static func raises(_ ledger: Ledger) -> UInt64? {
        let scope = scopeName.withBytes { ledger.scopes.find(.configuration, $0) }
        let item = scope.flatMap { scope in key.withBytes { ledger.find(scope, $0) } }
        guard let item, !item.isTombstone else { return nil }
        return UInt64(String(decoding: item.value, as: UTF8.self)) ?? 0
    }

    /// Whether the record raises the counter that stands at `rev`: the one kind behind which revisions are missing rightly.
    package static func raises(_ record: LogRecord, from rev: UInt64) -> Bool { raisedRev(record) == rev }

    /// The revision at which the counter stood that the record raises; nil for a record that raises nothing.
    static func raisedRev(_ record: LogRecord) -> UInt64? {
        guard record.store == .configuration, record.rev >= step, record.scope.elementsEqual(scopeName),
            record.key.elementsEqual(key), !record.value.elementsEqual(notedValue)
        else { return nil }
        return record.rev - step
    }

    /// Raises the revision counter when the last stop may have lost changes that were acknowledged.
    /// `lost`: the newest revision that a recovery knows to have been given out, and has not got back; 0 without.
    /// `isUnknown`: nobody knows which revisions were given out.
    /// - Returns: whether it did.
    static func resume(
        _ configuration: StorageConfiguration, _ ledger: Ledger, _ log: Log, above lost: UInt64 = 0,
        isUnknown: Bool = false
    ) throws(StorageFault) -> Bool {
        // The raise is the feed's first row: whoever has read everything before it goes on with it.
        log.beginFeed(after: ledger.rev, compactedRev: 0)
        let isClean = readCleanStop(configuration) == ledger.rev
        if FileSystem.exists(configuration.cleanStopPath) {
            // It must not be taken for the next stop's.
            try FileSystem.remove(configuration.cleanStopPath)
            try FileSystem.syncDirectory(configuration.dataDirectory)
        }
        guard isNoted(ledger) && !isClean || lost > ledger.rev || isUnknown else { return false }
        // No log has come as far as that bound; what has is damage.
        repeat { try raise(ledger, log) } while ledger.rev < lost && lost < 1 << 40
        let failed = log.takeUnsynced().firstResult { fsync($0.descriptor) == 0 ? nil : $0 }
        if let failed { throw FileSystem.fail("fsync", failed.path) }
        try FileSystem.syncDirectory(configuration.logDirectory)
        CountingVFS.count(role: .log, part: .wal, syncs: 1)
        return true
    }

    private static func raise(_ ledger: Ledger, _ log: Log) throws(StorageFault) {
        let raises = raises(ledger) ?? unrelaxed
        let rev = ledger.rev + step
        let value = Array(String(raises + 1).utf8)
        var records = RecordBuffer()
        let record = { (value: Bytes, key: Bytes, scope: Bytes) in
            LogRecord(
                store: .configuration, isTombstone: false, rev: rev, scope: scope, key: key,
                writer: Bytes(), value: value)
        }
        do {
            try scopeName.withBytes { scope in
                try key.withBytes { key in
                    try value.withBytes { value in
                        let record = record(value, key, scope)
                        records.append(record)
                        log.makeRoom(for: records.count)
                        try log.append(rev: rev, at: ledger.now, records: records.bytes, syncedRev: 0)
                        ledger.replay(resident: record, at: ledger.now)
                    }
                }
            }
        } catch let error as StorageFault {
            throw error
        } catch { throw .damagedLog }
    }

    /// Tells the next start that every revision up to `rev` that was given out is on the disk. When it cannot be told, the
    /// next start raises the counter, which does no harm.
    static func noteCleanStop(_ configuration: StorageConfiguration, rev: UInt64) {
        let path = configuration.cleanStopPath
        do throws(StorageFault) {
            let descriptor = try FileSystem.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW)
            defer { close(descriptor) }
            let text = Array("\(rev)\n".utf8)
            try text.withBytes { (text) throws(StorageFault) in
                try FileSystem.write(descriptor, text, at: 0, path: path, isBilled: true)
            }
            guard fsync(descriptor) == 0 else { throw FileSystem.fail("fsync", path) }
            try FileSystem.syncDirectory(configuration.dataDirectory)
        } catch { FileSystem.tryToRemove(path) }
    }

    static func readCleanStop(_ configuration: StorageConfiguration) -> UInt64? {
        guard let bytes = try? FileSystem.contents(configuration.cleanStopPath, atMost: 32) else { return nil }
        return UInt64(String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self))
    }
}
