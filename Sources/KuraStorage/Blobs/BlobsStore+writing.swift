public import KuraBytes
import Sodium

/// What changes: the index at once, the table and the files behind it.
extension BlobsStore {
    private static let evictionsOfOne = 64

    // MARK: Putting

    /// Why a put would be declined whatever its content is; nil when that remains to be seen.
    public func declines(_ name: BlobName, _ put: BlobPut) -> BlobStored.Reason? {
        if phase == .dropping || !caches.writer.admits { return .busy }
        if !caches.admits(bytes: 0) { return .lowStorage }
        if put.ifAbsent, place(name) != nil { return .present }
        guard !name.variant.isEmpty else { return nil }
        guard let parent = place(name.parent) else { return .parentMissing }
        if let digest = put.variantOf, index.content(of: parent).digest != digest { return .parentChanged }
        return nil
    }

    /// How large a content may be that is to get a name: what its namespace, all blobs and the quotas that bind the writer leave to it.
    /// `most`: bytes that it may have anyway.
    public func bound(of name: BlobName, atMost most: Int, for binding: [QuotaAccount]) -> BlobBound {
        var bound = BlobBound(bytes: most)
        let namespace = namespaces.find(name.namespace)
        bound.narrow(to: configuration.caches.blobBytes, .budget)
        bound.narrow(to: namespace?.settings.maxBytes, .budget)
        guard !binding.isEmpty else { return bound }
        let freed = namespace.flatMap { index.find(hash(name, $0)) }.map { index.content(of: $0).bytes } ?? 0
        for account in namespaces.accounts(of: name.namespace) where binding.contains(where: { $0 === account }) {
            bound.narrow(to: account.bytesLeft.map { $0 + freed }, .account(limit: account.bytesLimit ?? 0))
        }
        return bound
    }

    /// Gives a name to a content, in the place of what had it. All is known (`isReady`).
    /// Throws: `.quotaExceeded` when there are too many namespaces, `.accountFull`.
    public func put(
        _ name: BlobName, _ content: BlobContent, _ put: BlobPut, by author: Author
    ) throws(EngineError) -> BlobStored {
        if let reason = declines(name, put) { return decline(name, reason) }
        guard caches.admits(bytes: content.bytes) else { return decline(name, .lowStorage) }
        guard namespaces.find(name.namespace) != nil || namespaces.count < BlobLimits.namespaces else {
            throw .quotaExceeded(limit: BlobLimits.namespaces)
        }
        if let known = namespaces.find(name.namespace), let left = index.find(hash(name, known)), index.isOrphan(left) {
            remove(left)
        }
        if author.isBound { try admit(name, content.bytes, for: author.accounts) }
        let namespace = namespaces.find(name.namespace) ?? makeNamespace(name.namespace)
        let hash = hash(name, namespace)
        switch makeRoom(for: content, in: namespace, sparing: hash) {
        case .made: break
        case .making: return .makingRoom
        case .none(let reason): return decline(name, reason)
        }
        // Making room may have cost the parent.
        let parent = name.variant.isEmpty ? nil : index.find(self.hash(name.parent, namespace))
        if !name.variant.isEmpty, parent == nil { return decline(name, .busy) }
        var old = index.find(hash)
        // Its variants were made of the content that it had. Where they are many it is removed as a whole: what comes has a later row, which what a
        // kill leaves of them is not taken for a variant of.
        if let place = old, index.content(of: place).digest != content.digest, !removeVariants(of: place) {
            remove(place)
            old = nil
        }
        let place = take(content)
        let ttl = put.ttlSeconds ?? namespace.settings.ttlSeconds ?? BlobLimits.ttlSeconds
        let contentType = contentTypes.number(put.contentType)
        let expiresAt = clock.later(by: .milliseconds(seconds: ttl))
        let entry: BlobPlace
        if let old {
            entry = old
            namespace.add(count: 0, bytes: content.bytes - index.content(of: old).bytes)
            let left = index.setContent(of: old, to: place)
            if let left { drop(content: left) }
            index[old].contentType = contentType
            index[old].createdAt = clock
            index[old].expiresAt = expiresAt
        } else {
            let row = BlobRow(
                name: hash, id: nextID, namespace: namespace.id, contentType: contentType, content: place,
                createdAt: clock, expiresAt: expiresAt)
            nextID += 1
            entry = index.insert(row, parent: parent)
            namespace.queue.append(entry, index)
            namespace.add(count: 1, bytes: content.bytes)
        }
        namespace.counts.stored += 1
        note(
            .put(
                BlobRecord(
                    id: index[entry].id, namespace: namespace.id, key: Array(name.key), variant: Array(name.variant),
                    digest: content.digest, bytes: content.bytes, contentType: contentTypes[contentType],
                    createdAt: clock, expiresAt: expiresAt)))
        caches.tell(.blobs, CacheChange(.stored, of: name, in: namespace))
        caches.note(.blobs, namespace.name, name.key, bytes: name.key.count + content.bytes, by: author)
        return .stored(facts(entry))
    }

