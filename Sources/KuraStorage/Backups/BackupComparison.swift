import Glibc
import KuraBytes
import SQLite
import Sodium

/// What a restore of a backup would change of the settings, documents and attachments that a running daemon has, item by item.
///
/// The backup is read to its end, and tables are made of it in DATA/tmp with a digest in each value's place. Then both sides are walked by
/// key, scope by scope; the daemon's in short snapshots, so it is as of no one revision while others write. Secrets are sealed on both
/// sides, and are not compared, nor is what scopes are configured to be.
public struct BackupComparison: Sendable {
    public enum Change: String, Sendable {
        /// Only the backup has it.
        case added
        case changed
        /// Only the daemon has it.
        case removed
    }

    public struct Counts: Sendable, Equatable {
        public var added = 0
        public var changed = 0
        public var removed = 0

        var isZero: Bool { self == Counts() }

        fileprivate mutating func count(_ change: Change) {
            switch change {
            case .added: added += 1
            case .changed: changed += 1
            case .removed: removed += 1
            }
        }
    }

    /// What is different in a domain or collection.
    public struct Scope: Sendable {
        /// `settings`, `documents` or `attachments`.
        public var store: String
        public var name: [UInt8]
        public var counts = Counts()
        /// The first of them.
        public var examples: [(key: [UInt8], change: Change)] = []
    }

    public struct Outcome: Sendable {
        public var manifest: BackupManifest
        public var origin: BackupOrigin
        /// Of all scopes.
        public var counts = Counts()
        /// Items that are the same.
        public var same = 0
        /// How many scopes have differences, and the first of them.
        public var differing = 0
        public var scopes: [Scope] = []
    }

    /// Scopes and examples that are told, of all together.
    public static let scopeLimit = 1000
    public static let exampleLimit = 10_000

    private let configuration: StorageConfiguration
    private let selection: BackupSelection
    private let examples: Int

    /// Bytes of the backup behind which the room that is left is looked at.
    private static let lookBytes = 8 << 20
    private static let stores = Store.all(.comparable)

    /// `examples`: of differences, a scope.
    public init(_ selection: BackupSelection, examples: Int, _ configuration: StorageConfiguration) {
        self.selection = selection
        self.examples = examples
        self.configuration = configuration
    }

    /// Reads all of the backup, then compares. On a thread that may wait; the tables must have what it is to be compared with.
    /// Throws: why the backup is refused.
    public func run(
        _ descriptor: Int32, _ opener: BackupOpener, isCancelled: @escaping @Sendable () -> Bool
    ) throws(BackupFault) -> Outcome {
        let scratch = try DraftDirectory.scratch(configuration, prefix: "compare-")
        defer { scratch.discard() }
        let path = scratch.path + "/kura.sqlite"
        let (manifest, origin) = try makeTables(path, descriptor, opener, isCancelled)
        var outcome = Outcome(manifest: manifest, origin: origin)
        do throws(EngineError) {
            // What the backup was asked to have is all that it says something about.
            let covered: BackupSelection
            do throws(BackupFault) { covered = try BackupSelection(manifest.include) } catch {
                covered = BackupSelection()
            }
            let live = try TableReader(configuration, isCancelled: isCancelled)
            let kept: Connection
            do throws(SQLiteError) { kept = try Connection(path: path, mode: .readOnly) } catch {
                throw .unreadable(error)
            }
            defer { kept.close() }
            try compare(live, kept, covered, isCancelled, &outcome)
        } catch { throw BackupFault(error) }
        return outcome
    }

    // MARK: The backup's side

