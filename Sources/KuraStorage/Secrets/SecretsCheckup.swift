public import KuraBytes
import Sodium

/// Something of secrets that is not what was written, as a checkup has found it.
public struct SecretDamage: Sendable {
    public enum What: Sendable {
        /// The store's record, or the sum of the services' records.
        case store
        /// A service's record: its keys are lost, and with them the values of its secrets.
        case service
        /// The sum of a service's items: some are missing, or were set back to what they had been.
        case sum
        /// An item's head: nobody can tell what it was called.
        case item
        /// A version's value.
        case version
        /// The audit, which is not that of the secrets: `verifyAudit` says what is wrong.
        case audit
    }
    public var what: What
    /// Where in the checkup's names they are; empty when they are not known.
    var service: Range<Int> = 0..<0
    var account: Range<Int> = 0..<0
    var group: Range<Int> = 0..<0
    /// What its row is called on the disk; empty for the store's record.
    public var row: [UInt8] = []
    public var version: UInt32 = 0
    /// Of `sum`: items that the record counts and that are not there; negative when there are more.
    public var missing = 0
}

/// A look at everything that secrets have on the disk, in slices: records and heads against their sums, each value opened under its key.
/// Made and used on the loop.
public final class SecretsCheckup {
    let generation: UInt64
    /// Only of this service; nil for all, and the store's record.
    let only: NameHash?
    var queue: ContiguousArray<NameHash> = []
    var position = 0
    public internal(set) var services = 0
    public internal(set) var items = 0
    public internal(set) var versions = 0
    /// The first of them.
    public internal(set) var damages: [SecretDamage] = []
    public internal(set) var damageCount = 0
    /// Damages that are kept.
    public static let mostDamages = 1000
    public internal(set) var isDone = false
    /// The block of the audit to go on with, once the services are through; nil for the oldest.
    var auditBlock: UInt64?
    var hasReadAudit = false
    /// Of the audit alone, for a repair.
    let isOfAudit: Bool
    /// Values that another keys/host.key opens are damage as well, for a repair that is to destroy them.
    let condemnsOtherHostKey: Bool
    /// Values that another keys/host.key opens, and that are not taken for damage.
    public internal(set) var otherHostKey = 0
    /// The blocks that such a repair keeps; nil until it looks.
    var kept: KeptAudit?
    private var names = ByteBuffer()

    // The service under way.
    var cursor: [UInt8] = []
    var isBegun = false
    var startedRev: UInt64 = 0
    var sum = SetSum()
    var count: UInt64 = 0
    var hasRecord = false
    private var mark = (items: 0, versions: 0, otherHostKey: 0, damages: 0, damageCount: 0, names: 0)

    init(generation: UInt64, only: NameHash?, isOfAudit: Bool = false, condemnsOtherHostKey: Bool = false) {
        self.generation = generation
        self.only = only
        self.isOfAudit = isOfAudit
        self.condemnsOtherHostKey = condemnsOtherHostKey
        names.wipes = true
    }

    public func service(of damage: SecretDamage) -> Bytes { names.bytes(damage.service) }
    public func account(of damage: SecretDamage) -> Bytes { names.bytes(damage.account) }
    public func group(of damage: SecretDamage) -> Bytes { names.bytes(damage.group) }

    /// A service begins, or begins anew since it has changed.
    func begin(_ rev: UInt64) {
        if isBegun {
            (items, versions, damageCount) = (mark.items, mark.versions, mark.damageCount)
            otherHostKey = mark.otherHostKey
            damages.removeLast(damages.count - mark.damages)
            names.truncate(to: mark.names)
        } else {
            mark = (items, versions, otherHostKey, damages.count, damageCount, names.count)
        }
        (isBegun, startedRev, sum, count, cursor, hasRecord) = (true, rev, SetSum(), 0, [], false)
    }

    func end() {
        isBegun = false
        position += 1
        services += 1
    }

    func note(_ damage: SecretDamage, _ name: SecretName? = nil) {
        damageCount += 1
        guard damages.count < Self.mostDamages else { return }
        var damage = damage
        if let name {
            func keep(_ text: Bytes) -> Range<Int> {
                let start = names.count
                names.append(text)
                return start..<names.count
            }
            (damage.service, damage.account, damage.group) = (keep(name.service), keep(name.account), keep(name.group))
        }
        damages.append(damage)
    }
}

extension SecretsStore {
    /// Begins a checkup.
    ///
    /// - Parameters:
    ///   - service: only of this one; nil for all, and the store's record.
    ///   - condemnsOtherHostKey: values that another keys/host.key opens are damage as well.
    /// - Returns: what `goOn` goes on with.
    /// - Throws: `.sealed`, `.preparing`; `.absent` when there is no such service.
    public func checkup(
        service: Bytes?, condemnsOtherHostKey: Bool = false
    ) throws(SecretsError) -> SecretsCheckup {
        let vault = try keeper.openDamaged()
        let only = service.map { NameHash(service: $0, key: vault.sealer.names, &memory.names) }
        let checkup = SecretsCheckup(
            generation: ring.generation, only: only, condemnsOtherHostKey: condemnsOtherHostKey)
        if let only {
            guard rows.scope(only) != nil else { throw .absent(shownRev: ledger.dropRev) }
            checkup.queue = [only]
        } else {
            for scope in ledger.scopes.list(.secrets) {
                if let hash = scope.withName({ NameHash(text: $0) }) { checkup.queue.append(hash) }
            }
        }
        return checkup
    }

    /// Whether a checkup can go on: a rotation of the root key has another one begin.
    public func isCurrent(_ checkup: SecretsCheckup) -> Bool { checkup.generation == ring.generation }

