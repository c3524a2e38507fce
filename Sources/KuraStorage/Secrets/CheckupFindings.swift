public import KuraBytes

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

/// What a checkup has found so far. A service that is looked at anew takes back what had been found of it.
public struct CheckupFindings: ~Copyable {
    /// Items and versions that were looked at.
    public private(set) var items = 0
    public private(set) var versions = 0
    /// Values that another keys/host.key opens, and that are not taken for damage.
    public private(set) var otherHostKey = 0
    /// The first `mostDamages` of what is damaged.
    public private(set) var damages: [SecretDamage] = []
    /// All of them.
    public private(set) var damageCount = 0
    private var names = ByteBuffer()
    private var mark = Mark()

    private struct Mark {
        var items = 0
        var versions = 0
        var otherHostKey = 0
        var damages = 0
        var damageCount = 0
        var names = 0
    }

    /// Damages that are kept.
    public static let mostDamages = 1000

    init() { names.wipes = true }

    public func service(of damage: SecretDamage) -> Bytes { names.bytes(damage.service) }
    public func account(of damage: SecretDamage) -> Bytes { names.bytes(damage.account) }
    public func group(of damage: SecretDamage) -> Bytes { names.bytes(damage.group) }

    /// What is found from now on may be taken back.
    mutating func begin() {
        mark = Mark(
            items: items, versions: versions, otherHostKey: otherHostKey, damages: damages.count,
            damageCount: damageCount, names: names.count)
    }

    /// Forgets what was found since `begin`.
    mutating func takeBack() {
        (items, versions, otherHostKey) = (mark.items, mark.versions, mark.otherHostKey)
        damageCount = mark.damageCount
        damages.removeLast(damages.count - mark.damages)
        names.truncate(to: mark.names)
    }

    /// An item was looked at.
    mutating func count(versions: Int, otherHostKey: Int) {
        items += 1
        self.versions += versions
        self.otherHostKey += otherHostKey
    }

    mutating func note(_ damage: SecretDamage, _ name: SecretName? = nil) {
        damageCount += 1
        guard damages.count < Self.mostDamages else { return }
        var damage = damage
        if let name {
            (damage.service, damage.account, damage.group) = (keep(name.service), keep(name.account), keep(name.group))
        }
        damages.append(damage)
    }

    private mutating func keep(_ text: Bytes) -> Range<Int> {
        let start = names.count
        names.append(text)
        return start..<names.count
    }
}
