public import KuraBytes
import Sodium

extension SecretsStore {
    /// Versions that an item can be told to keep.
    public static let versionsLimit = 100

    // MARK: Writing

    /// Puts a new version of a secret.
    /// - Throws: `.wrongKind` when a key was to take the place of something else, the other way round, or of a key of another kind;
    ///   `.conflict`, `.valueTooLarge`, `.quotaExceeded`, what `get` throws, and what staging a change throws.
    public func put(
        _ name: SecretName, _ secret: NewSecret, ifRev: Precondition, by author: Author
    ) throws(SecretsError) -> (result: WriteResult, version: UInt32) {
        guard secret.value.count <= Self.valueLimit else { throw .engine(.valueTooLarge(limit: Self.valueLimit)) }
        let place = try findOrPrepare(service: name.service)
        defer { memory.close() }
        let old = try openForChange(name, place, ifRev)
        if old == nil { head.begin(name, at: ledger.now) }
        if let current = head.current(at: ledger.steadyNow), current.kind != secret.kind {
            // All versions of a key are for one thing.
            guard !current.kind.isKey, !secret.kind.isKey else { throw .wrongKind }
        }
        apply(secret.options)
        var version: UInt32 = 0
        let rev = try ledger.transaction(by: author) { () throws(SecretsError) in
            version = try append(secret.value, secret.kind, expiresAt: secret.options.expiresAt ?? 0, place)
            try trimVersions(place)
            try stageHead(place, old)
        }
        return (WriteResult(rev: rev ?? 0, changed: 1), version)
    }

    /// Changes what is said of a secret; its values stay.
    /// - Throws: `.absent`, and as `put`.
    public func setOptions(
        _ name: SecretName, _ options: SecretOptions, ifRev: Precondition, by author: Author
    ) throws(SecretsError) -> WriteResult {
        guard let place = try find(service: name.service) else { throw missing(ifRev, ledger.dropRev) }
        defer { memory.close() }
        guard let old = try openForChange(name, place, ifRev), head.current(at: ledger.steadyNow) != nil else {
            throw .absent(shownRev: 0)
        }
        apply(options)
        if let expiresAt = options.expiresAt { head.versions[head.versions.count - 1].expiresAt = expiresAt }
        let rev = try ledger.transaction(by: author) { () throws(SecretsError) in
            try trimVersions(place)
            try stageHead(place, old)
        }
        return WriteResult(rev: rev ?? 0, changed: 1)
    }

    /// Removes a secret with all its versions. One that is not there is no error.
    public func delete(_ name: SecretName, ifRev: Precondition, by author: Author) throws(SecretsError) -> WriteResult {
        guard let place = try find(service: name.service) else {
            if let ifRev, ifRev != 0 { throw .engine(.conflict(currentRev: 0)) }
            return absent(ledger.dropRev, author)
        }
        defer { memory.close() }
        guard let old = try openForChange(name, place, ifRev) else {
            return absent(ledger.find(place.scope, memory.rowKey.bytes)?.pointee.rev ?? 0, author)
        }
        let wasThere = head.current(at: ledger.steadyNow) != nil
        let rev = try ledger.transaction(by: author) { () throws(SecretsError) in try stageDeletion(old, place) }
        return WriteResult(rev: rev ?? 0, changed: wasThere ? 1 : 0)
    }

    /// Makes what an earlier version was the newest again.
    /// - Throws: `.noSuchVersion`, `.absent`, and as `put`.
    public func restore(
        _ name: SecretName, version number: UInt32, ifRev: Precondition, by author: Author
    ) throws(SecretsError) -> (result: WriteResult, version: UInt32) {
        guard let place = try find(service: name.service) else { throw missing(ifRev, ledger.dropRev) }
        defer { memory.close() }
        guard let old = try openForChange(name, place, ifRev), head.current(at: ledger.steadyNow) != nil else {
            throw .absent(shownRev: 0)
        }
        guard let version = head.versions.first(where: { $0.number == number }), !version.isDestroyed,
            !version.isExpired(at: ledger.steadyNow)
        else { throw .noSuchVersion(shownRev: old.pointee.rev) }
        try openValue(version, place)
        var value = SecretBuffer()
        swap(&value, &memory.plaintext)
        var made: UInt32 = 0
        let rev = try ledger.transaction(by: author) { () throws(SecretsError) in
            made = try append(value.bytes, version.kind, expiresAt: version.expiresAt, place)
            try trimVersions(place)
            try stageHead(place, old)
        }
        return (WriteResult(rev: rev ?? 0, changed: 1), made)
    }

    /// Destroys a version: its key and its value are gone from memory and the tables with the change, and owed to be overwritten everywhere
    /// else (`ScrubNote`). What it was called stays. One that is destroyed already is no error.
    /// - Throws: `.noSuchVersion`, `.absent`, and as `put`.
    public func destroy(
        _ name: SecretName, version number: UInt32, ifRev: Precondition, by author: Author
    ) throws(SecretsError) -> WriteResult {
        guard let place = try find(service: name.service) else { throw missing(ifRev, ledger.dropRev) }
        defer { memory.close() }
        // Sent again its condition may be about what it has done itself.
        guard let old = try openForChange(name, place, nil) else { throw missing(ifRev, ledger.dropRev) }
        guard let index = head.versions.firstIndex(where: { $0.number == number }) else {
            throw .noSuchVersion(shownRev: old.pointee.rev)
        }
        guard !head.versions[index].isDestroyed else {
            ledger.countNoOp(.secrets, by: author)
            return WriteResult(rev: old.pointee.rev, changed: 0)
        }
        do throws(EngineError) { try ledger.check(ifRev, old) } catch { throw .engine(error) }
        let rev = try ledger.transaction(by: author) { () throws(SecretsError) in
            try stageRemoval(of: number, place)
            head.versions[index].isDestroyed = true
            head.versions[index].sealedKey = Bytes()
            try stageHead(place, old)
            do throws(EngineError) { try scrubNote.stage(isOwed: true) } catch { throw .engine(error) }
        }
        return WriteResult(rev: rev ?? 0, changed: 1)
    }

