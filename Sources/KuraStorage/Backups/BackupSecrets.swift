import KuraBytes
import Sodium

/// The secrets of a backup: sealed as they are, without those that have no place in it, and with sums that fit what is left.
///
/// Which heads these are can be told only when everything is known up to the backup's revision, so what the walk finds waits in a file.
/// Heads are opened for that, never values. The records of their services and of the store are sealed anew with other sums.
///
/// The manifest counts damage: services whose items do not match their records, and secrets whose values do not match their seals. The service's
/// record stays as it is, so that a restored service shows the damage. The backup has no head that does not open and no value that does not
/// match its head: either may be bound to this host.
final class BackupSecrets {
    private let configuration: StorageConfiguration
    private let keys: OpenedKeys
    private let met: MetDamage
    private let sealer: SecretSealer
    private let walked: RecordSpool
    /// Live secrets that are in the backup.
    private(set) var count = 0
    private var heads: [HeadName: Head] = [:]
    /// The newest record of each service, by its scope, and the store's.
    private var records: [[UInt8]: Row] = [:]
    private var store: Row?
    /// Records as they are written, with the scopes that they lie in.
    private var made: [(value: [UInt8], row: Row, scope: [UInt8])] = []

    private struct HeadName: Hashable {
        var scope: [UInt8]
        var key: [UInt8]
    }

    private struct Head {
        var rev: UInt64
        var isThere = true
        /// Why it is left out; nil when it is not.
        var reason: BackupManifest.LeftOut.Reason?
        /// The head's part of its service's sum.
        var element = SetSum()
        /// Its bytes, and what it is called; only of what is left out.
        var bytes = 0
        var service: [UInt8] = []
        var account: [UInt8] = []
        /// It does not open: nobody can tell what it is.
        var isUnknown = false
        /// As it is sealed; only of what is taken along.
        var row: [UInt8] = []
        /// Its versions' values that were met: of which revision, and whether each is what the head says.
        var values: [UInt32: (rev: UInt64, isWhole: Bool)] = [:]
    }

    /// Damage that goes along: a service's name and how many secrets it has, or one secret.
    private var damages: [BackupManifest.LeftOut] = []
    private let head = SecretHead()
    private let record = ServiceRecord()
    /// The keys of services that values were looked at of.
    private var serviceKeys: [[UInt8]: [UInt32: SecretKey]] = [:]

    private struct Row {
        var rev: UInt64
        var updatedAt: Int64
        var value: [UInt8]
    }

    /// `keys`: those of the secrets, unlocked; nil when no secrets are taken: then there is no such object.
    /// `met`: is told of damage.
    init?(_ configuration: StorageConfiguration, _ keys: OpenedKeys?, _ met: MetDamage) throws(BackupFault) {
        guard let keys else { return nil }
        self.met = met
        self.configuration = configuration
        self.keys = keys
        do throws(SecretsError) {
            // Values that are bound to this host are not opened, so neither is its key needed.
            sealer = try SecretSealer(KeyRing(hostKey: nil, .success(keys), slots: keys.slots))
        } catch { throw .secretsLocked }
        do throws(StorageFault) { walked = try RecordSpool(configuration, erases: true) } catch {
            throw BackupFault(error)
        }
    }

    /// Takes a record of the walk.
    func hold(_ encoded: Bytes) throws(BackupFault) {
        do throws(StorageFault) { try walked.append(encoded: encoded) } catch { throw BackupFault(error) }
    }

    func discard() { walked.discard() }

    /// Learns what there is as of the tap's last slice, and makes the records that fit what is written. Nothing is written yet.
    /// - Throws: `keysChanged`, `secretsDamaged`, `slotsLost`.
    func prepare(_ tap: FoldTap, _ isCancelled: () -> Bool) throws(BackupFault) {
        try forEach(tap) { (_, record) throws(BackupFault) in
            if isCancelled() { throw .cancelled }
            try learn(record)
        }
        _ = try slotsText()
        try forEach(tap) { (_, record) throws(BackupFault) in
            if isCancelled() { throw .cancelled }
            note(value: record)
        }
        serviceKeys = [:]
        try judge()
        if !damages.isEmpty { met.note() }
        try makeRecords()
    }