    private func makeTables(
        _ path: String, _ descriptor: Int32, _ opener: BackupOpener, _ isCancelled: () -> Bool
    ) throws(BackupFault) -> (BackupManifest, BackupOrigin) {
        let reader = try BackupReader(descriptor, path: "", opener)
        let tables = try RestoredTables(path, cacheKibibytes: 4 << 10, transactionBytes: 1 << 20)
        let space = FreeSpace(directory: configuration.dataDirectory, minimum: configuration.caches.minFreeBytes)
        var records = RecordGuard(.backup)
        var whole = FileGuard()
        var lookAt = 0
        var manifest: BackupManifest?
        while let (kind, payload) = try reader.next() {
            if isCancelled() { throw .cancelled }
            if reader.bytesRead >= lookAt {
                lookAt = reader.bytesRead + Self.lookBytes
                // To know is not worth the change that finds no room.
                if space.look() { throw .noSpace }
            }
            if kind == .manifest { manifest = try BackupManifest(checking: payload) }
            if kind == .content { try whole.take(payload, part: reader.part) }
            guard kind == .records else { continue }
            var position = 0
            while let judged = try records.next(in: payload, at: &position) {
                let record = judged.record
                whole.note(judged)
                guard Self.stores.contains(record.store), selection.contains(record.store, record.scope) else {
                    continue
                }
                try Self.digest(record.value).withBytes { (digest) throws(BackupFault) in
                    try tables.apply(judged.replacing(value: digest))
                }
            }
        }
        guard let manifest else { throw .truncated }
        try whole.finish(manifest, records)
        try tables.checkLists()
        try tables.finish(LogHistory(epoch: manifest.epoch), rev: manifest.rev)
        return (manifest, reader.origin)
    }

    /// As digits, since it takes the place of a text.
    private static func digest(_ value: Bytes) -> [UInt8] {
        var hash = GenericHash()
        hash.update(value)
        return Array(ContentDigest(hash.finish()).text.utf8)
    }

    // MARK: Comparing

    private struct Name: Hashable, Comparable {
        var store: Store
        var name: [UInt8]

        static func < (left: Name, right: Name) -> Bool {
            left.store != right.store
                ? left.store.rawValue < right.store.rawValue : left.name.lexicographicallyPrecedes(right.name)
        }
    }

    private func compare(
        _ live: TableReader, _ kept: Connection, _ covered: BackupSelection, _ isCancelled: () -> Bool,
        _ outcome: inout Outcome
    ) throws(EngineError) {
        var mine: [Name: UInt32] = [:]
        try live.snapshot { (_) throws(SQLiteError) in mine = try Self.scopes(live.connection) }
        var theirs: [Name: UInt32] = [:]
        let (source, target): (Pages, Pages)
        do throws(SQLiteError) {
            theirs = try Self.scopes(kept)
            source = try Pages(kept, hasDigests: true)
            target = try Pages(live.connection, hasDigests: false)
        } catch { throw .unreadable(error) }
        var told = 0
        for name in Set(mine.keys).union(theirs.keys).sorted() {
            guard name.name.withBytes({ selection.contains(name.store, $0) && covered.contains(name.store, $0) })
            else { continue }
            var scope = Scope(store: name.store.roomName, name: name.name)
            var (left, right) = (Cursor(theirs[name]), Cursor(mine[name]))
            while true {
                if left.needsMore {
                    if isCancelled() { throw .cancelled }
                    do throws(SQLiteError) { try source.fill(&left, name.store) { false } } catch {
                        throw .unreadable(error)
                    }
                }
                if right.needsMore {
                    try live.snapshot { (snapshot) throws(SQLiteError) in
                        // What has been dropped meanwhile is on its way out, row by row.
                        guard let number = right.scope, try live.hasCollection(number) else { return right.end() }
                        try target.fill(&right, name.store) { snapshot.isStale }
                    }
                }
                guard let (key, change) = Self.step(&left, &right) else { break }
                guard let change else {
                    outcome.same += 1
                    continue
                }
                scope.counts.count(change)
                outcome.counts.count(change)
                if scope.examples.count < examples, told < Self.exampleLimit {
                    scope.examples.append((key, change))
                    told += 1
                }
            }
            guard !scope.counts.isZero else { continue }
            outcome.differing += 1
            if outcome.scopes.count < Self.scopeLimit { outcome.scopes.append(scope) }
        }
    }

