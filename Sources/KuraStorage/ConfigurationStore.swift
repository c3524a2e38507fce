import Glibc
public import KuraBytes

/// What rooms keep about their scopes: registered defaults, schemas, durability. Few and small, and written through the log
/// like a setting: durable, part of a transaction, counted by the global revision, in memory whole. Feeds do not show it.
///
/// The items about the scope `app` of the settings lie in the scope `settings/app` of `Store.configuration`. Writing what is
/// there changes nothing. Belongs to the loop.
public final class ConfigurationStore {
    private let ledger: Ledger

    /// Bytes of one item's value.
    public static let valueLimit = 1 << 20
    /// Bytes of all items, keys included.
    public static let totalLimit = 64 << 20

    init(ledger: Ledger) {
        self.ledger = ledger
        for scope in ledger.scopes.all where scope.store == .configuration { ledger.noteConfiguration(scope) }
    }

    // MARK: Reading

    public func get(_ room: Store, _ name: Bytes, _ key: StaticString) -> Lookup {
        guard let scope = find(room, name), let item = ledger.find(scope, key.bytes) else {
            return Lookup(item: nil, shownRev: 0)
        }
        return Lookup(item: item.isTombstone ? nil : StoredItem(item), shownRev: item.pointee.rev)
    }

    /// Revision of the last change of what is configured for a scope; 0 when nothing ever was.
    public func rev(_ room: Store, _ name: Bytes) -> UInt64 { find(room, name)?.lastRev ?? 0 }

    /// - Throws: `.conflict` when what is configured for a scope has been changed since the caller read it.
    public func check(_ condition: Precondition, _ room: Store, _ name: Bytes) throws(EngineError) {
        let current = rev(room, name)
        if let condition, condition != current { throw .conflict(currentRev: current) }
    }

    // MARK: Writing

    /// `value`: JSON text.
    /// Throws: `.valueTooLarge`, `.quotaExceeded`, and what staging a change throws.
    public func put(
        _ room: Store, _ name: Bytes, _ key: StaticString, _ value: Bytes, by author: Author
    ) throws(EngineError) -> WriteResult {
        guard value.count <= Self.valueLimit else { throw .valueTooLarge(limit: Self.valueLimit) }
        let scope = Self.fullName(room, name).withBytes { ledger.scopes.findOrPrepare(.configuration, $0) }
        let old = ledger.find(scope, key.bytes)
        if let old, !old.isTombstone, old.value.equals(value) {
            ledger.countNoOp(.settings, by: author)
            return WriteResult(rev: old.pointee.rev, changed: 0)
        }
        let oldBytes = old.map { $0.isTombstone ? 0 : $0.key.count + $0.value.count } ?? 0
        let newBytes = key.bytes.count + value.count
        guard newBytes <= oldBytes || bytes + newBytes - oldBytes <= Self.totalLimit else {
            throw .quotaExceeded(limit: Self.totalLimit)
        }
        // The room's scope leads its readers here: it comes to be with the first item.
        let subject = ledger.scopes.findOrPrepare(room, name)
        guard ledger.scopes.hasRoom(for: (scope.isInTable ? 0 : 1) + (subject.isInTable ? 0 : 1)) else {
            throw .quotaExceeded(limit: ScopeTable.limit)
        }
        try subject.admit(bytes: 0, items: 0, for: author.accounts)
        let rev = try ledger.transaction(by: author) { () throws(EngineError) in
            try ledger.stage(
                scope, key: key.bytes, value: value, isTombstone: false, old: old, oldBytes: oldBytes,
                newBytes: newBytes
            ) { _ in }
        }
        return WriteResult(rev: rev ?? 0, changed: 1)
    }

    public func delete(
        _ room: Store, _ name: Bytes, _ key: StaticString, by author: Author
    ) throws(EngineError) -> WriteResult {
        guard let scope = find(room, name), let old = ledger.find(scope, key.bytes), !old.isTombstone else {
            ledger.countNoOp(.settings, by: author)
            return WriteResult(rev: find(room, name)?.lastRev ?? 0, changed: 0)
        }
        let rev = try ledger.transaction(by: author) { () throws(EngineError) in
            try ledger.stage(
                scope, key: key.bytes, value: Bytes(), isTombstone: true, old: old,
                oldBytes: old.key.count + old.value.count, newBytes: 0
            ) { _ in }
        }
        return WriteResult(rev: rev ?? 0, changed: 1)
    }

    /// Puts the value, or takes the item away when it is `null` or empty.
    public func set(
        _ room: Store, _ name: Bytes, _ key: StaticString, _ value: Bytes, by author: Author
    ) throws(EngineError) {
        if value.isEmpty || value.equals("null") {
            _ = try delete(room, name, key, by: author)
        } else {
            _ = try put(room, name, key, value, by: author)
        }
    }