    /// Begins the look at the audit that `repairStore` goes by.
    /// - Throws: `.sealed`, `.preparing`.
    public func auditCheckup() throws(SecretsError) -> SecretsCheckup {
        _ = try keeper.openDamaged()
        return SecretsCheckup(generation: ring.generation, only: nil, isOfAudit: true)
    }

    /// Blocks of the audit that are looked at between two looks at the clock.
    private static let auditBlocks = 8

    /// Goes on for a slice.
    /// - Throws: `.sealed` when they were locked meanwhile; `.preparing` when it is to go on in the next turn; `.cold`.
    public func goOn(_ checkup: SecretsCheckup) throws(SecretsError) {
        let vault = try keeper.openDamaged()
        guard checkup.generation == ring.generation else { throw .sealed }
        let deadline = ledger.clock.deadline(after: Self.slice)
        while checkup.position < checkup.queue.count {
            let hash = checkup.queue[checkup.position]
            // One that has begun anew has neither until something is put there.
            guard let scope = rows.scope(hash), scope.lastRev > 0, rows.liveRecord(scope) != nil || rows.hasHeads(scope)
            else {
                checkup.position += 1
                continue
            }
            do throws(SecretsError) { _ = try find(hash, vault) } catch {
                guard error == .integrity else { throw error }
            }
            let place = Place(vault: vault, service: vault.services[hash] ?? OpenService(hash), scope: scope)
            defer { memory.close() }
            if !checkup.isBegun || scope.lastRev != checkup.startedRev { begin(checkup, place) }
            let members = scope.sortedMembers()
            var position = checkup.cursor.withBytes { members.lowerBound(of: $0) }
            while let item = members[position] {
                guard !deadline.isOver else { throw .preparing }
                members.advance(&position)
                if !item.key.equals(SecretRecords.key), !item.isTombstone { try look(at: item, checkup, place) }
                checkup.cursor = Array(item.key) + [0]
            }
            finish(checkup, place)
        }
        if checkup.isOfAudit {
            try lookBack(checkup, until: deadline)
        } else if checkup.only == nil {
            while !checkup.hasReadAudit {
                guard !deadline.isOver else { throw .preparing }
                checkup.auditBlock = try audit.verify(from: checkup.auditBlock, most: Self.auditBlocks).next
                checkup.hasReadAudit = checkup.auditBlock == nil
            }
            let (sum, count) = keeper.sumOfRecords(vault)
            if !keeper.agrees(vault, sum, count) { checkup.note(SecretDamage(what: .store)) }
            if !audit.binding.isOfSecrets { checkup.note(SecretDamage(what: .audit)) }
        }
        checkup.isDone = true
    }

    /// Looks for the blocks of the audit that a repair keeps.
    private func lookBack(_ checkup: SecretsCheckup, until deadline: Deadline) throws(SecretsError) {
        var kept: KeptAudit
        if let known = checkup.kept {
            kept = known
        } else {
            let end = try audit.binding.acceptedEnd()
            kept = KeptAudit(end.head, isWhole: end.isWhole)
        }
        let sealer = try keeper.auditSealer()
        defer {
            checkup.kept = kept
            memory.plaintext.removeAll()
        }
        while !kept.isDone {
            guard !deadline.isOver else { throw .preparing }
            try kept.extend(audit.blocks, sealer)
        }
    }

    private func begin(_ checkup: SecretsCheckup, _ place: Place) {
        checkup.begin(place.scope.lastRev)
        defer { record.close() }
        do throws(SecretsError) {
            guard let item = rows.liveRecord(place.scope) else { throw .integrity }
            try open(record: item, place)
            checkup.hasRecord = true
        } catch { checkup.note(SecretDamage(what: .service, row: place.scope.name)) }
    }

    /// An item, with all its versions.
    private func look(at item: ItemRef, _ checkup: SecretsCheckup, _ place: Place) throws(SecretsError) {
        let element = place.vault.sealer.element(place.scope, item)
        do throws(SecretsError) { try open(item, place) } catch {
            checkup.sum += element
            checkup.count += 1
            checkup.items += 1
            checkup.note(SecretDamage(what: .item, row: Array(item.key)))
            return
        }
        var damaged: [UInt32] = []
        var (whole, otherHostKey) = (0, 0)
        memory.rowKey.removeAll()
        memory.rowKey.append(item.key)
        for version in head.versions where !version.isDestroyed {
            do throws(SecretsError) {
                try openValue(version, place)
                whole += 1
            } catch {
                if error == .otherHostKey, !checkup.condemnsOtherHostKey {
                    otherHostKey += 1
                } else if error == .integrity || error == .otherHostKey {
                    damaged.append(version.number)
                } else {
                    throw error
                }
            }
            memory.plaintext.removeAll()
        }
        // Only now: what is cold has it looked at once more.
        checkup.sum += element
        checkup.count += 1
        checkup.items += 1
        checkup.versions += whole + otherHostKey + damaged.count
        checkup.otherHostKey += otherHostKey
        for number in damaged {
            checkup.note(SecretDamage(what: .version, row: Array(item.key), version: number), head.name)
        }
    }

    private func finish(_ checkup: SecretsCheckup, _ place: Place) {
        if checkup.hasRecord, let item = rows.liveRecord(place.scope), (try? open(record: item, place)) != nil {
            if record.count != checkup.count || record.sum != checkup.sum {
                checkup.note(
                    SecretDamage(
                        what: .sum, row: place.scope.name, missing: Int(record.count) - Int(checkup.count)),
                    SecretName(service: record.name, account: Bytes()))
            }
            record.close()
        }
        checkup.end()
    }
}
