import KuraBytes
import Sodium

/// What changes of secrets consist of. `head` is the item's, `memory.rowKey` the text of its hash.
extension SecretsStore {
    /// Opens the item's head and holds its revision against the condition. What has expired counts as absent there.
    /// - Returns: the item, expired or not; nil when there is none.
    func openForChange(_ name: SecretName, _ place: Place, _ ifRev: Precondition) throws(SecretsError)
        -> ItemRef?
    {
        memory.hash(name, place.vault)
        guard let item = ledger.find(place.scope, memory.rowKey.bytes), !item.isTombstone else {
            if let ifRev, ifRev != 0 { throw .engine(.conflict(currentRev: 0)) }
            return nil
        }
        try open(item, place)
        if let ifRev {
            let current = head.current(at: ledger.steadyNow) == nil ? 0 : item.pointee.rev
            guard current == ifRev else { throw .engine(.conflict(currentRev: current)) }
        }
        return item
    }

    func apply(_ options: SecretOptions) {
        if let label = options.label { head.label = label }
        if let attributes = options.attributes { head.attributes = attributes }
        if let accessibility = options.accessibility { head.accessibility = accessibility }
        if let isDeviceOnly = options.isDeviceOnly { head.isDeviceOnly = isDeviceOnly }
        if let isInBackups = options.isInBackups { head.isInBackups = isInBackups }
        if let maxVersions = options.maxVersions { head.maxVersions = maxVersions }
    }

    /// Seals a value as the next version of the item that `head` is of, and stages it.
    func append(_ value: Bytes, _ kind: SecretKind, expiresAt: Int64, _ place: Place) throws(SecretsError)
        -> UInt32
    {
        let number = try newestKey(place)
        var version = SecretVersion(
            number: head.lastVersion + 1, rev: ledger.rev + 1, createdAt: ledger.now, expiresAt: expiresAt,
            size: UInt32(value.count), kind: kind, isDeviceOnly: head.isDeviceOnly, serviceKeyNumber: number,
            sealedKey: Bytes())
        memory.sealedKey.removeAll()
        try stage(value, &version, place)
        version.sealedKey = memory.sealedKey.bytes
        head.lastVersion = version.number
        head.versions.append(version)
        return version.number
    }

    /// Stages the row of a version under a data key of its own, which is appended to `memory.sealedKey`.
    func stage(_ value: Bytes, _ version: inout SecretVersion, _ place: Place) throws(SecretsError) {
        let sealing = try sealing(version, place)
        let dataKey = try newKey()
        try place.vault.sealer.seal(dataKey: dataKey, sealing, to: &memory.sealedKey)
        memory.row.removeAll()
        defer { if memory.row.capacity > 64 << 10 { memory.row.releaseMemory() } else { memory.row.removeAll() } }
        place.vault.sealer.seal(value: value, sealing, dataKey: dataKey, to: &memory.row)
        let scope = place.scope.withName { ledger.scopes.findOrPrepare(.secretVersions, $0) }
        if !scope.isInTable { scope.accounts = place.scope.accounts }
        rows.makeKey(of: memory.rowKey.bytes, version: version.number)
        let old = scope.isInTable ? try rows.find(scope) : nil
        do throws(EngineError) {
            try ledger.stage(
                scope, key: rows.key.bytes, value: memory.row.bytes, isTombstone: false, old: old,
                oldBytes: old.map { $0.isTombstone ? 0 : $0.value.count } ?? 0, newBytes: memory.row.count
            ) { item in
                if let old {
                    item.pointee.row = old.pointee.row
                    item.pointee.version = old.pointee.version &+ 1
                } else {
                    item.pointee.row = scope.rows.take()
                }
            }
        } catch { throw .engine(error) }
    }

    func newKey() throws(SecretsError) -> SecretKey {
        do throws(SodiumError) { return try SecretKey() } catch { throw .engine(.overloaded) }
    }

    /// Stages that the row of a version goes; nothing is left of it in the tables. That the item is changed once in a transaction its head tells.
    func stageRemoval(of number: UInt32, _ place: Place) throws(SecretsError) {
        rows.makeKey(of: memory.rowKey.bytes, version: number)
        guard let scope = rows.values(of: place.scope), let old = try rows.find(scope), !old.isTombstone else { return }
        try rows.stageRemoval(of: old, in: scope)
    }

