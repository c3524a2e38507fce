public import KuraBytes

/// First results of writes that carried a `requestKey`, so that a write sent again after a lost connection is answered
/// and not done twice.
///
/// A result is kept in the log with the changes it reports: either both survive or neither. Keys belong to the user who
/// sent them. They are kept for a day, and no more of them than the limits allow: the oldest go when new ones come, in the
/// same transaction. A day of the system's clock and of the daemon's own time, whichever is longer: a clock that leaps ahead makes no result old.
/// In memory whole. Belongs to the loop.
public final class RequestKeys {
    private let ledger: Ledger
    /// Tells whether what comes under a known key is the same request.
    public let digests: RequestDigests

    /// Milliseconds for which a result is kept.
    public static let lifetime: Int64 = 86_400_000
    /// Keys of one user.
    public static let countLimit = 100_000
    /// Bytes of keys and results of one user.
    public static let bytesLimit = 16 << 20
    /// Bytes of one result.
    public static let resultLimit = 1 << 20
    /// Bytes of a key.
    public static let keyLimit = 128

    /// Milliseconds since 1970 when this run began, and what has passed since.
    private let startedAt: Int64
    private let elapsed: () -> Int64

    /// `digestKey`: for `RequestDigests`.
    convenience init(ledger: Ledger, digestKey: [UInt8]) {
        let (clock, start) = (ledger.clock, ledger.clock.boottime)
        self.init(ledger: ledger, digestKey: digestKey) { Int64((clock.boottime - start) / 1_000_000) }
    }

    /// `elapsed`: milliseconds since now.
    init(ledger: Ledger, digestKey: [UInt8], elapsed: @escaping () -> Int64) {
        self.ledger = ledger
        self.elapsed = elapsed
        startedAt = ledger.now
        digests = RequestDigests(key: digestKey)
    }

    /// What was recorded under the key; nothing once its day is over.
    /// `user`: whose key it is.
    public func find(_ user: UInt32, _ key: Bytes) -> Lookup {
        let scope = Self.name(of: user).withBytes { ledger.scopes.find(.requests, $0) }
        guard let scope, let item = ledger.find(scope, key), !item.isTombstone, !hasExpired(item)
        else { return Lookup(item: nil, shownRev: 0) }
        return Lookup(item: StoredItem(item), shownRev: item.pointee.rev)
    }

    /// Records a result, within the transaction whose result it is.
    /// `value`: JSON text.
    /// Throws: `.valueTooLarge`, and what staging a change throws.
    public func record(_ user: UInt32, _ key: Bytes, _ value: Bytes, by author: Author) throws(EngineError) {
        guard value.count <= Self.resultLimit else { throw .valueTooLarge(limit: Self.resultLimit) }
        let scope = Self.name(of: user).withBytes { ledger.scopes.findOrPrepare(.requests, $0) }
        let old = ledger.find(scope, key)
        let oldBytes = old.map { $0.isTombstone ? 0 : $0.key.count + $0.value.count } ?? 0
        _ = try ledger.transaction(by: author) { () throws(EngineError) in
            try ledger.stage(
                scope, key: key, value: value, isTombstone: false, old: old, oldBytes: oldBytes,
                newBytes: key.count + value.count
            ) { item in
                // A system's clock that is put back for a while makes no result old either.
                item.pointee.updatedAt = max(item.pointee.updatedAt, startedAt + elapsed())
            }
            try letOldestGo(scope)
        }
    }

    private func letOldestGo(_ scope: Scope) throws(EngineError) {
        var next = scope.members.oldest
        while let item = next {
            next = item.pointee.newer
            if item.isTombstone { continue }
            guard hasExpired(item) || scope.count > Self.countLimit || scope.bytes > Self.bytesLimit else { return }
            // What has just been recorded stays.
            guard item.pointee.rev <= ledger.rev else { return }
            try ledger.stage(
                scope, key: item.key, value: Bytes(), isTombstone: true, old: item,
                oldBytes: item.key.count + item.value.count, newBytes: 0
            ) { _ in }
        }
    }

    private func hasExpired(_ item: ItemRef) -> Bool {
        guard ledger.now - item.pointee.updatedAt >= Self.lifetime else { return false }
        return startedAt + elapsed() - item.pointee.updatedAt >= Self.lifetime
    }

    private static func name(of user: UInt32) -> [UInt8] { Array(String(user).utf8) }
}
