public import KuraBytes
import Sodium

/// Sealing anew, under the newest keys, what is sealed with older ones: after a service has got another key, and after the root key was rotated.
///
/// What is to be done follows from what is there: a service whose record has several keys, epochs of the root key that have been retired. So
/// nothing has to be remembered, and a start goes on wherever a kill has stopped it. A service is gone through in slices, each a transaction:
/// heads are opened and sealed anew, with the data keys in them; values stay as they are, since their own keys do. When a pass over a service
/// has found nothing more to do, and every data key opened under the newest key, the older keys leave its record; when that is so for all
/// services, and on the disk, the older root keys go. Until then both are there, and everything can be read.
final class Rewrapping {
    /// Services to go through.
    var queue: ContiguousArray<NameHash> = []
    /// Where in the first of them the next slice begins; empty for its beginning.
    var cursor: [UInt8] = []
    /// The pass over it has sealed something anew.
    var hasStaged = false
    /// Services that cannot be gone through: older root keys stay for them.
    var failed: Set<NameHash> = []
    /// Heads that have been gone through, of about so many.
    var done = 0
    var total = 0
    /// The older root keys may go when everything up to this revision is on the disk; nil before that is known.
    var retiresAt: UInt64?
    /// The first look at all services has been taken.
    var isPlanned = false
    /// The last look before older root keys go: scopes that are still to be looked at, the last first, and where in it.
    struct LastLook {
        var scopes: [Scope]
        var cursor: [UInt8] = []
    }
    var lastLook: LastLook?

    var isUnderWay: Bool { !queue.isEmpty }
}

extension SecretsStore {
    /// Heads of a slice.
    private static let rewrapItems = 32

    /// How far sealing anew has come; nil when nothing is to be done.
    public var rewrapProgress: (done: Int, total: Int)? {
        guard ring.isUnlocked, let vault, vault.generation == ring.generation else { return nil }
        let rewrapping = vault.rewrapping
        guard rewrapping.isUnderWay || !ring.retiredEpochs.isEmpty else { return nil }
        return (rewrapping.done, max(rewrapping.total, rewrapping.done))
    }

    /// Gives a service another key; from then on it is sealed anew by and by.
    /// - Throws: as `configure`; `.overloaded` while an earlier rotation of it is under way, `.absent`.
    public func rotate(service: Bytes, by author: Author) throws(SecretsError) -> WriteResult {
        guard let place = try find(service: service), let item = rows.liveRecord(place.scope) else {
            throw .absent(shownRev: ledger.dropRev)
        }
        defer { memory.close() }
        try open(record: item, place)
        let isUnderWay = record.keys.count > 1
        let number = record.newestKey
        record.close()
        guard !isUnderWay, number < .max else { throw .engine(.overloaded) }
        let fresh = try newKey()
        let rev = try ledger.transaction(by: author) { () throws(SecretsError) in
            let before = try openRecord(service, place)
            memory.serviceKey.removeAll()
            place.vault.sealer.seal(serviceKey: fresh, number: number + 1, of: record.name, to: &memory.serviceKey)
            let isSame = try place.vault.sealer.open(
                serviceKey: memory.serviceKey.bytes, number: number + 1, of: record.name
            ).equals(fresh)
            guard isSame else { throw .integrity }
            record.keys.append((number + 1, memory.serviceKey.bytes))
            record.newestKey = number + 1
            try stageRecord(before, place, headBytes: 0)
        }
        place.vault.rewrapping.queue.append(place.service.hash)
        place.vault.rewrapping.total += place.scope.count - 1
        return WriteResult(rev: rev ?? 0, changed: 1)
    }

    // MARK: Slices

    /// Whether a slice could be done now.
    var canRewrap: Bool {
        guard ring.isUnlocked, let vault, vault.generation == ring.generation, vault.hasReadRecords,
            vault.position == vault.unread.count, !vault.isDamaged
        else { return false }
        plan(vault)
        return vault.rewrapping.isUnderWay
    }

    /// Looks which services have something to do, once after unlocking and after each rotation of the root key: those begin with a new vault.
    private func plan(_ vault: Vault) {
        let rewrapping = vault.rewrapping
        guard !rewrapping.isPlanned else { return }
        rewrapping.isPlanned = true
        defer { record.close() }
        for scope in ledger.scopes.list(.secrets) {
            guard let hash = scope.withName({ NameHash(text: $0) }), let item = rows.liveRecord(scope) else { continue }
            var isWanted = !ring.retiredEpochs.isEmpty
            if !isWanted {
                let isOpen: Void? = try? scope.withName { (name) throws(SecretsError) in
                    try record.open(item.value, scope: name, vault.sealer)
                }
                isWanted = isOpen != nil && record.keys.count > 1
            }
            guard isWanted, !rewrapping.queue.contains(hash) else { continue }
            rewrapping.queue.append(hash)
            rewrapping.total += max(0, scope.count - 1)
        }
        if rewrapping.queue.isEmpty, !ring.retiredEpochs.isEmpty { rewrapping.retiresAt = ledger.rev }
    }

