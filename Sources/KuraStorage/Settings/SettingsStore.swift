import Glibc
public import KuraBytes

/// Settings: small values by domain and key, in memory whole, durable through the log.
///
/// Writing the value that is there changes nothing and costs no disk. The quotas are per value and over all domains;
/// going over one touches no other key. Belongs to the loop.
public final class SettingsStore {
    private let ledger: Ledger
    /// Bytes of keys and values in all domains.
    public private(set) var bytes = 0
    public private(set) var count = 0

    public static let valueLimit = 1 << 20
    public static let totalLimit = 64 << 20

    init(ledger: Ledger) {
        self.ledger = ledger
        recount()
    }

    /// Takes the sums from the domains anew: after loading, and after changes were taken back.
    func recount() {
        let domains = ledger.scopes.all.filter { $0.store == .settings }
        bytes = domains.reduce(0) { $0 + $1.bytes }
        count = domains.reduce(0) { $0 + $1.count }
    }

    /// The sums as they are, for taking a transaction back.
    var sums: (bytes: Int, count: Int) {
        get { (bytes, count) }
        set { (bytes, count) = newValue }
    }

    // MARK: Reading

    public func get(_ domain: Bytes, _ key: Bytes) -> Lookup {
        guard let scope = ledger.scopes.find(.settings, domain) else { return Lookup(item: nil, shownRev: 0) }
        guard let item = ledger.find(scope, key) else { return Lookup(item: nil, shownRev: 0, annex: scope.annex) }
        return Lookup(
            item: item.isTombstone ? nil : StoredItem(item), shownRev: item.pointee.rev, annex: scope.annex,
            isRelaxed: item.isRelaxed)
    }

    /// What is configured for a domain; nil when nothing is.
    public func annex(_ domain: Bytes) -> ScopeAnnex? { ledger.scopes.find(.settings, domain)?.annex }

    /// The same, made when there is none: for what is configured outside of the storage. Nil when there are too many scopes.
    public func annex(making domain: Bytes) -> ScopeAnnex? {
        guard let scope = ledger.scopes.findOrMake(.settings, domain) else { return nil }
        if scope.annex == nil { scope.annex = ScopeAnnex() }
        scope.isPinned = true
        return scope.annex
    }

    /// Calls `body` for the domain's settings in the order of their keys' bytes, from the first key that starts with
    /// `prefix` and follows `afterKey`, until it returns false.
    /// - Returns: the revision that the answer gives away.
    public func list(
        _ domain: Bytes, prefix: Bytes, afterKey: [UInt8]?, _ body: (StoredItem) -> Bool
    ) -> UInt64 {
        guard let afterKey else { return list(domain, prefix: prefix, after: nil, body) }
        return afterKey.withBytes { list(domain, prefix: prefix, after: $0, body) }
    }

    func list(_ domain: Bytes, prefix: Bytes, after: Bytes?, _ body: (StoredItem) -> Bool) -> UInt64 {
        guard let scope = ledger.scopes.find(.settings, domain) else { return 0 }
        let members = scope.sortedMembers()
        let start = after.map { $0.precedes(prefix) ? prefix : $0 } ?? prefix
        var position = members.lowerBound(of: start)
        while let item = members[position] {
            members.advance(&position)
            if let after, !after.precedes(item.key) { continue }
            guard item.key.starts(with: prefix), body(StoredItem(item)) else { break }
        }
        return scope.lastRev
    }

    public func count(_ domain: Bytes) -> (count: Int, shownRev: UInt64) {
        guard let scope = ledger.scopes.find(.settings, domain) else { return (0, 0) }
        return (scope.count, scope.lastRev)
    }

    public func scopes() -> [ScopeSummary] { ledger.summaries(.settings) }

    // MARK: Writing

    /// Writes one setting.
    /// `value`: JSON text without white space between its tokens.
    public func put(
        _ domain: Bytes, _ key: Bytes, _ value: Bytes, ifRev: Precondition, by author: Author
    ) throws(EngineError) -> WriteResult {
        let scope = ledger.scopes.findOrPrepare(.settings, domain)
        let old = ledger.find(scope, key)
        try ledger.checkOnce(old)
        try ledger.check(ifRev, old)
        if let old, !old.isTombstone, old.value.equals(value) {
            ledger.countNoOp(.settings, by: author)
            return WriteResult(rev: old.pointee.rev, changed: 0, isRelaxed: old.isRelaxed)
        }
        let rev = try ledger.transaction(by: author) { () throws(EngineError) in
            try stage(scope, key, value, old)
        }
        return WriteResult(rev: rev ?? 0, changed: 1, isRelaxed: ledger.isRelaxed(scope))
    }

    public func delete(
        _ domain: Bytes, _ key: Bytes, ifRev: Precondition, by author: Author
    ) throws(EngineError) -> WriteResult {
        let scope = ledger.scopes.find(.settings, domain)
        let old = scope.flatMap { ledger.find($0, key) }
        try ledger.checkOnce(old)
        try ledger.check(ifRev, old)
        guard let scope, let old, !old.isTombstone else {
            ledger.countNoOp(.settings, by: author)
            // That the key is absent may itself be news that is not synced yet.
            return WriteResult(rev: old?.pointee.rev ?? 0, changed: 0, isRelaxed: old?.isRelaxed ?? false)
        }
        let rev = try ledger.transaction(by: author) { () throws(EngineError) in
            try stageDeletion(scope, key, old)
        }
        return WriteResult(rev: rev ?? 0, changed: 1, isRelaxed: ledger.isRelaxed(scope))
    }

