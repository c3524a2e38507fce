public import KuraBytes
import Sodium

extension SecretsStore {
    // MARK: Reading

    /// Lends a version of a secret in clear to `body`; it is zeroed afterwards.
    /// - Parameters:
    ///   - name: the item.
    ///   - version: which one; nil for the newest.
    ///   - body: called when there is such a version, which has not expired.
    /// - Returns: the revision that the answer gives away.
    /// - Throws: `.sealed`, `.preparing`, `.integrity`, `.cold`, `.unreadable`, `.noSuchVersion` for one that never was or is gone.
    public func get(_ name: SecretName, version: UInt32?, _ body: (FoundSecret, Bytes) -> Void) throws(SecretsError)
        -> UInt64
    {
        guard ring.isUnlocked || keeper.survivors == nil else { return try getSurvivor(name, version: version, body) }
        guard let place = try find(service: name.service) else { return ledger.dropRev }
        defer { memory.close() }
        memory.hash(name, place.vault)
        guard let item = ledger.find(place.scope, memory.rowKey.bytes) else { return 0 }
        guard !item.isTombstone else { return item.pointee.rev }
        try open(item, place)
        guard let current = head.current(at: ledger.steadyNow) else { return item.pointee.rev }
        var found = current
        if let version {
            guard let other = head.versions.first(where: { $0.number == version }), !other.isDestroyed,
                !other.isExpired(at: ledger.steadyNow)
            else { throw .noSuchVersion(shownRev: item.pointee.rev) }
            found = other
        }
        guard !found.isDestroyed else { throw .noSuchVersion(shownRev: item.pointee.rev) }
        try openValue(found, place)
        body(
            FoundSecret(
                rev: item.pointee.rev, version: found.number, kind: found.kind, createdAt: found.createdAt,
                expiresAt: found.expiresAt),
            memory.plaintext.bytes)
        return item.pointee.rev
    }

    /// Opens a version of the item that `head` is of and whose row's key is in `memory.rowKey`, into `memory.plaintext`.
    func openValue(_ version: SecretVersion, _ place: Place) throws(SecretsError) {
        do throws(SecretsError) { try openUnmarked(version, place) } catch {
            if error == .integrity { keeper.met.note() }
            throw error
        }
    }

    private func openUnmarked(_ version: SecretVersion, _ place: Place) throws(SecretsError) {
        rows.makeKey(of: memory.rowKey.bytes, version: version.number)
        guard let scope = rows.values(of: place.scope), let row = try rows.find(scope), !row.isTombstone else {
            throw .integrity
        }
        ledger.markRead(row)
        let sealing = try sealing(version, place)
        let dataKey = try place.vault.sealer.open(dataKey: version.sealedKey, sealing)
        try place.vault.sealer.open(value: row.value, sealing, dataKey: dataKey, into: &memory.plaintext)
        guard memory.plaintext.count == version.size else { throw .integrity }
    }

    func sealing(_ version: SecretVersion, _ place: Place) throws(SecretsError) -> SecretSealer.Place {
        SecretSealer.Place(
            name: head.name, version: version.number, kind: version.kind.rawValue,
            isDeviceOnly: version.isDeviceOnly, serviceKeyNumber: version.serviceKeyNumber,
            serviceKey: try key(version.serviceKeyNumber, place))
    }

    /// Calls `body` for each version, the oldest first; not at all when the item is absent.
    /// - Returns: the revision of the item, 0 when it is absent, and the one that the answer gives away.
    public func versions(_ name: SecretName, _ body: (SecretVersionSummary) -> Void) throws(SecretsError) -> (
        rev: UInt64, shownRev: UInt64
    ) {
        guard let place = try find(service: name.service) else { return (0, ledger.dropRev) }
        defer { memory.close() }
        memory.hash(name, place.vault)
        guard let item = ledger.find(place.scope, memory.rowKey.bytes) else { return (0, 0) }
        guard !item.isTombstone else { return (0, item.pointee.rev) }
        try open(item, place)
        guard head.current(at: ledger.steadyNow) != nil else { return (0, item.pointee.rev) }
        for version in head.versions where !version.isExpired(at: ledger.steadyNow) {
            body(
                SecretVersionSummary(
                    version: version.number, rev: version.rev, createdAt: version.createdAt,
                    expiresAt: version.expiresAt, size: Int(version.size), kind: version.kind,
                    isDestroyed: version.isDestroyed))
        }
        return (item.pointee.rev, item.pointee.rev)
    }

