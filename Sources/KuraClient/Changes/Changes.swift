import Synchronization

/// Which changes are wanted. All of them when nothing is said.
public struct ChangeFilter: Sendable, Hashable {
    /// Only these stores; all durable ones when empty.
    public var stores: [Store]
    /// Only the domain, service, collection or namespace of this name.
    public var scope: String?
    /// Only items whose key, account or id begins so.
    public var prefix: String?
    /// Whether changes carry what was written.
    public var values: Bool
    /// Whether changes of documents carry the names of the members that differ.
    public var members: Bool

    public init(
        stores: [Store] = [], scope: String? = nil, prefix: String? = nil, values: Bool = false, members: Bool = false
    ) {
        self.stores = stores
        self.scope = scope
        self.prefix = prefix
        self.values = values
        self.members = members
    }

    /// One domain's settings.
    public static func settings(_ domain: String, values: Bool = false) -> ChangeFilter {
        ChangeFilter(stores: [.settings], scope: domain, values: values)
    }

    /// One collection's documents.
    public static func documents(_ collection: String, values: Bool = false, members: Bool = false) -> ChangeFilter {
        ChangeFilter(stores: [.documents], scope: collection, values: values, members: members)
    }
}

/// That an item is not as it was, and how it is now.
public struct Change: Sendable, Decodable {
    public let store: String
    /// Its domain, service, collection or namespace; nil for secrets that cannot be opened.
    public let scope: String?
    /// Its key, account or id; nil when the whole scope was dropped, and for secrets that cannot be opened.
    public let key: String?
    /// Changes of one transaction share it. 0 where there is none.
    public let rev: Int64
    public let isDeleted: Bool
    /// The collection or namespace was dropped with all that was in it.
    public let isDropped: Bool
    /// Secrets whose names cannot be opened now: that some have changed, the newest at `rev`, is all that can be told.
    public let isSealed: Bool
    /// With `values`: what was written; nil when it was deleted, and for secrets.
    public let value: RawJSON?
    /// With `members`: the top-level members in which a document differs from what was told of it before, in no order; nil where all may differ,
    /// as in a new one.
    public let members: [String]?
    /// What the writer calls itself, `name` or `name/version`.
    public let client: String?
    /// Of a cache: `stale` or `drop`, when a namespace, tag or prefix was invalidated.
    public let mode: String?
    public let tag: String?
    public let prefix: String?
    /// Of a blob: which variant of it.
    public let variant: String?
    /// Of the store `storage`: whether room has become low.
    public let isLow: Bool?

    private enum CodingKeys: String, CodingKey {
        case store, scope, key, rev, deleted, dropped, sealed, value, members, client, mode, tag, prefix, variant, low
    }

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        store = try fields.decode(String.self, forKey: .store)
        scope = try fields.decodeIfPresent(String.self, forKey: .scope)
        key = try fields.decodeIfPresent(String.self, forKey: .key)
        rev = try fields.decodeIfPresent(Int64.self, forKey: .rev) ?? 0
        isDeleted = try fields.decodeIfPresent(Bool.self, forKey: .deleted) ?? false
        isDropped = try fields.decodeIfPresent(Bool.self, forKey: .dropped) ?? false
        isSealed = try fields.decodeIfPresent(Bool.self, forKey: .sealed) ?? false
        // A value of null is one too.
        value = fields.contains(.value) ? try fields.decode(RawJSON.self, forKey: .value) : nil
        members = try fields.decodeIfPresent([String].self, forKey: .members)
        client = try fields.decodeIfPresent(String.self, forKey: .client)
        mode = try fields.decodeIfPresent(String.self, forKey: .mode)
        tag = try fields.decodeIfPresent(String.self, forKey: .tag)
        prefix = try fields.decodeIfPresent(String.self, forKey: .prefix)
        variant = try fields.decodeIfPresent(String.self, forKey: .variant)
        isLow = try fields.decodeIfPresent(Bool.self, forKey: .low)
    }
}

/// That something was missed: what is remembered has to be read anew. What follows `rev` is told as before.
public struct Resync: Sendable, Hashable {
    public enum Reason: String, Sendable, Hashable {
        /// The reader was so slow that its place in the log has been let go of.
        case overflow
        /// The client was away for so long that its place in the log has been let go of.
        case compacted
        /// Changes that were acknowledged as relaxed (`durable: false`) went with a loss of power: items whose revision is at most `rev` may be
        /// as they were before those.
        case lost
        /// The daemon's history is another one: revisions from before say nothing.
        case epochChanged
    }

    public let reason: Reason
    /// What follows this revision is told.
    public let rev: Int64
    /// The history that it belongs to (UUID).
    public let epoch: String
}

/// What a `ChangeStream` tells.
public enum ChangeEvent: Sendable {
    /// These items have changed, in the order of revisions; changes of one transaction come together. Everything up to `rev` has been told now.
    case changes([Change], rev: Int64)
    /// Nothing of what is wanted has changed up to `rev`. A stream begins with it unless it goes on from a revision; after that it comes every
    /// ten seconds at most.
    case progress(rev: Int64)
    case resync(Resync)
}

/// Changes as they happen, for as long as somebody has the stream or iterates over it.
///
///     for try await event in kura.changes(.settings("app", values: true)) {
///         switch event {
///         case .changes(let changes, rev: _): for change in changes { … }
///         case .resync: …  // read everything anew
///         case .progress: break
///         }
///     }
///
/// It begins when it is made: what this client writes afterwards is told. It goes on over reconnects and restarts of the daemon without losing or
/// repeating a change; where that is not possible it says so (`resync`). What somebody does not read costs 8 MiB at most. It ends with the client,
/// and throws when the daemon refuses it. One reads it at a time; several share what comes.
public struct ChangeStream: AsyncSequence, Sendable {
    public typealias Element = ChangeEvent
    public typealias Failure = KuraError

    let feed: Feed

    /// Ends the subscription with its last owner.
    final class Feed: Sendable {
        let kura: Kura
        let subscription: Subscription

        init(_ kura: Kura, _ subscription: Subscription) {
            self.kura = kura
            self.subscription = subscription
            kura.link.begin(subscription)
        }

        deinit { kura.link.end(subscription) }
    }

    public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
        let feed: Feed

        public func next() async throws(KuraError) -> ChangeEvent? {
            guard let event = try await feed.kura.link.next(feed.subscription) else { return nil }
            return try feed.read(event)
        }

        public func next(isolation actor: isolated (any Actor)?) async throws(KuraError) -> ChangeEvent? {
            try await next()
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(feed: feed) }

    /// Everything up to here has been read, and the history that it belongs to: where a later stream can go on (`Kura.changes(_:afterRev:epoch:)`).
    public var place: (rev: Int64, epoch: String)? {
        feed.kura.link.lock.withLock { _ in
            guard let rev = feed.subscription.readRev, let epoch = feed.subscription.readEpoch else { return nil }
            return (rev, epoch)
        }
    }
}

extension ChangeStream.Feed {
    private struct Told: Decodable {
        var rev: Int64
        var changes: [Change]
    }

    fileprivate func read(_ event: Subscription.Event) throws(KuraError) -> ChangeEvent {
        switch event {
        case .told(_, let text):
            let told = try WireDecoder().decode(Told.self, from: text)
            return told.changes.isEmpty ? .progress(rev: told.rev) : .changes(told.changes, rev: told.rev)
        case .progress(let rev): return .progress(rev: rev)
        case .resync(let resync): return .resync(resync)
        }
    }
}