    /// Writes all secrets that `prepare` has learnt of.
    /// `isEncrypted`: what is left out may be named.
    func write(
        _ tap: FoldTap, to writer: BackupWriter, isEncrypted: Bool, _ isCancelled: () -> Bool
    ) throws(BackupFault) -> [BackupManifest.LeftOut] {
        try forEach(tap) { (encoded, record) throws(BackupFault) in
            if isCancelled() { throw .cancelled }
            if try belongs(record) { try writer.append(encoded: encoded) }
        }
        for record in made { try append(record.value, record.row, record.scope, to: writer) }
        count = heads.values.count { $0.isThere && $0.reason == nil && !$0.isUnknown }
        return leftOut(isEncrypted: isEncrypted)
    }

    private func forEach(
        _ tap: FoldTap, _ body: (Bytes, BackupRecord) throws(BackupFault) -> Void
    ) throws(BackupFault) {
        try walked.forEach(upTo: walked.length, body)
        try tap.forEach { (encoded, record) throws(BackupFault) in
            if record.store.isSealed { try body(encoded, record) }
        }
    }

    // MARK: What is left out

    /// Takes note of heads and records, the newest of each.
    private func learn(_ record: BackupRecord) throws(BackupFault) {
        guard record.store == .secrets, !record.flags.contains(.isDrop) else { return }
        let isRecord = record.key.equals(Bytes(SecretRecords.key))
        if record.scope.equals(Bytes(SecretRecords.storeScope)) {
            guard isRecord, store.map({ $0.rev <= record.rev }) ?? true else { return }
            store = Row(rev: record.rev, updatedAt: record.updatedAt, value: Array(record.value))
            return
        }
        let scope = Array(record.scope)
        if isRecord {
            guard records[scope].map({ $0.rev <= record.rev }) ?? true else { return }
            if record.flags.contains(.isDeleted) {
                records[scope] = nil
            } else {
                records[scope] = Row(rev: record.rev, updatedAt: record.updatedAt, value: Array(record.value))
            }
            return
        }
        let name = HeadName(scope: scope, key: Array(record.key))
        guard heads[name].map({ $0.rev <= record.rev }) ?? true else { return }
        var known = Head(rev: record.rev)
        if record.flags.contains(.isDeleted) {
            known.isThere = false
        } else {
            defer { head.close() }
            known.element = sealer.element(scope: record.scope, key: record.key, rev: record.rev, row: record.value)
            // When keys were rotated meanwhile, `writeKeys` says so.
            do throws(SecretsError) {
                try head.open(record.value, scope: record.scope, key: record.key, sealer)
            } catch { known.isUnknown = true }
            if head.isDeviceOnly || head.versions.contains(where: { $0.isDeviceOnly && !$0.isDestroyed }) {
                known.reason = .deviceOnly
            } else if !head.isInBackups {
                known.reason = .marked
            }
            if known.reason != nil {
                known.bytes = record.key.count + record.value.count
                (known.service, known.account) = (Array(head.name.service), Array(head.name.account))
            } else if !known.isUnknown {
                known.row = Array(record.value)
            }
        }
        heads[name] = known
    }

