import KuraBytes
import Testing

@testable import KuraStorage

/// Every byte of every row of a small store, changed by itself: what the tables would give a start.
@Suite struct SecretsTamperingTests {
    struct Row {
        var store: Store
        var scope: [UInt8]
        var key: [UInt8]
        var rev: UInt64
        var value: [UInt8]
    }

    private static let expected = [("s", "ada", "two"), ("s", "bob", "three"), ("t", "ada", "four")]

    private let directory = TemporaryDirectory()
    private let ring: KeyRing
    private let reader: DocumentReader
    private var rows: [Row] = []

    init() throws {
        let configuration = StorageConfiguration.tiny(directory.path)
        ring = KeyKeeper(configuration, wake: {}, report: { _ in }).ring
        let path = directory.path + "/kura.sqlite"
        _ = try Tables.openWriter(path, cacheKibibytes: 64)
        reader = try DocumentReader(path: path, mayWait: true)
        let ledger = Ledger(configuration: configuration, scopes: ScopeTable(), rev: 0)
        let store = Self.store(ledger, reader, ring)
        for (service, account, secret) in [("s", "ada", "one")] + Self.expected {
            try with(service, account, secret) { (service, account, secret) throws(SecretsError) in
                let name = SecretName(service: service, account: account)
                _ = try store.put(name, NewSecret(.text, secret, SecretOptions()), ifRev: nil)
            }
        }
        rows = Self.rows(ledger.overlay.queue[...], ledger)
    }

    /// The newest of each key.
    static func rows(_ items: ArraySlice<ItemRef>, _ ledger: Ledger) -> [Row] {
        var rows: [Row] = []
        var newest: [[UInt8]: Int] = [:]
        for item in items {
            let scope = ledger.scopes[item.pointee.scope]
            let row = Row(
                store: scope.store, scope: scope.name, key: Array(item.key), rev: item.pointee.rev,
                value: Array(item.value))
            let place = [scope.store.rawValue] + scope.name + [0] + row.key
            if let known = newest[place] {
                rows[known] = row
            } else {
                newest[place] = rows.count
                rows.append(row)
            }
        }
        return rows
    }

    static func store(_ ledger: Ledger, _ reader: DocumentReader, _ ring: KeyRing) -> SecretsStore {
        SecretsStore(
            ledger: ledger, ring: ring,
            look: { (scope, key) throws(EngineError) in try reader.find(scope: scope, id: key) }, report: { _ in })
    }

    private func open(_ rows: [Row]) -> SecretsStore { Self.open(rows, directory.path, reader, ring) }

    /// A store over rows, as a start finds them.
    static func open(_ rows: [Row], _ path: String, _ reader: DocumentReader, _ ring: KeyRing) -> SecretsStore {
        let ledger = Ledger(configuration: .tiny(path), scopes: ScopeTable(), rev: 100)
        for row in rows {
            let scope = row.scope.withBytes { ledger.scopes.findOrMake(row.store, $0)! }
            scope.count += 1
            scope.lastRev = max(scope.lastRev, row.rev)
            row.key.withBytes { key in
                row.value.withBytes { value in
                    if row.store.isResident {
                        ledger.load(resident: key, value: value, rev: row.rev, updatedAt: 0, scope)
                    } else {
                        let item = ItemRef.make(key: key, value: value)
                        item.pointee.rev = row.rev
                        item.pointee.scope = scope.id
                        item.pointee.store = row.store
                        item.pointee.row = scope.rows.take()
                        ledger.adopt(clean: item)
                    }
                }
            }
        }
        return Self.store(ledger, reader, ring)
    }