    /// - Throws: `.accountFull` when one of the quotas that bind the writer has no room for a blob of so many bytes.
    private func admit(_ name: BlobName, _ bytes: Int, for binding: [QuotaAccount]) throws(EngineError) {
        let namespace = namespaces.find(name.namespace)
        let old = namespace.flatMap { index.find(hash(name, $0)) }
        let more = bytes - (old.map { index.content(of: $0).bytes } ?? 0)
        for account in namespaces.accounts(of: name.namespace) where binding.contains(where: { $0 === account }) {
            try account.admitting(bytes: more, items: old == nil ? 1 : 0, isNewScope: namespace == nil)
        }
    }

    private func decline(_ name: BlobName, _ reason: BlobStored.Reason) -> BlobStored {
        noteDeclined(name)
        return .declined(reason)
    }

    /// A put was declined before its content was looked at.
    public func noteDeclined(_ name: BlobName) { namespaces.find(name.namespace)?.counts.declined += 1 }

    /// The content's place in the index, which keeps it from now on.
    private func take(_ content: BlobContent) -> BlobPlace {
        let (place, isNew) = index.findOrInsert(content.digest, bytes: content.bytes, isFile: content.small == nil)
        if let small = content.small {
            guard isNew else { return place }
            let write = outbox.number()
            index.setContent(place) { $0.write = write }
            memory.insert(small, of: place, index)
            note(.content(content.digest, small, write: write))
        } else if isNew {
            // Held by the index once, by the hand of who has brought it.
            if content.hold?.handOver() != true { files.holdLoaded(content.digest) }
        } else {
            // Whole and hashed just now.
            index.setContent(place) { $0.isDoubtful = false }
        }
        return place
    }

    // MARK: Going

    /// Removes a blob with its variants.
    /// Returns: how many went; 0 when there was none.
    public func delete(_ name: BlobName, by author: Author) -> Int {
        guard let place = place(name) else { return 0 }
        let count = index.count
        let namespace = namespace(of: place)
        if clock - index[place].createdAt < AdviceBook.shortLife {
            let content = index.content(of: place)
            caches.noteShortLife(namespace.name, bytes: content.bytes, isFile: content.isFile, by: author)
        }
        remove(place)
        caches.tell(.blobs, CacheChange(.deleted, of: name, in: namespace))
        return count - index.count
    }

    /// Removes variants of a blob, as far as the turn has time for it.
    /// - Returns: whether that was all of them.
    private func removeVariants(of place: BlobPlace) -> Bool {
        guard index[place].firstVariant != nowhere else { return true }
        var effort = CacheEffort(caches, atLeast: 4)
        while index[place].firstVariant != nowhere {
            guard effort.goesOn() else { return false }
            remove(index[place].firstVariant)
        }
        return true
    }

    /// Goes on with what could not be removed in one turn.
    /// - Returns: false when there is more.
    func removeRest() -> Bool {
        while let place = partings.last {
            guard removeVariants(of: place) else { return false }
            index.free(place)
            partings.removeLast()
        }
        while let digest = damaged.last {
            guard removeUsers(of: digest) else { return false }
            damaged.removeLast()
        }
        return true
    }

    /// Removes blobs with a content, as far as the turn has time for it.
    func removeUsers(of digest: ContentDigest) -> Bool {
        var effort = CacheEffort(caches)
        while let content = index.find(digest), index.content(content).firstUser != nowhere {
            guard effort.goesOn() else { return false }
            let user = index.content(content).firstUser
            namespace(of: user).counts.damaged += 1
            remove(user)
        }
        return true
    }

    /// Removes what lies there, and its variants: they are found no more, and go as there is time.
    func remove(_ place: BlobPlace) {
        if !removeVariants(of: place) { partings.append(place) }
        let row = index[place]
        let namespace = namespace(of: place)
        namespace.queue.remove(place, index)
        namespace.add(count: -1, bytes: -index.content(row.content).bytes)
        note(.remove(id: row.id))
        if let content = index.remove(place) { drop(content: content) }
    }

    /// No blob has the content any more.
    private func drop(content place: BlobPlace) {
        let row = index.content(place)
        memory.remove(place, index)
        index.removeContent(place)
        if let file = openContents.remove(row.digest) { files.letGo(file, temporary: nil) }
        if row.isFile { files.release(row.digest) } else { note(.removeContent(row.digest)) }
    }

