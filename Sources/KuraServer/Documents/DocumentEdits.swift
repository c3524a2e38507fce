import KuraBytes
import KuraJSON
import KuraStorage

/// What the server makes of documents by itself: ids for new ones, and what patches and sums make of those that are there. Memory is used again.
struct DocumentEdits: ~Copyable {
    private var identifiers = UUIDv7Generator()
    private var id = ByteBuffer()
    private var jsonPatch = JSONPatch()
    private var sum = Increment()

    private static let limits = PatchLimits(resultBytes: DocumentsStore.valueLimit)

    /// An id for a new document; good until the next one.
    mutating func newID(at milliseconds: Int64) -> Bytes {
        id.removeAll()
        id.append(identifiers.next(at: milliseconds))
        return id.bytes
    }

    /// Appends what a patch makes of a document.
    /// - Parameters:
    ///   - patch: JSON that has been checked.
    ///   - isMerge: it is a merge patch, and a list of operations otherwise.
    ///   - document: as it is.
    ///   - output: where it is appended.
    /// - Throws: what is wrong with the patch, or does not fit the document.
    mutating func apply(
        _ patch: StoredValue, isMerge: Bool, to document: StoredValue, into output: inout ByteBuffer
    ) throws(PatchFault) {
        if isMerge {
            try MergePatch.apply(patch, to: document, into: &output, Self.limits)
        } else {
            try jsonPatch.apply(patch, to: document, into: &output, Self.limits)
        }
    }

    /// Appends a document with `step` added to the number at `path`.
    /// - Parameters:
    ///   - step: a JSON number's text.
    ///   - path: where the number stands, or is to stand.
    ///   - document: as it is.
    ///   - output: where it is appended.
    /// - Returns: the sum's text; good until the next sum.
    /// - Throws: why there is none.
    mutating func add(
        _ step: Bytes, at path: FieldPath, in document: StoredValue, into output: inout ByteBuffer
    ) throws(PatchFault) -> Bytes {
        try sum.apply(step, at: path, in: document, into: &output, Self.limits)
    }
}