    /// Seals some of what is first in the queue anew.
    /// - Throws: what staging throws; then nothing of the slice was done.
    func rewrapSome() throws(SecretsError) {
        guard canRewrap, let vault, let hash = vault.rewrapping.queue.first else { return }
        keeper.isChangingUnasked = true
        defer { keeper.isChangingUnasked = false }
        let rewrapping = vault.rewrapping
        let place: Place
        do throws(SecretsError) {
            guard let found = try find(hash, vault) else { return end(hash, rewrapping) }
            place = found
        } catch {
            guard error == .integrity else { throw error }
            rewrapping.failed.insert(hash)
            return end(hash, rewrapping)
        }
        defer { memory.close() }
        var slice = Slice(cursor: rewrapping.cursor)
        do throws(SecretsError) {
            _ = try ledger.transaction(by: .daemon) { () throws(SecretsError) in
                try rewrap(&slice, place)
                if slice.isAtEnd, !slice.hasStaged, !rewrapping.hasStaged { try dropOldKeys(place) }
            }
        } catch {
            guard error == .integrity || error == .otherHostKey else { throw error }
            rewrapping.failed.insert(hash)
            return end(hash, rewrapping)
        }
        rewrapping.done += slice.counted
        rewrapping.cursor = slice.cursor
        if slice.hasStaged { rewrapping.hasStaged = true }
        guard slice.isAtEnd else { return }
        // Once more, to see that nothing is left; what was written meanwhile is sealed with the newest keys.
        let isThrough = !rewrapping.hasStaged
        rewrapping.cursor = []
        rewrapping.hasStaged = false
        if isThrough {
            place.service.keys.removeAll()
            end(hash, rewrapping)
        }
    }

    private func end(_ hash: NameHash, _ rewrapping: Rewrapping) {
        rewrapping.queue.removeAll { $0 == hash }
        rewrapping.cursor = []
        rewrapping.hasStaged = false
        if rewrapping.queue.isEmpty, rewrapping.failed.isEmpty { rewrapping.retiresAt = ledger.rev }
    }

    /// The turn was taken back: what was sealed anew in it is looked at again.
    func takeBackRewrapping() {
        guard let vault else { return }
        vault.rewrapping = Rewrapping()
        // One that a service was given in it is none any more, and another may get its number.
        for service in vault.services.values { service.keys.removeAll() }
    }

    /// Older root keys stay until the secrets are unlocked the next time.
    func keepOldRoots() { vault?.rewrapping.retiresAt = nil }

    private struct Slice {
        var cursor: [UInt8]
        var isAtEnd = false
        var hasStaged = false
        /// Heads that were sealed anew.
        var counted = 0
    }

    private func rewrap(_ slice: inout Slice, _ place: Place) throws(SecretsError) {
        guard let recordItem = rows.liveRecord(place.scope) else { throw .integrity }
        try open(record: recordItem, place)
        let newest = record.newestKey
        record.close()
        let deadline = ledger.clock.deadline(after: Self.slice)
        let members = place.scope.sortedMembers()
        var position = slice.cursor.withBytes { members.lowerBound(of: $0) }
        var looked = 0
        while let item = members[position] {
            if slice.counted == Self.rewrapItems || looked % 16 == 15 && deadline.isOver { return }
            members.advance(&position)
            looked += 1
            if !item.key.equals(SecretRecords.key), !item.isTombstone {
                if try rewrap(item, newest, place) {
                    slice.counted += 1
                    slice.hasStaged = true
                }
            }
            slice.cursor = Array(item.key) + [0]
        }
        slice.isAtEnd = true
    }

