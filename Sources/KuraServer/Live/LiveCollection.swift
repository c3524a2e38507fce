import KuraBytes
import KuraJSON
import KuraStorage

/// The live queries of one collection, as far as they share their work: the stretches of its changes that were read lately, each
/// held against the conditions of those who stand at its beginning.
///
/// Live queries that stand at the same revision read the same page; each condition is asked once a change, however many want it.
/// Belongs to the loop.
final class LiveCollection {
    let name: [UInt8]
    /// Live queries that are there, those that wait for their first state not counted.
    var users = 0

    private struct Entry {
        let page: LivePage
        var matches: [ObjectIdentifier: LiveMatches] = [:]
        /// Shapes that the matcher has the page for.
        var asked: Set<ObjectIdentifier> = []
    }
    private var entries: ContiguousArray<Entry> = []
    /// Where the live query stands that has come farthest.
    private var tip: UInt64 = 0

    private struct ShapeName: Hashable {
        var condition: [UInt8]
        var sort: [UInt8]
    }
    private struct Weak<Object: AnyObject> {
        weak var object: Object?
    }
    private var shapes: [ShapeName: Weak<LiveShape>] = [:]
    private var criteria: [[UInt8]: Weak<LiveCriteria>] = [:]
    private var pruneAt = 64

    private var checkedAt: UInt64?
    private var lastRev: UInt64 = 0

    /// Bounds of a page; a transaction that is larger goes over them.
    private static let limits = ChangePage.Limits(items: 256, bytes: 128 << 10, scanned: 1 << 20)
    private static let entryLimit = 8
    private static let keptBytes = 1 << 20

    init(_ name: [UInt8]) {
        self.name = name
    }

    // MARK: Shapes

    /// The one object that stands for all equal ones. `sort`: the parameter's text.
    func shape(_ selector: Selector, sort: [UInt8], _ fields: [SortField]) -> LiveShape {
        let name = ShapeName(condition: selector.text, sort: sort)
        if let shape = shapes[name]?.object { return shape }
        let condition = criteria[selector.text]?.object ?? LiveCriteria(selector)
        criteria[selector.text] = Weak(object: condition)
        let shape = LiveShape(condition, sort: fields)
        shapes[name] = Weak(object: shape)
        if shapes.count > pruneAt {
            shapes = shapes.filter { $0.value.object != nil }
            criteria = criteria.filter { $0.value.object != nil }
            pruneAt = shapes.count * 2 + 64
        }
        return shape
    }

    // MARK: Changes

    /// Whether the collection may have changed after `rev`. Asked by each live query whenever something has been synced.
    func hasChanged(after rev: UInt64, _ storage: isolated Storage) -> Bool {
        let synced = storage.syncedRev.rev
        if checkedAt != synced {
            checkedAt = synced
            lastRev = name.withBytes { storage.documents.lastRev($0) }
        }
        return lastRev > rev
    }

    /// What follows `rev`, held against the shape; nil while that is being done.
    /// `scratch`: a page that nobody else uses.
    /// - Throws: as `Storage.fill`.
    func page(
        after rev: UInt64, _ shape: LiveShape, _ matcher: LiveMatcher, _ scratch: ChangePage,
        _ storage: isolated Storage
    ) throws(ChangesError) -> (page: LivePage, matches: LiveMatches?)? {
        let id = ObjectIdentifier(shape)
        if let position = entries.firstIndex(where: { $0.page.after == rev }) {
            if let matches = entries[position].matches[id] { return (entries[position].page, matches) }
            if entries[position].asked.insert(id).inserted { matcher.submit(entries[position].page, [shape]) }
            return nil
        }
        guard makeRoom() else { return nil }
        var filter = ChangeFilter(stores: [.documents])
        filter.scope = name
        defer { scratch.clear() }
        try storage.fill(scratch, after: rev, filter, Self.limits, values: true)
        let page = LivePage(scratch, after: rev)
        guard !page.isEmpty else { return (page, nil) }
        // Most stand at the tip: for them it is done in one go.
        let wanted = rev >= tip ? shapes.values.compactMap(\.object) : [shape]
        tip = max(tip, page.rev)
        entries.append(Entry(page: page, asked: Set(wanted.map { ObjectIdentifier($0) })))
        matcher.submit(page, wanted)
        return nil
    }

    /// Lets go of pages that have been read.
    /// - Returns: false when all of them are being worked on.
    private func makeRoom() -> Bool {
        while entries.count >= Self.entryLimit || footprint > Self.keptBytes {
            guard let position = entries.firstIndex(where: { $0.matches.count == $0.asked.count }) else {
                return entries.count < Self.entryLimit
            }
            entries.remove(at: position)
        }
        return true
    }

    /// A page has been held against shapes.
    /// - Returns: whether it is one of the collection's.
    func take(_ outcome: LiveOutcome) -> Bool {
        guard let position = entries.firstIndex(where: { $0.page === outcome.page }) else { return false }
        for matches in outcome.matches { entries[position].matches[ObjectIdentifier(matches.shape)] = matches }
        return true
    }

    /// Bytes that the pages take.
    var footprint: Int { entries.reduce(0) { $0 + $1.page.footprint } }
}