    private func belongs(_ record: BackupRecord) throws(BackupFault) -> Bool {
        if record.flags.contains(.isDrop) { return true }
        if record.store == .secrets {
            // Written at the end, with what they come to.
            if record.key.equals(Bytes(SecretRecords.key)) { return false }
            // Whatever is restored has nothing yet that would have to be overwritten.
            if record.scope.equals(Bytes(SecretRecords.storeScope)) {
                return !record.key.equals(Bytes(SecretRecords.scrubKey))
            }
            let head = heads[HeadName(scope: Array(record.scope), key: Array(record.key))]
            return head.map { $0.reason == nil && !$0.isUnknown } ?? true
        }
        guard let slash = record.key.firstIndex(of: UInt8(ascii: "/")), !record.flags.contains(.isDeleted) else {
            return true
        }
        // Without a head that opens nobody can tell whether it may leave this host.
        guard let head = heads[headName(record, slash)], head.isThere, head.reason == nil, !head.isUnknown,
            let number = Self.version(record, slash), let value = head.values[number]
        else { return false }
        return value.isWhole && value.rev == record.rev
    }

    private static func version(_ record: BackupRecord, _ slash: Int) -> UInt32? {
        UInt32(String(decoding: record.key.extracting(slash + 1..<record.key.count), as: UTF8.self))
    }

    /// Of a value's record.
    private func headName(_ record: BackupRecord, _ slash: Int) -> HeadName {
        HeadName(scope: Array(record.scope), key: Array(record.key.extracting(0..<slash)))
    }

    private func leftOut(isEncrypted: Bool) -> [BackupManifest.LeftOut] {
        let all =
            damages
            + heads.values.filter { $0.reason != nil && $0.isThere }.map {
                BackupManifest.LeftOut(
                    store: "secrets", scope: $0.service, name: $0.account, count: 1, reason: $0.reason!)
            }
        guard isEncrypted else {
            return [BackupManifest.LeftOut.Reason.damaged, .deviceOnly, .marked].compactMap { reason in
                let count = all.reduce(0) { $0 + ($1.reason == reason ? $1.count : 0) }
                return count == 0 ? nil : .init(store: "secrets", count: count, reason: reason)
            }
        }
        return all.sorted { left, right in
            left.scope != right.scope
                ? left.scope.lexicographicallyPrecedes(right.scope) : left.name.lexicographicallyPrecedes(right.name)
        }
    }

    // MARK: Damage

    /// Whether a version's value is what its head says.
    private func note(value record: BackupRecord) {
        guard record.store == .secretVersions, !record.flags.contains(.isDrop),
            let slash = record.key.firstIndex(of: UInt8(ascii: "/")), let number = Self.version(record, slash)
        else { return }
        let name = headName(record, slash)
        guard let known = heads[name], known.isThere, !known.row.isEmpty, known.values[number]?.rev ?? 0 <= record.rev
        else { return }
        let isWhole = !record.flags.contains(.isDeleted) && isWhole(record.value, number, known.row, name)
        heads[name]?.values[number] = (record.rev, isWhole)
    }

    private func isWhole(_ value: Bytes, _ number: UInt32, _ row: [UInt8], _ name: HeadName) -> Bool {
        defer { head.close() }
        guard (try? open(row, name)) != nil, let version = head.versions.first(where: { $0.number == number }),
            !version.isDestroyed, let key = serviceKey(version.serviceKeyNumber, name.scope)
        else { return false }
        let place = SecretSealer.Place(
            name: head.name, version: number, kind: version.kind.rawValue, isDeviceOnly: version.isDeviceOnly,
            serviceKeyNumber: version.serviceKeyNumber, serviceKey: key)
        guard let dataKey = try? sealer.open(dataKey: version.sealedKey, place) else { return false }
        return sealer.isWhole(value: value, place, dataKey: dataKey, size: Int(version.size))
    }

    /// Opens a head that is known, into `head`.
    private func open(_ row: [UInt8], _ name: HeadName) throws(SecretsError) {
        try row.withBytes { (row) throws(SecretsError) in
            try name.scope.withBytes { (scope) throws(SecretsError) in
                try name.key.withBytes { (key) throws(SecretsError) in
                    try head.open(row, scope: scope, key: key, sealer)
                }
            }
        }
    }

    /// Opens a service's record, into `record`.
    private func open(record row: Row, _ scope: [UInt8]) throws(SecretsError) {
        try row.value.withBytes { (value) throws(SecretsError) in
            try scope.withBytes { (scope) throws(SecretsError) in try record.open(value, scope: scope, sealer) }
        }
    }