    /// Gives a secret another account, with all its versions: they are sealed anew, since a seal names what it is of.
    /// - Throws: `.wrongKind` for a key that seals; `.absent`, `.conflict` with 0 expected when there is one of the new name, its own too, and as `put`.
    public func rename(
        _ name: SecretName, to account: Bytes, ifRev: Precondition, by author: Author
    ) throws(SecretsError) -> WriteResult {
        guard let place = try find(service: name.service) else { throw missing(ifRev, ledger.dropRev) }
        defer { memory.close() }
        let target = SecretName(service: name.service, account: account, group: name.group)
        memory.hash(target, place.vault)
        if let other = ledger.find(place.scope, memory.rowKey.bytes), !other.isTombstone {
            throw .engine(.conflict(currentRev: other.pointee.rev))
        }
        guard let old = try openForChange(name, place, ifRev), head.current(at: ledger.steadyNow) != nil else {
            throw .absent(shownRev: 0)
        }
        // What it has sealed names it.
        guard head.versions.last?.kind != .xchacha20Poly1305 else { throw .wrongKind }
        let rev = try ledger.transaction(by: author) { () throws(SecretsError) in try stageRenaming(old, target, place)
        }
        return WriteResult(rev: rev ?? 0, changed: 1)
    }

    /// Deletes secrets of a service, so many at most.
    /// - Parameters:
    ///   - service: whose.
    ///   - most: how many at most; fewer go where there is little room.
    ///   - isWanted: whether one is to go, by its access group; nil: all are.
    ///   - author: whose the change is.
    /// - Returns: how many are left of those that are to go.
    /// - Throws: as `put`.
    public func clear(
        service: Bytes, most: Int, where isWanted: ((Bytes) -> Bool)? = nil, by author: Author
    ) throws(SecretsError) -> (result: WriteResult, left: Int) {
        guard let place = try find(service: service) else { return (absent(ledger.dropRev, author), 0) }
        defer { memory.close() }
        var items: [ItemRef] = []
        var left = 0
        // Its record is what counts: the scope may count what somebody has removed.
        if isWanted == nil, let item = rows.liveRecord(place.scope) {
            try open(record: item, place)
            left = Int(record.count)
            record.close()
        }
        var next = place.scope.members.oldest
        while let item = next, isWanted != nil || items.count < most {
            next = item.pointee.newer
            guard !item.isTombstone, !item.key.equals(SecretRecords.key) else { continue }
            if let isWanted {
                // All are looked at, since nobody else can tell whose they are.
                try open(item, place)
                guard isWanted(head.name.group) else { continue }
                left += 1
                guard items.count < most else { continue }
            }
            items.append(item)
        }
        var cleared = 0
        let bytes = rows.values(of: place.scope)?.bytes ?? 0
        let rev = try ledger.transaction(by: author) { () throws(SecretsError) in
            for item in items {
                try open(item, place)
                // Its versions, itself and the records; what goes is zeroed.
                let zeroed = bytes - (rows.values(of: place.scope)?.bytes ?? 0)
                if cleared > 0, !ledger.mayRemove(head.versions.count + 4, zeroed: zeroed) { break }
                memory.rowKey.removeAll()
                memory.rowKey.append(item.key)
                try stageDeletion(item, place)
                cleared += 1
            }
        }
        guard let rev else { return (absent(place.scope.lastRev, author), 0) }
        return (WriteResult(rev: rev, changed: cleared), left - cleared)
    }

    /// Says what a service is; what is nil stays as it was.
    public func configure(
        service: Bytes, maxVersions: Int?, installation: Bytes?, auditsEachRead: Bool?, by author: Author
    ) throws(SecretsError) -> WriteResult {
        let place = try findOrPrepare(service: service)
        defer { memory.close() }
        if let item = rows.liveRecord(place.scope) {
            try open(record: item, place)
            let isSame =
                (maxVersions ?? record.maxVersions) == record.maxVersions
                && installation.map { $0.equals(record.installation) } ?? true
                && (auditsEachRead ?? record.auditsEachRead) == record.auditsEachRead
            record.close()
            if isSame {
                ledger.countNoOp(.secrets, by: author)
                return WriteResult(rev: item.pointee.rev, changed: 0)
            }
        }
        let rev = try ledger.transaction(by: author) { () throws(SecretsError) in
            let record = try openRecord(service, place)
            if let maxVersions { self.record.maxVersions = maxVersions }
            if let installation { self.record.installation = installation }
            if let auditsEachRead { self.record.auditsEachRead = auditsEachRead }
            try stageRecord(record, place, headBytes: 0)
        }
        place.service.auditsEachRead = nil
        return WriteResult(rev: rev ?? 0, changed: 1)
    }

    private func missing(_ ifRev: Precondition, _ shownRev: UInt64) -> SecretsError {
        if let ifRev, ifRev != 0 { return .engine(.conflict(currentRev: 0)) }
        return .absent(shownRev: shownRev)
    }

    private func absent(_ shownRev: UInt64, _ author: Author) -> WriteResult {
        ledger.countNoOp(.secrets, by: author)
        return WriteResult(rev: shownRev, changed: 0)
    }
}
