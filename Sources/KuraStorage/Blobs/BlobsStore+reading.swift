public import KuraBytes

/// What reads: nothing is changed but counts, and what tells who is to go.
extension BlobsStore {
    /// A blob that has been found; good for the turn.
    public struct Found {
        let place: BlobPlace
        public let facts: BlobFacts
    }

    /// Where a content is.
    public enum Content {
        case memory([UInt8])
        /// In the table only.
        case table
        /// In its file. `isDoubtful`: it is hashed before it is shown.
        case file(isDoubtful: Bool)
    }

    /// Finds a blob. Nil: there is none, as far as is known (`isReady`).
    public func find(_ name: BlobName) -> Found? { place(name).map { Found(place: $0, facts: facts($0)) } }

    /// Whether what the table has told of a blob still holds as far as its time goes.
    public func isAlive(_ facts: BlobFacts) -> Bool { facts.expiresAt > clock }

    public func content(of found: Found) -> Content {
        let place = index[found.place].content
        let row = index.content(place)
        if row.isFile { return .file(isDoubtful: row.isDoubtful) }
        return memory.bytes(of: place, index).map { .memory($0) } ?? .table
    }

    /// A request is answered with it.
    public func noteHit(_ found: Found) {
        let row = index[found.place]
        index[found.place].isVisited = true
        index.setContent(row.content) { $0.isVisited = true }
        namespaces[row.namespace]?.counts.hits += 1
    }

    /// A request has found none.
    public func noteMiss(_ name: BlobName) { namespaces.find(name.namespace)?.counts.misses += 1 }

    /// What was read from the table may be read again.
    public func remember(_ bytes: [UInt8], of digest: ContentDigest) {
        guard let content = index.find(digest), !index.content(content).isFile else { return }
        memory.insert(bytes, of: content, index)
    }

    /// All of a content has been hashed, and is what it was.
    public func noteVerified(_ digest: ContentDigest) {
        if let content = index.find(digest) { index.setContent(content) { $0.isDoubtful = false } }
    }

    /// A descriptor of a content whose file is open already, for reading only, whose closing is the caller's.
    public func openDescriptor(of facts: BlobFacts) -> Int32? {
        openContents.descriptor(of: facts.digest, bytes: facts.bytes)
    }

    /// What was opened is likely to be asked for again.
    public func keepOpen(_ read: BlobRead) {
        guard index.find(read.digest) != nil, let file = read.descriptor() else { return }
        if let old = openContents.keep(file, of: read.digest) { files.letGo(old, temporary: nil) }
    }

    /// A content is not there, or not what it was: the blobs that have it are forgotten, and what there is of it is set aside.
    public func noteDamaged(_ digest: ContentDigest) {
        guard let content = index.find(digest) else { return }
        caches.report("a blob's content is damaged or gone: \(digest.text)")
        if index.content(content).isFile { files.noteDamaged(digest) }
        var concerned: Set<Int32> = []
        var looks = 0
        index.forEachUser(of: content) { user in
            concerned.insert(index[user].namespace)
            looks += 1
            return looks < Self.looks
        }
        // Which names they have only the table knows.
        for id in concerned.sorted() { namespaces[id].map { tellDropped($0) } }
        if !removeUsers(of: digest) { damaged.append(digest) }
    }

    /// Those who watch are told that something is gone from a namespace, and not what.
    func tellDropped(_ namespace: BlobNamespace) {
        caches.tell(
            .blobs,
            CacheChange(target: .init(source: .blobs, extent: .whole, scope: namespace.name), event: .dropped))
    }

    /// Blobs of one content that are looked at: equal contents of thousands of names are not worth the time.
    private static let looks = 1000

    /// Whether a blob of the namespace has this content.
    /// `left`: blobs of equal contents that may still be looked at; what it does not suffice for counts as not there.
    public func has(_ digest: ContentDigest, in namespace: Bytes, looks left: inout Int) -> Bool {
        guard left > 0, let namespace = namespaces.find(namespace), let content = index.find(digest) else {
            return false
        }
        var isThere = false
        var looks = min(left, Self.looks)
        left -= looks
        index.forEachUser(of: content) { user in
            let row = index[user]
            looks -= 1
            isThere = looks >= 0 && row.namespace == namespace.id && row.expiresAt > clock && !index.isOrphan(user)
            return !isThere && looks > 0
        }
        left += max(looks, 0)
        return isThere
    }

    /// The path of a content's file; it may be gone at any time.
    public func path(_ digest: ContentDigest) -> String { files.path(digest) }

    public func summaries() -> [BlobNamespaceSummary] {
        namespaces.all.values.map(\.summary).sorted { $0.name.lexicographicallyPrecedes($1.name) }
    }

    public func summary(_ namespace: Bytes) -> BlobNamespaceSummary? { namespaces.find(namespace)?.summary }

    /// Blobs, their contents, the bytes of these, each once, and those of small ones in memory.
    public var totals: (blobs: Int, contents: Int, bytes: Int, memory: Int) {
        (index.count, index.contentCount, index.bytes, memory.bytes)
    }
}
