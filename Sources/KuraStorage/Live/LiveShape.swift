import KuraBytes
public import KuraJSON

/// The condition of live queries: one object for all that have the same, so that each change is held against it once.
///
/// Asked on the matcher's thread alone.
public final class LiveCriteria: Sendable {
    let selector: Selector

    public init(_ selector: Selector) {
        self.selector = selector
    }
}

/// A condition, and the order in which its documents are wanted.
///
/// Documents that are equal in everything they are sorted by are in the order of their ids: what a live query shows is then told
/// by the documents alone, whatever way they were found.
public final class LiveShape: Sendable {
    public let criteria: LiveCriteria
    public let sort: [SortField]
    let order: SortOrder
    /// Names of the top-level members that condition and order look at, as JSON strings.
    private let members: [[UInt8]]

    public init(_ criteria: LiveCriteria, sort: [SortField]) {
        self.criteria = criteria
        self.sort = sort
        order = SortOrder(fields: sort)
        let quote = UInt8(ascii: "\"")
        members = (criteria.selector.paths + sort.map(\.path)).map { [quote] + $0.componentNames[0] + [quote] }
    }

    /// Whether a document's place may be another one when these members differ; `nil` is all members.
    func mayDepend(on changed: [UInt8]?) -> Bool {
        guard let changed else { return true }
        return changed.withBytes { text in
            let changed = ChangedMembers(text)
            return members.contains { $0.withBytes { changed.contains($0) } }
        }
    }

    public var selector: Selector { criteria.selector }

    /// The key by which a document is ordered: it ends with the id.
    /// `quotedID`: the id as a JSON string.
    func key(_ document: StoredValue, id: Bytes, quotedID: StoredValue) -> [UInt8] {
        var key = ByteBuffer(capacity: 64 + id.count)
        order.append(document, id: quotedID, to: &key)
        LiveKey.append(id: id, to: &key)
        return Array(key.bytes)
    }
}

/// The end of a document's key in a live query.
enum LiveKey {
    static func append(id: Bytes, to key: inout ByteBuffer) {
        // As `IndexKey` has a string of few control characters: ids have none.
        key.append(0)
        key.append(id)
        key.append(0)
    }

    static func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.withBytes { left in right.withBytes { left.precedes($0) } }
    }

    /// The id of a key.
    static func id(_ key: [UInt8], length: Int) -> ArraySlice<UInt8> { key[(key.count - 1 - length)..<(key.count - 1)] }
}
