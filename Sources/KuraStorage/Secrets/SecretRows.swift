import KuraBytes

/// Rows of secrets: heads and records, which are in memory, and values, which are looked for in the tables without waiting for the disk.
///
/// `key` has the key of the value's row that is looked for or staged.
final class SecretRows {
    private let ledger: Ledger
    /// Looks for a row in the tables, by scope and key.
    private let look: (UInt32, Bytes) throws(EngineError) -> ItemRef?
    /// The key in the tables that comes behind one of a scope.
    private let lookBehind: (UInt32, Bytes) throws(EngineError) -> [UInt8]?
    private(set) var key = ByteBuffer()
    private var scopeName = ByteBuffer()
    /// What the last `.cold` was about.
    private var coldLook: ColdLook?

    init(
        _ ledger: Ledger, look: @escaping (UInt32, Bytes) throws(EngineError) -> ItemRef?,
        lookBehind: @escaping (UInt32, Bytes) throws(EngineError) -> [UInt8]?
    ) {
        (self.ledger, self.look, self.lookBehind) = (ledger, look, lookBehind)
    }

    func takeColdLook() -> ColdLook? {
        defer { coldLook = nil }
        return coldLook
    }

    // MARK: Heads and records

    /// Where a service's heads are.
    func scope(_ service: NameHash) -> Scope? {
        scopeName.removeAll()
        service.append(to: &scopeName)
        return ledger.scopes.find(.secrets, scopeName.bytes)
    }

    func findOrPrepareScope(_ service: NameHash) -> Scope {
        scopeName.removeAll()
        service.append(to: &scopeName)
        return ledger.scopes.findOrPrepare(.secrets, scopeName.bytes)
    }

    /// The service's record, or the store's; nil when there is none.
    func liveRecord(_ scope: Scope, _ key: StaticString = SecretRecords.key) -> ItemRef? {
        guard scope.isInTable, let item = ledger.find(scope, Bytes(key)), !item.isTombstone else { return nil }
        return item
    }

    /// What lies in the scope of the store's record.
    func beside(_ key: StaticString) -> ItemRef? {
        ledger.scopes.find(.secrets, Bytes(SecretRecords.storeScope)).flatMap { liveRecord($0, key) }
    }

    /// There are services with their records.
    var hasServices: Bool {
        ledger.scopes.list(.secrets).contains { scope in
            scope.withName { NameHash(text: $0) } != nil && liveRecord(scope) != nil
        }
    }

    /// There are secrets, as far as their counts tell: each service has its record beside them.
    var hasItems: Bool {
        ledger.scopes.list(.secrets).contains { scope in
            scope.count > 1 && scope.withName { NameHash(text: $0) } != nil
        }
    }

    func hasHeads(_ scope: Scope) -> Bool {
        var next = scope.members.oldest
        while let item = next {
            if !item.isTombstone { return true }
            next = item.pointee.newer
        }
        return false
    }

    /// Stages a record's row. It may change several times in a transaction: the last change of it counts.
    func stage(record value: Bytes, key: Bytes = Bytes(SecretRecords.key), _ scope: Scope) throws(SecretsError) {
        let old = scope.isInTable ? ledger.find(scope, key) : nil
        let oldBytes = old.map { $0.isTombstone ? 0 : $0.key.count + $0.value.count } ?? 0
        do throws(EngineError) {
            try ledger.stage(
                scope, key: key, value: value, isTombstone: false, old: old, oldBytes: oldBytes,
                newBytes: key.count + value.count, mayRepeat: true
            ) { item in item.pointee.version = (old?.pointee.version ?? 0) &+ 1 }
        } catch { throw .engine(error) }
    }

    /// Stages that the row of a head or a record goes.
    func stageRemoval(ofRecord old: ItemRef, in scope: Scope) throws(SecretsError) {
        do throws(EngineError) {
            try ledger.stage(
                scope, key: old.key, value: Bytes(), isTombstone: true, old: old,
                oldBytes: old.key.count + old.value.count, newBytes: 0, mayRepeat: true
            ) { item in item.pointee.version = old.pointee.version &+ 1 }
        } catch { throw .engine(error) }
    }

    // MARK: Values

    /// Where a service's values are; nil when it never had any.
    func values(of heads: Scope) -> Scope? { heads.withName { ledger.scopes.find(.secretVersions, $0) } }

    /// `item`: the text of the item's hash.
    func makeKey(of item: Bytes, version number: UInt32) {
        key.removeAll()
        key.append(item)
        key.append(UInt8(ascii: "/"))
        var digits = [UInt8](repeating: 0, count: 10)
        var rest = number
        var start = digits.count
        repeat {
            start -= 1
            digits[start] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        } while rest > 0
        digits[start...].withBytes { key.append($0) }
    }

    /// The key of a row that has 16 hexadecimal digits for a name: a block's, or with a prefix one that waits to be put into a block.
    func makeKey(_ prefix: StaticString = "", block number: UInt64) {
        let digits = Bytes("0123456789abcdef")
        key.removeAll()
        key.append(prefix)
        for place in 1...16 { key.append(digits[Int(number >> UInt64(64 - place * 4) & 15)]) }
    }

    /// The row of `key`, tombstones included.
    /// - Throws: `.cold`, `.unreadable`.
    func find(_ scope: Scope) throws(SecretsError) -> ItemRef? {
        if let item = ledger.find(scope, key.bytes) { return item }
        guard scope.rows.mayExist else { return nil }
        do throws(EngineError) {
            guard let item = try look(scope.id, key.bytes) else { return nil }
            item.pointee.store = scope.store
            ledger.adopt(clean: item)
            return item
        } catch {
            if error == .cold { coldLook = .document(scope: scope.id, id: Array(key.bytes)) }
            throw .engine(error)
        }
    }

    /// The first row behind `key`, but for tombstones, whose key it then is. What the log alone has is not seen.
    /// - Throws: `.cold`, `.unreadable`.
    func findBehind(_ scope: Scope) throws(SecretsError) -> ItemRef? {
        guard scope.rows.mayExist else { return nil }
        while true {
            let next: [UInt8]?
            do throws(EngineError) { next = try lookBehind(scope.id, key.bytes) } catch {
                if error == .cold { coldLook = .behind(scope: scope.id, id: Array(key.bytes)) }
                throw .engine(error)
            }
            guard let found = next else { return nil }
            key.removeAll()
            found.withBytes { key.append($0) }
            if let item = try find(scope), !item.isTombstone { return item }
        }
    }

    /// Stages that the row of `key` is gone; nothing is left of it in the tables.
    func stageRemoval(of old: ItemRef, in scope: Scope) throws(SecretsError) {
        do throws(EngineError) {
            try ledger.stage(
                scope, key: key.bytes, value: Bytes(), isTombstone: true, old: old, oldBytes: old.value.count,
                newBytes: 0, mayRepeat: true
            ) { item in
                item.pointee.row = old.pointee.row
                item.pointee.version = old.pointee.version &+ 1
                item.pointee.writesBody = true
            }
        } catch { throw .engine(error) }
    }
}