    /// Where a walk over secrets stands: behind an item of a service, in an order of its own, which says nothing of names.
    public struct Position: Equatable {
        var service: [UInt8]
        var item: [UInt8]

        /// 64 characters.
        public var text: [UInt8] { service + item }

        public init?(text: [UInt8]) {
            guard text.count == 2 * NameHash.textBytes else { return nil }
            service = Array(text[..<NameHash.textBytes])
            item = Array(text[NameHash.textBytes...])
            for part in [service, item] where !part.withBytes({ NameHash(text: $0) != nil }) { return nil }
        }

        /// `item` is empty for a service that nothing has been looked at of.
        init(service: [UInt8], item: [UInt8]) {
            self.service = service
            self.item = item.isEmpty ? [UInt8](repeating: UInt8(ascii: "0"), count: NameHash.textBytes) : item
        }
    }

    /// Walks over what is known of secrets, in an order of its own, the same each time.
    /// - Parameters:
    ///   - service: only of this one; nil for all.
    ///   - after: where an earlier walk stopped; nil for the beginning.
    ///   - most: items that are looked at.
    ///   - enters: whether a service's items are wanted.
    ///   - body: takes one; false when there was no room for it, and the next walk begins with it.
    /// - Returns: where to go on; nil at the end.
    /// - Throws: `.sealed`, `.preparing`, `.integrity`.
    public func list(
        service: Bytes?, after: Position?, most: Int, enters: (Bytes) -> Bool, _ body: (SecretSummary) -> Bool
    ) throws(SecretsError) -> Position? {
        var left = most
        if let service {
            guard let place = try find(service: service) else { return nil }
            return try walk(place, after: after, &left, body)
        }
        let vault = try keeper.open()
        let scopes = ledger.scopes.list(.secrets)
        var after = after
        for scope in scopes {
            guard let hash = scope.withName({ NameHash(text: $0) }) else { continue }
            if let after, scope.name.lexicographicallyPrecedes(after.service) { continue }
            guard let place = try find(hash, vault), let item = rows.liveRecord(scope) else { continue }
            defer { record.close() }
            try scope.withName { (name) throws(SecretsError) in
                try record.open(item.value, scope: name, vault.sealer)
            }
            guard enters(record.name) else { continue }
            let start = after?.service == scope.name ? after : nil
            after = nil
            if let stop = try walk(place, after: start, &left, body) { return stop }
        }
        return nil
    }

    private func walk(_ place: Place, after: Position?, _ left: inout Int, _ body: (SecretSummary) -> Bool)
        throws(SecretsError) -> Position?
    {
        defer { memory.close() }
        let members = place.scope.sortedMembers()
        var position = (after?.item ?? []).withBytes { members.lowerBound(of: $0) }
        var last = after?.item ?? []
        while let item = members[position] {
            members.advance(&position)
            if item.key.equals(SecretRecords.key) { continue }
            if let after, after.item.withBytes({ $0.equals(item.key) }) { continue }
            // A service that nothing has been looked at of is begun from its record, which comes first.
            guard left > 0 else { return Position(service: place.scope.name, item: last) }
            left -= 1
            try open(item, place)
            if let current = head.current(at: ledger.steadyNow) {
                let summary = summary(item, current)
                guard body(summary) else { return Position(service: place.scope.name, item: last) }
            }
            last = Array(item.key)
        }
        return nil
    }

    private func summary(_ item: ItemRef, _ current: SecretVersion) -> SecretSummary {
        SecretSummary(
            name: head.name, label: head.label, attributes: head.attributes, accessibility: head.accessibility,
            isDeviceOnly: head.isDeviceOnly, isInBackups: head.isInBackups, maxVersions: head.maxVersions,
            rev: item.pointee.rev, version: current.number, kind: current.kind, createdAt: head.createdAt,
            updatedAt: head.updatedAt ?? item.pointee.updatedAt, expiresAt: current.expiresAt)
    }

    /// What is known of an item but its values; nil when it is absent.
    public func describe(_ name: SecretName, _ body: (SecretSummary) -> Void) throws(SecretsError) -> UInt64 {
        guard let place = try find(service: name.service) else { return ledger.dropRev }
        defer { memory.close() }
        memory.hash(name, place.vault)
        guard let item = ledger.find(place.scope, memory.rowKey.bytes) else { return 0 }
        guard !item.isTombstone else { return item.pointee.rev }
        try open(item, place)
        if let current = head.current(at: ledger.steadyNow) { body(summary(item, current)) }
        return item.pointee.rev
    }