    private func serviceKey(_ number: UInt32, _ scope: [UInt8]) -> SecretKey? {
        if let known = serviceKeys[scope] { return known[number] }
        var keys: [UInt32: SecretKey] = [:]
        defer {
            record.close()
            serviceKeys[scope] = keys
        }
        guard let row = records[scope], (try? open(record: row, scope)) != nil else { return nil }
        for (number, sealed) in record.keys {
            keys[number] = try? sealer.open(serviceKey: sealed, number: number, of: record.name)
        }
        return keys[number]
    }

    /// Finds services that are not what their records say, and secrets whose values are not what their heads say.
    private func judge() throws(BackupFault) {
        var found: [[UInt8]: (count: UInt64, sum: SetSum, isWhole: Bool, told: UInt64)] = [:]
        var unfit: [[UInt8]: [BackupManifest.LeftOut]] = [:]
        for (name, known) in heads where known.isThere {
            var service = found[name.scope] ?? (0, SetSum(), true, 0)
            service.count += 1
            service.sum += known.element
            defer {
                found[name.scope] = service
                head.close()
            }
            guard known.reason == nil else {
                service.told += 1
                continue
            }
            guard !known.isUnknown, (try? open(known.row, name)) != nil else {
                service.isWhole = false
                continue
            }
            let isWhole = head.versions.allSatisfy { $0.isDestroyed || known.values[$0.number]?.isWhole == true }
            guard !isWhole else { continue }
            unfit[name.scope, default: []].append(
                .init(
                    store: "secrets", scope: Array(head.name.service), name: Array(head.name.account), count: 1,
                    reason: .damaged))
        }
        for scope in Set(records.keys).union(found.keys) {
            let service = found[scope] ?? (0, SetSum(), true, 0)
            defer { record.close() }
            let isOpen = records[scope].map { row in (try? open(record: row, scope)) != nil } ?? false
            if isOpen, service.isWhole, record.count == service.count, record.sum == service.sum {
                damages += unfit[scope] ?? []
            } else {
                // Those that are left out for another reason are told of with that.
                let all = max(service.count, isOpen ? record.count : 0)
                let count = max(all - min(all, service.told), 1)
                damages.append(
                    .init(
                        store: "secrets", scope: Array(record.name), count: Int(clamping: count), reason: .damaged))
            }
        }
    }

    // MARK: Sums