    /// A transaction over one domain: calls `body` with the domain opened for changes.
    /// `ifRev`: the domain must not have changed since.
    public func putMany(
        _ domain: Bytes, ifRev: Precondition, by author: Author, _ body: (inout Batch) throws(EngineError) -> Void
    ) throws(EngineError) -> WriteResult {
        let scope = ledger.scopes.findOrPrepare(.settings, domain)
        // Within a transaction the domain may have a revision that is not given out yet.
        if let ifRev, scope.lastRev > ifRev { throw .conflict(currentRev: min(scope.lastRev, ledger.rev)) }
        var batch = Batch(store: self, scope: scope)
        let rev = try ledger.transaction(by: author) { () throws(EngineError) in
            do throws(EngineError) { try body(&batch) } catch {
                bytes -= batch.bytesAdded
                count -= batch.countAdded
                throw error
            }
        }
        if rev == nil { ledger.countNoOp(.settings, by: author) }
        // Who asks for nothing is not told when the domain changed last.
        let unchanged = batch.asked == 0 ? ledger.rev : scope.lastRev
        return WriteResult(rev: rev ?? unchanged, changed: batch.changed, isRelaxed: ledger.isRelaxed(scope))
    }

    public struct Batch {
        fileprivate let store: SettingsStore
        fileprivate let scope: Scope
        fileprivate var asked = 0
        fileprivate var changed = 0
        fileprivate var bytesAdded = 0
        fileprivate var countAdded = 0

        /// - Throws: `.duplicate` when the key was put or deleted before in this transaction.
        public mutating func put(_ key: Bytes, _ value: Bytes) throws(EngineError) {
            asked += 1
            let old = store.ledger.find(scope, key)
            try store.ledger.checkOnce(old)
            if let old, !old.isTombstone, old.value.equals(value) { return }
            let before = (bytes: store.bytes, count: store.count)
            try store.stage(scope, key, value, old)
            note(since: before)
        }

        /// - Throws: `.duplicate` when the key was put or deleted before in this transaction.
        public mutating func delete(_ key: Bytes) throws(EngineError) {
            asked += 1
            let old = store.ledger.find(scope, key)
            try store.ledger.checkOnce(old)
            guard let old, !old.isTombstone else { return }
            let before = (bytes: store.bytes, count: store.count)
            try store.stageDeletion(scope, key, old)
            note(since: before)
        }

        private mutating func note(since before: (bytes: Int, count: Int)) {
            changed += 1
            bytesAdded += store.bytes - before.bytes
            countAdded += store.count - before.count
        }
    }

    /// Adds to an integer setting.
    /// `initial`: what an absent setting counts as. `check`: sees the sum's text before it is written, and may refuse it.
    public func increment(
        _ domain: Bytes, _ key: Bytes, by step: Int64, initial: Int64, author: Author,
        check: (Bytes) throws(EngineError) -> Void = { (_) throws(EngineError) in }
    ) throws(SettingsError) -> (value: Int64, result: WriteResult) {
        let scope = ledger.scopes.findOrPrepare(.settings, domain)
        let old = ledger.find(scope, key)
        var current = initial
        if let old, !old.isTombstone {
            guard let number = Self.integer(old.value) else { throw .typeMismatch }
            current = number
        }
        let (sum, overflow) = current.addingReportingOverflow(step)
        guard !overflow, sum.magnitude <= 9_007_199_254_740_991 else { throw .outOfRange }
        let digits = Array(String(sum).utf8)
        do throws(EngineError) {
            let result = try digits.withBytes { (utf8) throws(EngineError) in
                try check(utf8)
                return try put(domain, key, utf8, ifRev: nil, by: author)
            }
            return (sum, result)
        } catch { throw .engine(error) }
    }

    /// The integer that a value's text is; nil for anything else.
    private static func integer(_ text: Bytes) -> Int64? {
        Int64(String(decoding: text, as: UTF8.self)).flatMap { text.first == UInt8(ascii: "+") ? nil : $0 }
    }

    private func stage(_ scope: Scope, _ key: Bytes, _ value: Bytes, _ old: ItemRef?) throws(EngineError) {
        guard value.count <= Self.valueLimit else { throw .valueTooLarge(limit: Self.valueLimit) }
        let wasPresent = old.map { !$0.isTombstone } ?? false
        let oldBytes = wasPresent ? old!.key.count + old!.value.count : 0
        let newBytes = key.count + value.count
        guard newBytes <= oldBytes || bytes + newBytes - oldBytes <= Self.totalLimit else {
            throw .quotaExceeded(limit: Self.totalLimit)
        }
        try ledger.stage(
            scope, key: key, value: value, isTombstone: false, old: old, oldBytes: oldBytes, newBytes: newBytes
        ) { _ in }
        bytes += newBytes - oldBytes
        if !wasPresent { count += 1 }
    }

    private func stageDeletion(_ scope: Scope, _ key: Bytes, _ old: ItemRef) throws(EngineError) {
        let oldBytes = old.key.count + old.value.count
        try ledger.stage(
            scope, key: key, value: Bytes(), isTombstone: true, old: old, oldBytes: oldBytes,
            newBytes: 0
        ) { _ in }
        bytes -= oldBytes
        count -= 1
    }
}

extension Recovery {
    /// The settings of the tables and the log together.
    var settings: SettingsStore { SettingsStore(ledger: ledger) }
}
