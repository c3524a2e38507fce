import KuraBytes
import Sodium
import Synchronization

/// What is known of secrets while they are unlocked: keys of services, which of them have been checked, and what expires when. Names are
/// not kept: they are opened when somebody asks, and zeroed. It goes, and the keys with it, when the key ring is locked.
final class Vault {
    /// The key ring's, when the vault was opened.
    let generation: UInt64
    let sealer: SecretSealer
    /// Services whose records are still to be checked; then those whose heads are, when nobody asks for them first.
    var unread: ContiguousArray<NameHash> = []
    var position = 0
    /// All records have been checked against the store's.
    var hasReadRecords = false
    var checkedSum = SetSum()
    var checkedCount: UInt64 = 0
    /// A service's record is not what it was, or one has gone: nothing here can be relied on.
    var isDamaged = false
    var services: [NameHash: OpenService] = [:]
    var expiries = ExpiryQueue()
    var rewrapping = Rewrapping()
    /// Items that stay readable when the store is locked; it may have some that have gone.
    var lasting: Set<ItemHash> = []
    /// nil until somebody asks for one.
    var tokens: SecretTokens?

    init(_ ring: KeyRing, _ ledger: Ledger) throws(SecretsError) {
        generation = ring.generation
        sealer = try SecretSealer(ring)
        for scope in ledger.scopes.all where scope.store == .secrets {
            if let hash = scope.withName({ NameHash(text: $0) }) { unread.append(hash) }
        }
    }
}

/// A flag: a read or a backup has met a damaged secret since the secrets were unlocked. A repair clears it; a backup sets it on its own thread.
final class MetDamage: Sendable {
    private let flag = Atomic<Bool>(false)

    var isSet: Bool { flag.load(ordering: .relaxed) }
    func note() { flag.store(true, ordering: .relaxed) }
    func forget() { flag.store(false, ordering: .relaxed) }
}

/// A service whose heads are being checked, or have been.
final class OpenService {
    let hash: NameHash
    /// Its keys, by number.
    var keys: [UInt32: SecretKey] = [:]
    /// Its heads are not what they were, or some have gone.
    var isDamaged = false
    var isChecked = false
    /// Reads wait until they are in the audit; nil: its record says.
    var auditsEachRead: Bool?

    // While it is checked.
    var isBegun = false
    /// The head to go on with, which cannot go as long as the service is not open to anybody.
    var next: ItemRef?
    var sum = SetSum()
    var count: UInt64 = 0
    var sorted = SortedItems([])

    init(_ hash: NameHash) { self.hash = hash }
}

/// Which items have something that expires, the soonest first. It may have more than there is: who takes one out looks at the item.
struct ExpiryQueue {
    struct Entry {
        /// Milliseconds since 1970.
        var at: Int64
        var service: NameHash
        var item: NameHash
        /// Of the change that has told it, for the note of a trap.
        var rev: UInt64
    }
    /// A binary heap.
    private var entries: ContiguousArray<Entry> = []

    var first: Entry? { entries.first }
    var count: Int { entries.count }

    mutating func insert(_ entry: Entry) {
        entries.append(entry)
        var position = entries.count - 1
        while position > 0, entries[position].at < entries[(position - 1) / 2].at {
            entries.swapAt(position, (position - 1) / 2)
            position = (position - 1) / 2
        }
    }

    mutating func removeFirst() {
        entries.swapAt(0, entries.count - 1)
        entries.removeLast()
        var position = 0
        while true {
            var least = position
            for child in [2 * position + 1, 2 * position + 2]
            where child < entries.count && entries[child].at < entries[least].at {
                least = child
            }
            if least == position { return }
            entries.swapAt(position, least)
            position = least
        }
    }
}
