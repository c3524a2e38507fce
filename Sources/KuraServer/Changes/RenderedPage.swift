import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// A stretch of the feed as JSON, made once for all subscriptions that stand at its beginning and want the same.
final class RenderedPage {
    fileprivate(set) var selector: ChangeSelector?
    fileprivate(set) var after: UInt64 = 0
    /// Everything up to this revision is covered.
    fileprivate(set) var rev: UInt64 = 0
    fileprivate(set) var count = 0
    /// As `ChangePage.lost`.
    fileprivate(set) var lost: ClosedRange<UInt64>?
    /// What was synced when it was made; without that limit it would not have been longer if it is full.
    fileprivate var syncedRev: UInt64 = 0
    fileprivate var isFull = false
    /// The array of changes.
    fileprivate(set) var body = ByteBuffer()
}

/// The pages rendered last. A round of subscribers takes several turns, in which the newest revision moves on, and those
/// of different selectors take turns: a few pages are enough for nearly all to be shared.
struct RenderedPages {
    private var pages: ContiguousArray<RenderedPage> = []
    private var next = 0
    private let page = ChangePage()
    /// `KeyRing.generation` of when the pages were made.
    private var keys: UInt64 = 0

    private static let capacity = 16
    /// Bounds of one notification; a transaction that is larger goes over them.
    static let limits = ChangePage.Limits(items: 1000, bytes: 128 << 10, scanned: 1 << 20)

    /// What follows `rev` for a selector.
    /// - Throws: as `Storage.fill`.
    mutating func page(
        _ selector: ChangeSelector, after rev: UInt64, _ storage: isolated Storage
    ) throws(ChangesError) -> RenderedPage {
        let isOfCaches = selector.filter.isOfCaches
        let synced = isOfCaches ? storage.caches.changes.rev : storage.syncedRev.rev
        for page in pages
        where page.after == rev && page.selector === selector && (page.syncedRev == synced || page.isFull) {
            return page
        }
        if isOfCaches {
            let page = try storage.caches.changes.page(after: rev, selector.filter)
            let rendered = slot()
            rendered.selector = selector
            (rendered.after, rendered.rev, rendered.count, rendered.lost) = (rev, page.rev, page.changes.count, nil)
            (rendered.syncedRev, rendered.isFull) = (synced, page.isFull)
            rendered.body.removeAll()
            rendered.body.append(caches: page)
            return rendered
        }
        defer { page.clear() }
        try storage.fill(page, after: rev, selector.filter, Self.limits, values: selector.details.contains(.values))
        let rendered = slot()
        rendered.selector = selector
        (rendered.after, rendered.rev, rendered.count, rendered.lost) = (rev, page.rev, page.count, page.lost)
        (rendered.syncedRev, rendered.isFull) = (synced, page.isFull)
        if rendered.body.capacity > 1 << 20 { rendered.body.releaseMemory() } else { rendered.body.removeAll() }
        rendered.body.wipes = page.hasSecrets
        rendered.body.append(changes: page, selector.details)
        return rendered
    }

    /// Bytes of memory that the pages take.
    var footprint: Int { pages.reduce(0) { $0 + $1.body.capacity } }

    /// Other keys are at hand than before: what was sealed may be told now, and names that were told may not be any more.
    mutating func follow(keys generation: UInt64) {
        guard generation != keys else { return }
        keys = generation
        removeAll()
    }

    /// Gives back what has been kept.
    mutating func removeAll() { pages.removeAll() }

    private mutating func slot() -> RenderedPage {
        if pages.count < Self.capacity {
            pages.append(RenderedPage())
            return pages[pages.count - 1]
        }
        next = (next + 1) % pages.count
        // Nobody finds it while it is filled.
        pages[next].selector = nil
        return pages[next]
    }
}

extension ByteBuffer {
    /// The array of a page's changes.
    mutating func append(changes page: ChangePage, _ details: ChangeDetails) {
        openList()
        page.forEach { change in
            openObject()
            append(.store, word: change.store.described.name)
            if !change.isSealed { append(.scope, change.scope) }
            if !change.isDrop, !change.isSealed { append(.key, change.key) }
            append(.rev, change.rev)
            if change.isDrop {
                append(.dropped, true)
            } else if change.isDeleted {
                append(.deleted, true)
            } else if details.contains(.values), change.store.isPublic {
                append(.value, json: change.value)
            }
            if details.contains(.members), let members = change.members {
                openList(.members)
                append(members.text)
                closeList()
            }
            if change.isSealed { append(.sealed, true) }
            if !change.client.isEmpty { append(.client, change.client) }
            closeObject()
        }
        closeList()
    }
}

extension Store {
    init?(wireName: Bytes) {
        for store in Self.published where wireName.equals(store.described.name) {
            self = store
            return
        }
        return nil
    }
}
