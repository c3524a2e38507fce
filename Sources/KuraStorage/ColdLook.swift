/// What a look-up on the loop would have had to wait for.
public enum ColdLook: Sendable {
    case document(scope: UInt32, id: [UInt8])
    /// The first row of a scope behind that one.
    case behind(scope: UInt32, id: [UInt8])
    /// The documents with a key in an index.
    case index(Int64, key: [UInt8])
    /// The same, and these documents of a collection whole.
    case referring(index: Int64, key: [UInt8], scope: UInt32)
    /// All of these; the first is what was met.
    case several([ColdLook])

    /// One by one.
    var each: [ColdLook] { if case .several(let looks) = self { looks } else { [self] } }
}