    /// Lets go of the versions beyond those that the item keeps, and of those that have expired below the newest.
    func trimVersions(_ place: Place) throws(SecretsError) {
        var most = head.maxVersions
        if most == 0, head.versions.last?.kind.isKey == true {
            // What an earlier version has sealed or signed is still there.
            most = Self.versionsLimit
        } else if most == 0 {
            most = SecretRecords.standardVersions
            if let item = rows.liveRecord(place.scope) {
                try open(record: item, place)
                most = record.maxVersions
                record.close()
            }
        }
        while head.versions.count > most {
            let version = head.versions.removeFirst()
            if !version.isDestroyed { try stageRemoval(of: version.number, place) }
        }
    }

    /// Stages what `head` has become.
    func stageHead(_ place: Place, _ old: ItemRef?) throws(SecretsError) {
        let service = head.name.service
        memory.plaintext.removeAll()
        head.updatedAt = ledger.now
        head.encode(to: &memory.plaintext)
        memory.row.removeAll()
        place.scope.withName { scope in
            place.vault.sealer.seal(
                row: memory.plaintext.bytes, .head, scope: scope, key: memory.rowKey.bytes, to: &memory.row)
        }
        memory.plaintext.removeAll()
        noteExpiry(of: memory.rowKey.bytes, ledger.rev + 1, place.service, place.vault)
        noteAccessibility(of: memory.rowKey.bytes, place.service, place.vault)
        try stage(memory.row.bytes, isTombstone: false, old, of: service, place)
    }

    /// Stages that the item goes whose head is open, with all its versions.
    func stageDeletion(_ old: ItemRef, _ place: Place) throws(SecretsError) {
        for version in head.versions where !version.isDestroyed { try stageRemoval(of: version.number, place) }
        let service = head.name.service
        // The feed says of what; nobody else can.
        memory.plaintext.removeAll()
        for part in [head.name.service, head.name.account, head.name.group] { memory.plaintext.append(prefixed: part) }
        memory.row.removeAll()
        place.scope.withName { scope in
            place.vault.sealer.seal(
                row: memory.plaintext.bytes, .names, scope: scope, key: memory.rowKey.bytes, to: &memory.row)
        }
        memory.plaintext.removeAll()
        try stage(memory.row.bytes, isTombstone: true, old, of: service, place)
    }

    /// Stages a head's row and with it the records of its service and of the store.
    func stage(_ value: Bytes, isTombstone: Bool, _ old: ItemRef?, of service: Bytes, _ place: Place)
        throws(SecretsError)
    {
        let scope = place.scope
        let sealer = place.vault.sealer
        // A record that is there can be opened; before it is staged the old one is needed.
        let before = try openRecord(service, place)
        let oldBytes = old.map { $0.key.count + $0.value.count } ?? 0
        let newBytes = isTombstone ? 0 : memory.rowKey.count + value.count
        if let old {
            record.sum -= sealer.element(scope, old)
            record.count -= 1
        }
        if !isTombstone {
            scope.withName { name in
                record.sum += sealer.element(scope: name, key: memory.rowKey.bytes, rev: ledger.rev + 1, row: value)
            }
            record.count += 1
        }
        let current = ledger.find(scope, memory.rowKey.bytes)
        do throws(EngineError) {
            try ledger.stage(
                scope, key: memory.rowKey.bytes, value: value, isTombstone: isTombstone, old: current,
                oldBytes: oldBytes,
                newBytes: newBytes, mayRepeat: isRepairing
            ) { item in item.pointee.version = (current?.pointee.version ?? 0) &+ 1 }
        } catch { throw .engine(error) }
        try stageRecord(before, place, headBytes: newBytes - oldBytes)
    }

    /// The number of the service's newest key; a service that is about to be made gets its first.
    func newestKey(_ place: Place) throws(SecretsError) -> UInt32 {
        guard let item = rows.liveRecord(place.scope) else {
            if place.service.keys[1] == nil { place.service.keys[1] = try newKey() }
            return 1
        }
        try open(record: item, place)
        defer { record.close() }
        return record.newestKey
    }

    /// Opens the service's record into `record`; a new one when there is none.
    func openRecord(_ service: Bytes, _ place: Place) throws(SecretsError) -> RecordBefore {
        guard let item = rows.liveRecord(place.scope) else {
            record.begin(service)
            record.newestKey = try newestKey(place)
            memory.serviceKey.removeAll()
            place.vault.sealer.seal(serviceKey: place.service.keys[1]!, number: 1, of: service, to: &memory.serviceKey)
            record.keys = [(1, memory.serviceKey.bytes)]
            if !place.scope.isInTable { place.scope.members.keep(order: SortedItems([])) }
            return RecordBefore(item: nil, element: SetSum())
        }
        try open(record: item, place)
        return RecordBefore(item: item, element: place.vault.sealer.element(place.scope, item))
    }