    private func makeRecords() throws(BackupFault) {
        guard let store else {
            // Services without the store's record are damage.
            guard records.isEmpty, !heads.values.contains(where: \.isThere) else { throw .secretsDamaged }
            return
        }
        var total = VaultRecord()
        var plaintext = SecretBuffer()
        let key = Bytes(SecretRecords.key)
        let storeScope = Bytes(SecretRecords.storeScope)
        do throws(SecretsError) {
            try store.value.withBytes { (row) throws(SecretsError) in
                try sealer.open(row: row, .store, scope: storeScope, key: key, into: &plaintext)
            }
            guard let known = VaultRecord(plaintext.bytes) else { throw .integrity }
            total = known
        } catch { throw .secretsDamaged }
        // The services' records stand in for all that is in them: without these nothing can be vouched for.
        let services = records.filter { scope, _ in scope.withBytes { NameHash(text: $0) } != nil }
        let sum = services.reduce(into: SetSum()) { sum, service in sum += element(service.value, service.key) }
        guard total.services == services.count, total.sum == sum else { throw .secretsDamaged }
        var gone: [[UInt8]: [Head]] = [:]
        for (name, head) in heads where head.reason != nil && head.isThere {
            gone[name.scope, default: []].append(head)
        }
        var isChanged = false
        for (scope, row) in records.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            var value = row.value
            if let heads = gone[scope] {
                value = try adjust(row, scope, without: heads, &total)
                isChanged = true
            }
            made.append((value, row, scope))
        }
        var value = store.value
        if isChanged {
            plaintext.removeAll()
            total.encode(to: &plaintext)
            var sealed = ByteBuffer()
            sealer.seal(row: plaintext.bytes, .store, scope: storeScope, key: key, to: &sealed)
            value = Array(sealed.bytes)
        }
        made.append((value, store, Array(storeScope)))
    }

    /// A service's record without some of its heads.
    private func adjust(
        _ row: Row, _ scope: [UInt8], without heads: [Head], _ total: inout VaultRecord
    ) throws(BackupFault) -> [UInt8] {
        defer { record.close() }
        let key = Bytes(SecretRecords.key)
        do throws(SecretsError) { try open(record: row, scope) } catch { throw .secretsDamaged }
        for head in heads {
            // Of a damaged service it may say anything.
            record.count -= min(record.count, 1)
            record.sum -= head.element
            total.bytes -= min(total.bytes, UInt64(head.bytes))
        }
        var plaintext = SecretBuffer()
        record.encode(to: &plaintext)
        var sealed = ByteBuffer()
        scope.withBytes { sealer.seal(row: plaintext.bytes, .service, scope: $0, key: key, to: &sealed) }
        let value = Array(sealed.bytes)
        total.sum -= element(row, scope)
        total.sum += element(Row(rev: row.rev, updatedAt: row.updatedAt, value: value), scope)
        return value
    }

    /// The part of a service's record in the store's sum.
    private func element(_ row: Row, _ scope: [UInt8]) -> SetSum {
        scope.withBytes { scope in
            row.value.withBytes {
                sealer.element(scope: scope, key: Bytes(SecretRecords.key), rev: row.rev, row: $0)
            }
        }
    }

    private func append(_ value: [UInt8], _ row: Row, _ scope: [UInt8], to writer: BackupWriter) throws(BackupFault) {
        try scope.withBytes { (scope) throws(BackupFault) in
            try value.withBytes { (value) throws(BackupFault) in
                var record = BackupRecord(
                    store: .secrets, rev: row.rev, scope: scope, key: Bytes(SecretRecords.key), value: value)
                record.version = 1
                record.createdAt = row.updatedAt
                record.updatedAt = row.updatedAt
                try writer.append(record)
            }
        }
    }

    // MARK: Keys

    /// The slots as they lie there, which lead to the keys at hand.
    /// - Throws: `keysChanged` when they were rotated meanwhile, `slotsLost` when they are missing, damaged, older or another store's.
    private func slotsText() throws(BackupFault) -> [UInt8] {
        let text: [UInt8]
        let slots: KeySlots
        do throws(KeysFault) {
            guard let found = try KeyFiles(configuration).slotsText() else { throw .damaged(KeyKeeper.missing) }
            text = found
            slots = try KeySlots(reading: found)
        } catch { throw .slotsLost }
        let known = keys.slots
        guard slots.storeID == known.storeID, slots.epoch >= known.epoch else { throw .slotsLost }
        // The secrets and slots.json are from the two sides of a rotation: the keys of one do not open the other.
        guard slots.epoch == known.epoch, slots.retired == known.retired, slots.sealedLasting == known.sealedLasting,
            slots.recent == known.recent
        else { throw .keysChanged }
        return text
    }

    /// Writes what leads to the keys: the slots, and in an encrypted backup the root key for whoever opens it.
    func writeKeys(to writer: BackupWriter) throws(BackupFault) {
        let text = try slotsText()
        var sealedRoot = ByteBuffer()
        if let fileKey = writer.fileKey, let root = keys.roots.last?.key {
            let key = try fileKey.backupRootKey()
            keys.slots.storeID.withBytes { AEAD.seal(key: root, to: &sealedRoot, key: key, associated: $0) }
        }
        try writer.write(.keys) { payload in
            payload.append(littleEndian: UInt32(text.count))
            payload.append(text)
            payload.append(sealedRoot.bytes)
        }
    }
}
