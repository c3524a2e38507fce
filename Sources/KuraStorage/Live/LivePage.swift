import KuraBytes
import KuraJSON

/// A stretch of one collection's changes, each document once, to be held against the conditions of live queries.
///
/// Made on the loop, then read by the matcher's thread and the loop alike: it never changes.
public final class LivePage: Sendable {
    struct Change: Sendable {
        var id: [UInt8]
        /// `LiveWindow.hash` of the id.
        var hash: UInt64
        var rev: UInt64
        /// JSON text; nil when the document was deleted.
        var value: [UInt8]?
        /// The members that differ from before the page, as in `ChangedMembers`; nil where all may.
        var members: [UInt8]?
        /// The collection was dropped.
        var isDrop: Bool { id.isEmpty }
    }

    /// It follows this revision.
    public let after: UInt64
    /// Everything up to this revision is in it.
    public let rev: UInt64
    let changes: ContiguousArray<Change>
    /// Bytes that it takes.
    public let footprint: Int

    /// `page`: filled for documents of one collection, values included.
    public init(_ page: ChangePage, after: UInt64) {
        var changes: ContiguousArray<Change> = []
        changes.reserveCapacity(page.count)
        var bytes = 0
        page.forEach { change in
            bytes += change.key.count + change.value.count + (change.members?.text.count ?? 0)
            changes.append(
                Change(
                    id: Array(change.key), hash: LiveWindow.hash(change.key), rev: change.rev,
                    value: change.isDeleted ? nil : Array(change.value),
                    members: change.members.map { Array($0.text) }))
        }
        self.after = after
        rev = page.rev
        self.changes = changes
        footprint = bytes + changes.count * 128 + 128
    }

    public var isEmpty: Bool { changes.isEmpty }

    /// Holds the changes against the shapes: once for each condition, however many orders it is wanted in.
    func match(_ shapes: [LiveShape]) -> [LiveMatches] {
        var found = shapes.map { LiveMatches($0) }
        var places: [ObjectIdentifier: [Int]] = [:]
        for (place, shape) in shapes.enumerated() {
            places[ObjectIdentifier(shape.criteria), default: []].append(place)
        }
        let groups = places.values.map { (criteria: shapes[$0[0]].criteria, places: $0) }
        var quoted = ByteBuffer(capacity: 128)
        for (position, change) in changes.enumerated() {
            guard let value = change.value else { continue }
            quoted.removeAll()
            change.id.withBytes { id in
                quoted.append(idAsJSON: id)
                let quotedID = StoredValue(quoted.bytes)
                value.withBytes { text in
                    let document = StoredValue(text)
                    for group in groups {
                        guard group.places.contains(where: { shapes[$0].mayDepend(on: change.members) }) else {
                            for place in group.places { found[place].untouched.append(position) }
                            continue
                        }
                        var gaveUpAt: String?
                        let matches = group.criteria.selector.matches(document, id: quotedID, gaveUpAt: &gaveUpAt)
                        guard matches || gaveUpAt != nil else { continue }
                        for place in group.places {
                            if gaveUpAt != nil {
                                found[place].gaveUp = true
                            } else {
                                let key = shapes[place].key(document, id: id, quotedID: quotedID)
                                found[place].hits.append(LiveMatches.Hit(position: position, key: key))
                            }
                        }
                    }
                }
            }
        }
        return found
    }
}

/// Which changes of a page match a shape.
public struct LiveMatches: Sendable {
    struct Hit: Sendable {
        /// Position of the change in its page.
        var position: Int
        /// Where the document stands in the order.
        var key: [UInt8]
    }
    public let shape: LiveShape
    /// In the order of the page.
    var hits: ContiguousArray<Hit> = []
    /// Positions of changes that neither the condition nor the order depends on: the document matches as before, at its place.
    var untouched: ContiguousArray<Int> = []
    /// A pattern would have taken too long: the matches mean nothing.
    public fileprivate(set) var gaveUp = false

    init(_ shape: LiveShape) {
        self.shape = shape
    }
}
