/// What has changed in the caches lately, for those who watch: in memory only, numbered from 1 on in each run, whose `epoch` says which one it is.
///
/// Every change takes a number. It is kept while somebody watches its source, and for a while after the last one has left, so that whoever comes
/// back learns what it has missed, or that it has missed something. What is kept is bounded. Belongs to the loop.
public final class CacheChanges {
    /// Names the run (UUID).
    public let epoch = UUIDv7Generator.random()
    /// The newest number that was given out.
    public private(set) var rev: UInt64 = 0

    private struct Entry {
        var rev: UInt64
        var change: CacheChange
    }
    /// In the order of their numbers; those before `first` have been let go.
    private var entries: ContiguousArray<Entry> = []
    private var first = 0
    private var bytes = 0
    /// Everything up to here has been let go, or may have been.
    private var trimmedRev: UInt64 = 0
    /// Of each source, the newest that was not kept.
    private var missedRevs: [UInt64] = [0, 0, 0]
    /// What is kept, and what somebody watches.
    private var kept: CacheSources = []
    private var watched: CacheSources = []
    /// Milliseconds since 1970 until which the rest is kept.
    private var lingersUntil: Int64 = 0

    /// Changes that are kept, and bytes of them.
    static let limits = (count: 16_384, bytes: 2 << 20)
    /// How long after the last watcher, in milliseconds.
    static let lingering: Int64 = 300_000
    /// A page's changes, and how many are looked at for one.
    private static let pageLimits = (count: 500, looks: 2048)

    init() {}

    // MARK: Keeping

    /// Whether somebody watches the source.
    public func isWatched(_ source: CacheSources) -> Bool { watched.contains(source) }

    /// Somebody watches these from now on: nothing of them is missed any more.
    public func begin(_ sources: CacheSources) {
        watched.formUnion(sources)
        kept.formUnion(sources)
    }

    /// Says what is watched now.
    /// `clock`: milliseconds since 1970.
    func watches(_ sources: CacheSources, at clock: @autoclosure () -> Int64) {
        guard sources != watched else { return }
        if !watched.isSubset(of: sources) { lingersUntil = clock() + Self.lingering }
        watched = sources
        kept.formUnion(sources)
    }

    /// Takes the number of a change. The common case, that nobody wants it, costs a look.
    /// - Returns: whether it is to be kept (`append`).
    @inline(__always)
    func count(_ source: CacheSources, at clock: @autoclosure () -> Int64) -> Bool {
        rev += 1
        if kept.contains(source), watched.contains(source) || clock() < lingersUntil { return true }
        miss(source)
        return false
    }

    private func miss(_ source: CacheSources) {
        missedRevs[source.rawValue.trailingZeroBitCount] = rev
        kept.remove(source)
        if kept.isEmpty, !entries.isEmpty {
            entries = []
            (first, bytes, trimmedRev) = (0, 0, rev)
        }
    }

    /// Keeps the change that was counted last.
    func append(_ change: CacheChange) {
        entries.append(Entry(rev: rev, change: change))
        bytes += change.footprint
        while entries.count - first > Self.limits.count || bytes > Self.limits.bytes {
            bytes -= entries[first].change.footprint
            trimmedRev = entries[first].rev
            first += 1
        }
        if first > entries.count / 2, first >= 1024 {
            entries.removeFirst(first)
            first = 0
        }
    }

    // MARK: Reading

    /// The smallest number after which every change of these sources is still there.
    public func oldestRev(of sources: CacheSources) -> UInt64 {
        var oldest = trimmedRev
        for source in CacheSources.all where sources.contains(source) {
            oldest = max(oldest, missedRevs[source.rawValue.trailingZeroBitCount])
        }
        return oldest
    }

    /// A stretch of changes: those that no later one makes needless.
    public struct Page {
        public fileprivate(set) var changes: [(rev: UInt64, change: CacheChange)] = []
        /// Everything up to here is covered.
        public fileprivate(set) var rev: UInt64
        /// It ended at a limit.
        public fileprivate(set) var isFull = false
    }

    /// What follows `rev`, as far as a page goes.
    /// - Throws: `.compacted` when some of it is gone.
    public func page(after rev: UInt64, _ filter: ChangeFilter) throws(ChangesError) -> Page {
        let oldest = oldestRev(of: filter.caches)
        guard rev >= oldest else { throw .compacted(oldestRev: oldest) }
        var page = Page(rev: self.rev)
        var newest: [CacheChange.Identity: Int] = [:]
        var position = position(after: rev)
        var looks = 0
        while position < entries.count {
            guard looks < Self.pageLimits.looks, page.changes.count < Self.pageLimits.count else {
                page.rev = entries[position].rev - 1
                page.isFull = true
                break
            }
            let entry = entries[position]
            if filter.admits(entry.change) {
                newest[entry.change.identity] = page.changes.count
                page.changes.append((entry.rev, entry.change))
            }
            looks += 1
            position += 1
        }
        if newest.count < page.changes.count {
            page.changes = page.changes.indices.compactMap {
                newest[page.changes[$0].change.identity] == $0 ? page.changes[$0] : nil
            }
        }
        return page
    }

    private func position(after rev: UInt64) -> Int {
        var (low, high) = (first, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].rev <= rev { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension Caches {
    /// Says what is watched now.
    public func watches(_ sources: CacheSources) { changes.watches(sources, at: clock) }

    /// Those who watch are told of a change.
    /// `change`: only asked for when somebody is.
    @inline(__always)
    func tell(_ source: CacheSources, _ change: @autoclosure () -> CacheChange) {
        if changes.count(source, at: clock) { changes.append(change()) }
    }
}