    /// Takes away everything that is configured for a scope.
    func deleteAll(_ room: Store, _ name: Bytes, by author: Author) throws(EngineError) {
        guard let scope = find(room, name) else { return }
        var next = scope.members.oldest
        var items: [ItemRef] = []
        while let item = next {
            if !item.isTombstone { items.append(item) }
            next = item.pointee.newer
        }
        _ = try ledger.transaction(by: author) { () throws(EngineError) in
            for old in items {
                try ledger.stage(
                    scope, key: old.key, value: Bytes(), isTombstone: true, old: old,
                    oldBytes: old.key.count + old.value.count, newBytes: 0
                ) { _ in }
            }
        }
    }

    // MARK: Schemas and defaults

    /// Keys of a scope's schema, and of what becomes of values that break it: a `SchemaMode`.
    public static let schema: StaticString = "schema"
    public static let mode: StaticString = "mode"
    /// Key of a domain's registered defaults, an object: values by key.
    public static let defaults: StaticString = "defaults"

    // MARK: What ages out

    /// Keys of the days that a collection's tombstones and documents are kept; absent when for ever.
    public static let tombstoneDays: StaticString = "tombstoneDays"
    public static let retainDays: StaticString = "retainDays"

    // MARK: History

    /// Key of what a collection keeps of what its documents were, a `HistoryRule`; absent for nothing.
    public static let history: StaticString = "history"

    static func isHistory(_ key: Bytes) -> Bool { key.equals(history.bytes) }

    // MARK: Indexes

    /// Key of a collection's indexes: the list of `IndexDefinition`s.
    public static let indexes: StaticString = "indexes"

    /// Key of what a collection's documents refer to: the list of `ReferenceDefinition`s.
    public static let references: StaticString = "references"

    /// Key of whether a domain or collection belongs into backups: `true` or `false`. Earlier versions have kept a `conflictPolicy`, which is passed over.
    public static let backup: StaticString = "backup"

    /// Keys of what the tables go by: they are told of its changes, and made with it.
    static let toldToTables = [indexes, search, history]

    // MARK: Migrations

    /// Keys of a collection's version, of the migrations that led there, and of how far the one is that is under way.
    static let version: StaticString = "version"
    static let migrations: StaticString = "migrations"
    static let migration: StaticString = "migration"

    static func isProgress(_ key: Bytes) -> Bool { key.equals(migration.bytes) }

    // MARK: Search

    /// Key of how a collection is searched, a `SearchDefinition`.
    public static let search: StaticString = "search"

    static func isSearch(_ key: Bytes) -> Bool { key.equals(search.bytes) }

    // MARK: Durability

    /// Key of the seconds after which changes are synced; absent when they are durable before they are acknowledged.
    static let durability: StaticString = "durability"
    /// Seconds to flush when nobody says.
    public static let standardFlushSeconds = 5

    /// Seconds after which a scope's changes are synced at the latest; nil when they are durable before they are acknowledged.
    public func flushSeconds(_ room: Store, _ name: Bytes) -> Int? {
        get(room, name, Self.durability).item.flatMap { ConfiguredValue.flushSeconds($0.value) }
    }

    /// `flushSeconds`: nil for changes that are durable before they are acknowledged.
    public func setDurability(
        _ room: Store, _ name: Bytes, flushSeconds: Int?, by author: Author
    ) throws(EngineError) {
        guard let flushSeconds else {
            _ = try delete(room, name, Self.durability, by: author)
            return
        }
        let text = Array(String(flushSeconds).utf8)
        _ = try ledger.transaction(by: author) { () throws(EngineError) in
            try RelaxedDurability.note(ledger)
            try text.withBytes { (text) throws(EngineError) in
                _ = try put(room, name, Self.durability, text, by: author)
            }
        }
    }

    /// Bytes of keys and values of all items.
    public var bytes: Int {
        ledger.scopes.all.reduce(0) { $0 + ($1.store == .configuration ? $1.bytes : 0) }
    }

    private func find(_ room: Store, _ name: Bytes) -> Scope? {
        Self.fullName(room, name).withBytes { ledger.scopes.find(.configuration, $0) }
    }

    private static func fullName(_ room: Store, _ name: Bytes) -> [UInt8] {
        Array(room.roomName.utf8) + [UInt8(ascii: "/")] + Array(name)
    }
}

/// What the server has made of a scope's configuration and keeps with the scope, so that a look-up finds it without another.
/// A scope without one has nothing configured.
public final class ScopeAnnex {
    /// The configuration has changed since `reading` was made, or the change was taken back.
    public private(set) var isStale = true
    /// What was read; of one type for a room.
    public private(set) var reading: AnyObject?

    public func keep(_ reading: AnyObject) {
        self.reading = reading
        isStale = false
    }

    public func invalidate() { isStale = true }
}

extension StaticString {
    fileprivate var bytes: Bytes { Bytes(self) }
}

extension RecordRules {
    static var ofConfiguration: RecordRules {
        RecordRules(
            isScope: ConfiguredValue.isScope(_:isKnownOnly:),
            check: { (record, isKnownOnly) throws(RecordUnfit) in
                try ConfiguredValue.check(record.value, of: record.scope, record.key, isKnownOnly: isKnownOnly)
            })
    }
}