    /// Stages what `record` has become, and with it the store's record.
    /// - Throws: `.quotaExceeded` when heads would take more memory than they may.
    func stageRecord(_ before: RecordBefore, _ place: Place, headBytes: Int) throws(SecretsError) {
        let sealer = place.vault.sealer
        let key = Bytes(SecretRecords.key)
        memory.plaintext.removeAll()
        record.encode(to: &memory.plaintext)
        record.close()
        memory.row.removeAll()
        let element = place.scope.withName { scope in
            sealer.seal(row: memory.plaintext.bytes, .service, scope: scope, key: key, to: &memory.row)
            return sealer.element(scope: scope, key: key, rev: ledger.rev + 1, row: memory.row.bytes)
        }
        memory.plaintext.removeAll()
        try rows.stage(record: memory.row.bytes, key: key, place.scope)

        var store = try keeper.storeRecord(sealer) ?? keeper.firstStoreRecord
        if before.item == nil { store.services += 1 }
        store.sum -= before.element
        store.sum += element
        store.bytes = UInt64(max(0, Int(store.bytes) + headBytes))
        guard headBytes <= 0 || store.bytes <= UInt64(Self.headsLimit) else {
            throw .engine(.quotaExceeded(limit: Self.headsLimit))
        }
        try keeper.stage(store, element, sealer)
    }

    // MARK: Names

    /// Stages that the item is called otherwise: its values are opened and sealed anew under the new name.
    func stageRenaming(_ old: ItemRef, _ target: SecretName, _ place: Place) throws(SecretsError) {
        let source = head.name
        let from = Array(memory.rowKey.bytes)
        var places: [(index: Int, key: Range<Int>)] = []
        var versions = head.versions
        memory.sealedKey.removeAll()
        for index in versions.indices where !versions[index].isDestroyed {
            memory.rowKey.removeAll()
            memory.rowKey.append(from)
            head.name = source
            try openValue(versions[index], place)
            var value = SecretBuffer()
            swap(&value, &memory.plaintext)
            head.name = target
            memory.hash(target, place.vault)
            let start = memory.sealedKey.count
            try stage(value.bytes, &versions[index], place)
            places.append((index, start..<memory.sealedKey.count))
        }
        head.name = source
        memory.rowKey.removeAll()
        memory.rowKey.append(from)
        try stageDeletion(old, place)
        for (index, key) in places { versions[index].sealedKey = memory.sealedKey.bytes(key) }
        head.versions = versions
        head.name = target
        memory.hash(target, place.vault)
        try stageHead(place, nil)
    }

    // MARK: What expires

    /// Removes what has expired, some items. Called at the beginning of a turn.
    /// - Throws: `.cold` and `.busy`: it goes on later.
    func sweep(most: Int) throws(SecretsError) {
        guard let vault, vault.generation == ring.generation else { return }
        keeper.isChangingUnasked = true
        defer { keeper.isChangingUnasked = false }
        var left = most
        while left > 0, let entry = vault.expiries.first, entry.at <= ledger.steadyNow {
            left -= 1
            Work.at(.expiry, entry.rev)
            try sweep(entry, vault)
            vault.expiries.removeFirst()
            swept.append(entry)
        }
    }

    private func sweep(_ entry: ExpiryQueue.Entry, _ vault: Vault) throws(SecretsError) {
        guard let place = try? find(entry.service, vault) else { return }
        defer { memory.close() }
        memory.rowKey.removeAll()
        entry.item.append(to: &memory.rowKey)
        guard let item = ledger.find(place.scope, memory.rowKey.bytes), !item.isTombstone else { return }
        try open(item, place)
        guard head.nextExpiry != 0, head.nextExpiry <= ledger.steadyNow else { return }
        _ = try ledger.transaction(by: .daemon) { () throws(SecretsError) in
            guard head.current(at: ledger.steadyNow) != nil else { return try stageDeletion(item, place) }
            for version in head.versions where version.isExpired(at: ledger.steadyNow) && !version.isDestroyed {
                try stageRemoval(of: version.number, place)
            }
            head.versions.removeAll { $0.isExpired(at: ledger.steadyNow) }
            try stageHead(place, item)
        }
    }

    /// The turn's changes were taken back, or are in the log.
    func noteSwept(isStored: Bool) {
        if !isStored, let vault { for entry in swept { vault.expiries.insert(entry) } }
        swept.removeAll(keepingCapacity: true)
    }
}

extension SecretsStore {
    /// What the store's record has to subtract when a service's changes.
    struct RecordBefore {
        var item: ItemRef?
        var element: SetSum
    }
}