    /// Reads everything.
    /// - Returns: how many reads were refused; what was not is as it was put.
    private func judge(_ rows: [Row], _ what: @autoclosure () -> String) -> Int {
        let store = open(rows)
        var refused = 0
        for (service, account, secret) in Self.expected {
            do throws(SecretsError) {
                var found: String?
                try with(service, account) { (service, account) throws(SecretsError) in
                    let name = SecretName(service: service, account: account)
                    while true {
                        do throws(SecretsError) {
                            _ = try store.get(name, version: nil) { found = $1.text }
                            return
                        } catch { if error != .preparing { throw error } }
                    }
                }
                if found != secret { Issue.record("\(what()): \(found ?? "absent")") }
            } catch {
                if error != .integrity { Issue.record("\(what()): \(error)") }
                refused += 1
            }
        }
        return refused
    }

    private func isOlder(_ row: Row) -> Bool {
        row.store == .secretVersions && row.key.last == UInt8(ascii: "1")
            && rows.contains { $0.store == .secretVersions && $0.key == row.key.dropLast() + [UInt8(ascii: "2")] }
    }

    @Test func `what nobody has touched is read`() {
        #expect(rows.count == 3 + 3 + 4)
        #expect(judge(rows, "untouched") == 0)
    }

    @Test func `a change of any byte is found`() {
        for (index, row) in rows.enumerated() {
            for position in row.value.indices {
                var changed = rows
                changed[index].value[position] ^= 1 << UInt8(position % 8)
                let refused = judge(changed, "byte \(position) of row \(index)")
                if refused == 0, !isOlder(row) {
                    Issue.record("byte \(position) of row \(index) of \(row.value.count)")
                }
            }
        }
    }

    @Test func `rows in each other's place, with other revisions, missing or doubled are found`() {
        for left in rows.indices {
            for right in rows.indices where left < right {
                var changed = rows
                changed[left].value = rows[right].value
                changed[left].rev = rows[right].rev
                changed[right].value = rows[left].value
                changed[right].rev = rows[left].rev
                if judge(changed, "\(left) and \(right)") == 0 { Issue.record("\(left) and \(right) swapped") }
                changed = rows
                changed[left].value = rows[right].value
                if judge(changed, "\(right) in \(left)") == 0, !isOlder(rows[left]) {
                    Issue.record("\(right) in \(left)")
                }
            }
            var changed = rows
            changed.remove(at: left)
            // A value that is not there would be looked for in the tables.
            if judge(changed, "without \(left)") == 0, !isOlder(rows[left]) { Issue.record("without \(left)") }
            changed = rows
            changed[left].rev += 1
            let isStore = rows[left].scope == [UInt8(ascii: ".")]
            if rows[left].store == .secrets, !isStore, judge(changed, "revision") == 0 {
                Issue.record("revision of \(left)")
            }
        }
    }

    @Test func `when a secret was changed is told by its head, whatever its row says`() throws {
        let ledger = Ledger(configuration: .tiny(directory.path), scopes: ScopeTable(), rev: 0)
        ledger.now = 1_700_000_000_000
        let written = Self.store(ledger, reader, ring)
        try with("s", "ada", "x") { (service, account, secret) throws(SecretsError) in
            let name = SecretName(service: service, account: account)
            _ = try written.put(name, NewSecret(.text, secret, SecretOptions()), ifRev: nil)
        }
        // Its rows say 1970.
        let store = open(Self.rows(ledger.overlay.queue[...], ledger))
        var found: Int64?
        try with("s", "ada") { (service, account) throws(SecretsError) in
            let name = SecretName(service: service, account: account)
            while true {
                do throws(SecretsError) {
                    _ = try store.describe(name) { found = $0.updatedAt }
                    return
                } catch { if error != .preparing { throw error } }
            }
        }
        #expect(found == 1_700_000_000_000)
    }

    @Test func `a locked ring closes the store`() throws {
        let store = open(rows)
        #expect(throws: Never.self) { try store.services { _ in } }
        ring.lock()
        #expect(throws: SecretsError.sealed) { try store.services { _ in } }
        store.keeper.follow()
        #expect(store.vault == nil)
    }
}