    /// Lends what a service is configured to be to `body`; not when there is no such service.
    public func describe(service: Bytes, _ body: (ServiceSummary) -> Void) throws(SecretsError) {
        if audit.binding.areSetBack { throw .integrity }
        guard let place = try find(service: service), let item = rows.liveRecord(place.scope) else { return }
        defer { record.close() }
        try open(record: item, place)
        body(summary(place.scope, item, place.vault))
    }

    /// The same for each service, in an order of its own.
    public func services(_ body: (ServiceSummary) -> Void) throws(SecretsError) {
        let vault = try keeper.open()
        if audit.binding.areSetBack { throw .integrity }
        for scope in ledger.scopes.list(.secrets) {
            guard scope.withName({ NameHash(text: $0) }) != nil, let item = rows.liveRecord(scope) else { continue }
            defer { record.close() }
            try scope.withName { (name) throws(SecretsError) in
                try record.open(item.value, scope: name, vault.sealer)
            }
            body(summary(scope, item, vault))
        }
    }

    /// Lends the names of the item that a change of the log is about; not while they cannot be known.
    func withName(of change: LogRecord, _ body: (SecretName) -> Void) {
        keeper.follow()
        guard ring.isUnlocked, let sealer = try? keeper.sealer() else { return }
        defer { memory.close() }
        do throws(SecretsError) {
            guard change.isTombstone else {
                try head.open(change.value, scope: change.scope, key: change.key, sealer)
                return body(head.name)
            }
            try sealer.open(row: change.value, .names, scope: change.scope, key: change.key, into: &memory.plaintext)
        } catch { return }
        var parts: [Bytes] = []
        var position = 0
        while parts.count < 3, memory.plaintext.count - position >= 4 {
            let count = Int(
                UInt32(littleEndian: memory.plaintext.bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self)))
            position += 4
            guard memory.plaintext.count - position >= count else { return }
            parts.append(memory.plaintext.bytes.extracting(position..<position + count))
            position += count
        }
        guard parts.count == 3 else { return }
        body(SecretName(service: parts[0], account: parts[1], group: parts[2]))
    }

    func open(record item: ItemRef, _ place: Place) throws(SecretsError) {
        try place.scope.withName { (name) throws(SecretsError) in
            try record.open(item.value, scope: name, place.vault.sealer)
        }
    }

    private func summary(_ scope: Scope, _ item: ItemRef, _ vault: Vault) -> ServiceSummary {
        var head = ByteBuffer(capacity: SetSum.byteCount)
        vault.sealer.element(scope, item).append(to: &head)
        return ServiceSummary(
            name: record.name, count: Int(record.count), maxVersions: record.maxVersions,
            auditsEachRead: record.auditsEachRead, installation: record.installation, head: Array(head.bytes),
            keyNumber: Int(record.newestKey), isRewrapping: record.keys.count > 1, rev: scope.lastRev)
    }

    /// What is known of whether the rows are what was written; nil while sealed.
    public enum Integrity: Sendable {
        /// Not all of them have been looked at.
        case checking
        case whole
        /// Some service, or all of them, answers `integrity`; or a value that was asked for; or the audit is not that of the secrets.
        case damaged
    }

    public var integrity: Integrity? {
        guard ring.isUnlocked else { return nil }
        guard let vault, vault.generation == ring.generation else { return .checking }
        if vault.isDamaged || keeper.met.isSet || vault.services.values.contains(where: \.isDamaged) {
            return .damaged
        }
        guard vault.hasReadRecords else { return .checking }
        try? audit.binding.examineOnce()
        if !audit.binding.isOfSecrets { return .damaged }
        return vault.position == vault.unread.count && audit.binding.findings.has(.examined, of: ring.generation)
            ? .whole : .checking
    }

    /// What the chain over all changes has come to, 32 bytes, and how many changes there were. Noted elsewhere it tells whether the
    /// store has been set back as a whole.
    public func chainHead() throws(SecretsError) -> (head: [UInt8], changes: UInt64, services: UInt64) {
        let vault = try keeper.open()
        let record = try keeper.storeRecord(vault.sealer) ?? VaultRecord()
        var head = ByteBuffer(capacity: SetSum.byteCount)
        record.chain.append(to: &head)
        return (Array(head.bytes), record.changes, record.services)
    }
}