    /// - Returns: whether there was something to do. Otherwise every data key of the item has been opened.
    private func rewrap(_ item: ItemRef, _ newest: UInt32, _ place: Place) throws(SecretsError) -> Bool {
        let sealer = place.vault.sealer
        try open(item, place)
        var places: [(index: Int, key: Range<Int>)] = []
        memory.sealedKey.removeAll()
        var versions = head.versions
        for index in versions.indices where !versions[index].isDestroyed {
            let dataKey = try sealer.open(dataKey: versions[index].sealedKey, try sealing(versions[index], place))
            guard versions[index].serviceKeyNumber != newest else { continue }
            versions[index].serviceKeyNumber = newest
            let start = memory.sealedKey.count
            let target = try sealing(versions[index], place)
            try sealer.seal(dataKey: dataKey, target, to: &memory.sealedKey)
            // The old one is let go only when the new one is seen to open.
            guard
                try sealer.open(dataKey: memory.sealedKey.bytes(start..<memory.sealedKey.count), target).equals(dataKey)
            else {
                throw .integrity
            }
            places.append((index, start..<memory.sealedKey.count))
        }
        guard !places.isEmpty || sealer.isOld(item.value) else { return false }
        for (index, key) in places { versions[index].sealedKey = memory.sealedKey.bytes(key) }
        head.versions = versions
        memory.rowKey.removeAll()
        memory.rowKey.append(item.key)
        try stageHead(place, item)
        return true
    }

    /// Nothing is sealed with the service's older keys: they leave its record, which is sealed in the newest epoch, its key as well.
    private func dropOldKeys(_ place: Place) throws(SecretsError) {
        guard let item = rows.liveRecord(place.scope) else { throw .integrity }
        try open(record: item, place)
        let sealer = place.vault.sealer
        guard let newest = record.keys.first(where: { $0.number == record.newestKey }) else { throw .integrity }
        let isOld = sealer.isOld(item.value) || sealer.isOld(newest.sealed)
        guard record.keys.count > 1 || isOld else { return record.close() }
        var copy = ByteBuffer()
        copy.wipes = true
        copy.append(record.name)
        // It lasts for as long as its bytes are used.
        defer { copy.removeAll() }
        let name = copy.bytes
        record.close()
        let before = try openRecord(name, place)
        let number = record.newestKey
        guard let known = record.keys.first(where: { $0.number == number }) else { throw .integrity }
        let key = try sealer.open(serviceKey: known.sealed, number: number, of: name)
        memory.serviceKey.removeAll()
        sealer.seal(serviceKey: key, number: number, of: name, to: &memory.serviceKey)
        guard try sealer.open(serviceKey: memory.serviceKey.bytes, number: number, of: name).equals(key) else {
            throw .integrity
        }
        record.keys = [(number, memory.serviceKey.bytes)]
        try stageRecord(before, place, headBytes: 0)
    }

    // MARK: Older root keys

    /// The oldest root key that nothing is sealed with any more; nil when there is none, or that is not known yet.
    func epochToRetire(syncedRev: SyncedRev) -> UInt32? {
        guard ring.isUnlocked, let vault, vault.generation == ring.generation, let rev = vault.rewrapping.retiresAt,
            syncedRev.has(rev), rev <= ledger.committedRev, let epoch = ring.retiredEpochs.first
        else { return nil }
        // Whatever has led here: what is there decides.
        return lookForOld(vault) ? epoch : nil
    }

    /// It is being looked whether something is sealed with an older root key still.
    var isLookingForOld: Bool {
        guard ring.isUnlocked, let vault, vault.generation == ring.generation else { return false }
        return vault.rewrapping.lastLook.map { !$0.scopes.isEmpty } ?? false
    }

    /// Looks at some of what is there. What is written meanwhile is sealed with the newest.
    /// - Returns: whether all has been looked at, and nothing is sealed with an older root key.
    private func lookForOld(_ vault: Vault) -> Bool {
        let rewrapping = vault.rewrapping
        var look = rewrapping.lastLook ?? Rewrapping.LastLook(scopes: ledger.scopes.list(.secrets))
        let deadline = ledger.clock.deadline(after: Self.slice)
        var looked = 0
        while let scope = look.scopes.last {
            let members = scope.sortedMembers()
            var position = look.cursor.withBytes { members.lowerBound(of: $0) }
            while let item = members[position] {
                looked += 1
                if looked % 64 == 0, deadline.isOver {
                    look.cursor = Array(item.key)
                    rewrapping.lastLook = look
                    return false
                }
                // What lies beside the store's record is sealed with lasting keys, or not at all.
                let isBeside = NameHash(text: item.key) == nil && !item.key.equals(SecretRecords.key)
                if !isBeside, vault.sealer.isOld(item.value) {
                    rewrapping.lastLook = nil
                    keepOldRoots()
                    return false
                }
                members.advance(&position)
            }
            look.scopes.removeLast()
            look.cursor = []
        }
        rewrapping.lastLook = look
        return true
    }
}

extension SecretSealer {
    /// Whether it is sealed with what follows from an older root key.
    func isOld(_ sealed: Bytes) -> Bool {
        sealed.count < Self.prefixBytes
            || UInt32(littleEndian: sealed.loadUnaligned(fromByteOffset: 2, as: UInt32.self)) != epoch
    }
}
