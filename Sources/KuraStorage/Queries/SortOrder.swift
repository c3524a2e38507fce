import KuraBytes
public import KuraJSON

/// One of the values by which documents are sorted.
public struct SortField: Sendable, Equatable {
    public var path: FieldPath
    public var isDescending: Bool

    public init(path: FieldPath, isDescending: Bool = false) {
        self.path = path
        self.isDescending = isDescending
    }
}

/// The order that a query wants, as keys whose bytes compare like the documents.
///
/// A key says where it ends, so that of two different ones neither begins with the other: complemented, they compare the other way
/// round. Documents with equal keys are in the order of their rows.
struct SortOrder: Sendable {
    let fields: [SortField]
    /// Which of them are ids.
    private let isID: [Bool]

    init(fields: [SortField]) {
        self.fields = fields
        isID = fields.map(\.path.isID)
    }

    /// Appends a document's key. `id`: its id as a JSON string.
    func append(_ document: StoredValue, id: StoredValue, to key: inout ByteBuffer) {
        for (place, field) in fields.enumerated() {
            let start = key.count
            IndexKey.append(isID[place] ? id : field.path.find(in: document), to: &key)
            guard field.isDescending else { continue }
            for position in start..<key.count { key.overwrite(at: position, with: ~key.bytes[position]) }
        }
    }

    var usesID: Bool { isID.contains(true) }
}
