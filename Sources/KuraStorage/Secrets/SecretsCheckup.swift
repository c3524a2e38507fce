public import KuraBytes
import Sodium

/// What a checkup makes of one service: whether its record opens, and what its items come to.
struct ServiceLook {
    /// The service's newest revision when the look began.
    private(set) var startedRev: UInt64 = 0
    /// Its record opens.
    private(set) var hasRecord = false
    /// Of the items that were looked at.
    private(set) var sum = SetSum()
    private(set) var count: UInt64 = 0
    /// Where to go on.
    var cursor: [UInt8] = []
    /// It is under way.
    private(set) var isBegun = false

    /// Begins with what the service has now.
    mutating func begin(_ rev: UInt64, hasRecord: Bool) {
        self = ServiceLook(startedRev: rev, hasRecord: hasRecord, isBegun: true)
    }

    mutating func add(_ element: SetSum) {
        sum += element
        count += 1
    }

    mutating func end() { isBegun = false }

    /// It has looked at all that the service has at this revision, or is about to.
    func isOf(_ rev: UInt64) -> Bool { isBegun && startedRev == rev }
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
    public internal(set) var findings = CheckupFindings()
    public internal(set) var isDone = false
    /// The block of the audit to go on with, once the services are through; nil for the oldest.
    var auditBlock: UInt64?
    var hasReadAudit = false
    /// Of the audit alone, for a repair.
    let isOfAudit: Bool
    /// Values that another keys/host.key opens are damage as well, for a repair that is to destroy them.
    let condemnsOtherHostKey: Bool
    /// The blocks that such a repair keeps; nil until it looks.
    var kept: KeptAudit?
    /// The service under way, or the last one.
    var service = ServiceLook()

    init(generation: UInt64, only: NameHash?, isOfAudit: Bool = false, condemnsOtherHostKey: Bool = false) {
        self.generation = generation
        self.only = only
        self.isOfAudit = isOfAudit
        self.condemnsOtherHostKey = condemnsOtherHostKey
    }

    /// A service begins, or begins anew since it has changed.
    func begin(_ rev: UInt64, hasRecord: Bool) {
        if service.isBegun { findings.takeBack() } else { findings.begin() }
        service.begin(rev, hasRecord: hasRecord)
    }

    func end() {
        service.end()
        position += 1
        services += 1
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
            if !checkup.service.isOf(scope.lastRev) { begin(checkup, place) }
            let members = scope.sortedMembers()
            var position = checkup.service.cursor.withBytes { members.lowerBound(of: $0) }
            while let item = members[position] {
                guard !deadline.isOver else { throw .preparing }
                members.advance(&position)
                if !item.key.equals(SecretRecords.key), !item.isTombstone { try look(at: item, checkup, place) }
                checkup.service.cursor = Array(item.key) + [0]
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
            if !keeper.agrees(vault, sum, count) { checkup.findings.note(SecretDamage(what: .store)) }
            if !audit.binding.isOfSecrets { checkup.findings.note(SecretDamage(what: .audit)) }
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
        defer { record.close() }
        var hasRecord = false
        if let item = rows.liveRecord(place.scope) {
            do throws(SecretsError) {
                try open(record: item, place)
                hasRecord = true
            } catch {}
        }
        checkup.begin(place.scope.lastRev, hasRecord: hasRecord)
        if !hasRecord { checkup.findings.note(SecretDamage(what: .service, row: place.scope.name)) }
    }

    /// An item, with all its versions.
    private func look(at item: ItemRef, _ checkup: SecretsCheckup, _ place: Place) throws(SecretsError) {
        let element = place.vault.sealer.element(place.scope, item)
        do throws(SecretsError) { try open(item, place) } catch {
            checkup.service.add(element)
            checkup.findings.count(versions: 0, otherHostKey: 0)
            checkup.findings.note(SecretDamage(what: .item, row: Array(item.key)))
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
        checkup.service.add(element)
        checkup.findings.count(versions: whole + otherHostKey + damaged.count, otherHostKey: otherHostKey)
        for number in damaged {
            checkup.findings.note(SecretDamage(what: .version, row: Array(item.key), version: number), head.name)
        }
    }

    private func finish(_ checkup: SecretsCheckup, _ place: Place) {
        let look = checkup.service
        if look.hasRecord, let item = rows.liveRecord(place.scope), (try? open(record: item, place)) != nil {
            if record.count != look.count || record.sum != look.sum {
                checkup.findings.note(
                    SecretDamage(
                        what: .sum, row: place.scope.name, missing: Int(record.count) - Int(look.count)),
                    SecretName(service: record.name, account: Bytes()))
            }
            record.close()
        }
        checkup.end()
    }
}
