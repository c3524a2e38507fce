public import KuraBytes

/// A scope that keys are about to be looked up in.
public struct KeyScope: BitwiseCopyable, Sendable {
    enum Room: UInt8 {
        case nowhere
        /// Settings and documents.
        case items
        case models
    }
    var room = Room.nowhere
    var number: UInt32 = 0

    /// Nowhere.
    public init() {}

    init(_ room: Room, _ number: UInt32?) {
        guard let number else { return }
        self.room = room
        self.number = number
    }

    public var isSomewhere: Bool { room != .nowhere }
}

/// Where a key's entry is, if there is one.
public struct KeyPlace: BitwiseCopyable, Sendable {
    var room = KeyScope.Room.nowhere
    var hash: UInt64 = 0

    public init() {}

    init(_ room: KeyScope.Room, _ hash: UInt64) {
        self.room = room
        self.hash = hash
    }
}

/// Having memory fetched before it is looked at: a look-up by key waits for a bucket, then for an entry, then for what that leads to, some 100
/// ns each once the tables are larger than the processor's caches. Asked for side by side, many wait as long as one. All of it is hints: a
/// key that is guessed wrongly costs a moment, and changes nothing.
extension Storage {
    /// Whether there is more in memory than the processor keeps at hand anyway.
    public var isWorthFetching: Bool { ledger.table.count > 4096 || models.rows.end > 4096 }

    // Nowhere when there is no such scope.

    public func keyScope(of store: Store, _ scope: Bytes) -> KeyScope {
        KeyScope(.items, ledger.scopes.find(store, scope)?.id)
    }

    public func keyScope(models namespace: Bytes) -> KeyScope {
        KeyScope(.models, models.namespace(namespace)?.number)
    }

    /// First, for each key.
    public func fetchBucket(_ scope: KeyScope, _ key: Bytes) -> KeyPlace {
        switch scope.room {
        case .nowhere: return KeyPlace()
        case .items:
            let hash = ledger.table.hash(scope: scope.number, key: key)
            ledger.table.prefetchBucket(hash)
            return KeyPlace(.items, hash)
        case .models:
            let hash = models.rows.hash(scope.number, key)
            models.prefetchBucket(hash)
            return KeyPlace(.models, hash)
        }
    }

    /// Then, when the bucket is there.
    public func fetchEntry(_ place: KeyPlace) {
        switch place.room {
        case .nowhere: break
        case .items: ledger.table.prefetchEntry(place.hash)
        case .models: models.prefetchEntry(place.hash)
        }
    }

    /// At last, when the entry is there.
    public func fetchContents(_ place: KeyPlace) {
        switch place.room {
        case .nowhere: break
        case .items: ledger.table.prefetchContents(place.hash)
        case .models: models.rows.prefetchBlock(place.hash)
        }
    }
}

extension ModelsStore {
    func prefetchBucket(_ hash: UInt64) {
        rows.prefetchBucket(hash)
        sketch.prefetch(hash)
    }

    func prefetchEntry(_ hash: UInt64) {
        let row = rows.prefetchRow(hash)
        guard row != 0 else { return }
        places.prefetch(row)
        memory.prefetch(row)
    }
}