    /// Says how long a blob lives from now on; nothing else of it changes.
    /// Returns: nil when there is none.
    public func touch(_ name: BlobName, ttlSeconds: Int?) -> BlobFacts? {
        guard let place = place(name) else { return nil }
        let ttl = ttlSeconds ?? namespace(of: place).settings.ttlSeconds ?? BlobLimits.ttlSeconds
        index[place].expiresAt = clock.later(by: .milliseconds(seconds: ttl))
        note(.touch(id: index[place].id, expiresAt: index[place].expiresAt))
        return facts(place)
    }

    // MARK: Room

    private enum Room {
        case made
        /// The turn's time is over before there is enough of it.
        case making
        case none(BlobStored.Reason)
    }

    /// Has blobs go until the content fits.
    /// `name`: of the one whose place it takes.
    private func makeRoom(for content: BlobContent, in namespace: BlobNamespace, sparing name: LookupHash) -> Room {
        let most = namespace.settings.maxBytes ?? .max
        guard content.bytes <= min(most, configuration.caches.blobBytes) else { return .none(.overBudget) }
        var effort = CacheEffort(caches)
        while true {
            // The old one itself may go.
            let old = index.find(name)
            let freed = old.map { index.content(of: $0).bytes } ?? 0
            guard
                namespace.bytes - freed + content.bytes > most
                    || old == nil && namespace.count >= namespace.settings.maxEntries ?? .max
            else { break }
            guard effort.goesOn() else { return .making }
            guard evict(from: namespace) else { return .none(.busy) }
        }
        guard index.find(content.digest) == nil else { return .made }
        let excess = index.bytes + content.bytes - configuration.caches.blobBytes
        guard excess > 0, evict(bytes: excess) < excess else { return .made }
        return index.count == 0 ? .none(.busy) : .making
    }

    /// - Returns: false when there is nobody.
    private func evict(from namespace: BlobNamespace) -> Bool {
        guard let place = namespace.queue.next(index) else { return false }
        let count = namespace.count
        remove(place)
        namespace.counts.evicted += count - namespace.count
        return true
    }

    func purge(bytes: Int) -> Int { evict(bytes: bytes) }

    /// Has blobs go, those of the largest namespace first, until so many bytes of contents are gone, as far as the turn has time for it.
    /// Returns: bytes that went.
    private func evict(bytes: Int) -> Int {
        let start = index.bytes
        var effort = CacheEffort(caches)
        while start - index.bytes < bytes, let largest = namespaces.largest, largest.count > 0 {
            // Which one is the largest is not asked for each.
            for _ in 0..<Self.evictionsOfOne where start - index.bytes < bytes {
                guard effort.goesOn() else { return start - index.bytes }
                guard evict(from: largest) else { break }
            }
        }
        return start - index.bytes
    }

    // MARK: Namespaces

    private func makeNamespace(_ name: Bytes) -> BlobNamespace {
        let namespace = namespaces.insert(name)
        note(.namespace(id: namespace.id, name: namespace.name, namespace.settings))
        return namespace
    }

    /// Forgets the namespaces that have no blobs and nothing configured.
    func forgetEmptyNamespaces() {
        for namespace in namespaces.all.values
        where namespace.count == 0 && namespace.settings == BlobNamespaceSettings() {
            namespaces.remove(namespace)
            note(.removeNamespace(namespace.id))
        }
    }

    /// Says what a namespace is; the whole of it. What it has too much goes with the next put.
    /// `binding`: the quotas of whoever asks.
    /// Throws: `.quotaExceeded` when there are too many namespaces, `.accountFull`.
    public func configure(
        _ name: Bytes, _ settings: BlobNamespaceSettings, for binding: [QuotaAccount] = []
    ) throws(EngineError) {
        guard namespaces.find(name) != nil || namespaces.count < BlobLimits.namespaces else {
            throw .quotaExceeded(limit: BlobLimits.namespaces)
        }
        if namespaces.find(name) == nil {
            for account in namespaces.accounts(of: name) where binding.contains(where: { $0 === account }) {
                try account.admitting(bytes: 0, items: 0, isNewScope: true)
            }
        }
        let namespace = namespaces.find(name) ?? namespaces.insert(name)
        namespace.settings = settings
        note(.namespace(id: namespace.id, name: namespace.name, settings))
    }
}

extension CacheChange {
    /// Of a blob, and with it of all its variants.
    init(_ event: Event, of name: BlobName, in namespace: BlobNamespace) {
        self.init(
            target: .init(
                source: .blobs, extent: .entry, scope: namespace.name, name: Array(name.key),
                variant: Array(name.variant)), event: event)
    }
}