    /// The next item of either side, and what would become of it: nil when it is the same. nil when both are at their ends.
    private static func step(_ left: inout Cursor, _ right: inout Cursor) -> (key: [UInt8], change: Change?)? {
        guard let one = left.first else {
            guard let two = right.first else { return nil }
            right.pass()
            return (two.key, .removed)
        }
        guard let two = right.first, !one.key.lexicographicallyPrecedes(two.key) else {
            left.pass()
            return (one.key, .added)
        }
        right.pass()
        guard one.key == two.key else { return (two.key, .removed) }
        left.pass()
        return (one.key, one.digest == two.digest ? nil : .changed)
    }

    private static func scopes(_ connection: Connection) throws(SQLiteError) -> [Name: UInt32] {
        let select = try connection.prepare("SELECT id, store, name FROM scopes")
        var scopes: [Name: UInt32] = [:]
        while try select.step() {
            guard let store = Store(rawValue: UInt8(truncatingIfNeeded: select.int64(1))), stores.contains(store)
            else { continue }
            scopes[Name(store: store, name: Array(select.bytes(2)))] = UInt32(truncatingIfNeeded: select.int64(0))
        }
        return scopes
    }

    private struct Item {
        var key: [UInt8]
        var digest: [UInt8]
    }

    /// Where one side is in a scope.
    private struct Cursor {
        /// nil: it has no such scope.
        let scope: UInt32?
        private(set) var items: [Item] = []
        private var next = 0
        private(set) var after: [UInt8] = []
        private(set) var isAtEnd: Bool

        init(_ scope: UInt32?) {
            self.scope = scope
            isAtEnd = scope == nil
        }

        var needsMore: Bool { next == items.count && !isAtEnd }
        var first: Item? { next < items.count ? items[next] : nil }
        mutating func pass() { next += 1 }
        mutating func end() { isAtEnd = true }

        mutating func take(_ page: [Item], upTo last: [UInt8], isLast: Bool) {
            (items, next, after, isAtEnd) = (page, 0, last, isLast)
        }
    }

    /// Pages of items by their keys.
    private final class Pages {
        private let settings: Statement
        private let documents: Statement
        private let hasDigests: Bool

        /// Rows of one look-up.
        private static let limit = 256

        init(_ connection: Connection, hasDigests: Bool) throws(SQLiteError) {
            self.hasDigests = hasDigests
            settings = try connection.prepare(
                "SELECT key, 0, value FROM settings WHERE scope = ?1 AND key > ?2 ORDER BY key")
            // Attachments are the lists of documents' contents, by the documents' ids.
            documents = try connection.prepare(
                "SELECT id, isDeleted, body FROM documents WHERE collection = ?1 AND id > ?2 ORDER BY id")
        }

        /// `isDue`: whether the page has to end before it is full. It has one row at least, which may be a tombstone.
        func fill(_ cursor: inout Cursor, _ store: Store, isDue: () -> Bool) throws(SQLiteError) {
            if store.isResident {
                try fill(&cursor, settings, isDue)
            } else {
                try fill(&cursor, documents, isDue)
            }
        }

        private func fill(
            _ cursor: inout Cursor, _ select: borrowing Statement, _ isDue: () -> Bool
        ) throws(SQLiteError) {
            defer { select.reset() }
            var items: [Item] = []
            var (count, last, isLast) = (0, cursor.after, false)
            try select.bind(1, Int64(cursor.scope ?? 0))
            try cursor.after.withBytes { (after) throws(SQLiteError) in
                try select.bind(2, utf8: after)
                while count < Self.limit, count == 0 || !isDue() {
                    guard try select.step() else {
                        isLast = true
                        break
                    }
                    count += 1
                    last = Array(select.bytes(0))
                    guard select.int64(1) == 0 else { continue }
                    let digest = hasDigests ? Array(select.bytes(2)) : BackupComparison.digest(select.bytes(2))
                    items.append(Item(key: last, digest: digest))
                }
            }
            cursor.take(items, upTo: last, isLast: isLast)
        }
    }
}
