public import KuraBytes

/// Taking an id out of a document that refers to it: `null` comes in the place of a string, an array loses the element.
public struct IDRemoval: ~Copyable {
    private var editor = DocumentEditor()
    private var path = PathNames()

    public init() {}

    /// Appends the document without the id at `place`; everything else stays byte for byte.
    /// `id`: its bytes, escapes resolved.
    /// Returns whether it was there; when it was not, nothing is appended.
    public mutating func apply(
        _ id: Bytes, at place: FieldPath, in document: StoredValue, into output: inout ByteBuffer
    ) -> Bool {
        path.read(place)
        editor.begin(document.text)
        defer { editor.end() }
        guard case .value(let range, _) = editor.locate(path) else { return false }
        let value = StoredValue(document.text.extracting(range))
        guard FieldPath.refers(value, to: id) else { return false }
        if value.kind == .string {
            editor.replace(range) { $0.append("null") }
        } else {
            editor.replace(range) { output in
                output.append("[")
                var isFirst = true
                for element in value.elements where !FieldPath.equalsID(element, id) {
                    if !isFirst { output.append(",") }
                    isFirst = false
                    output.append(element.text)
                }
                output.append("]")
            }
        }
        output.append(editor.text)
        return true
    }
}

/// A field that holds ids of other documents: one as a string, or several as an array of strings. Anything else refers to nothing.
extension FieldPath {
    /// Bytes of an id at most; a longer string is none.
    private static let idBytes = 512

    /// The strings that are ids, in the document's order; one that comes twice is there twice.
    /// `limit`: more than these are not looked for.
    public func ids(in document: StoredValue, limit: Int = .max) -> [StoredValue] {
        guard let value = find(in: document) else { return [] }
        switch value.kind {
        case .string: return Self.mayBeID(value) ? [value] : []
        case .array:
            var ids: [StoredValue] = []
            for element in value.elements where element.kind == .string && Self.mayBeID(element) {
                ids.append(element)
                if ids.count >= limit { break }
            }
            return ids
        default: return []
        }
    }

    /// Whether the document refers to the document with this id.
    public func isReference(in document: StoredValue, to id: Bytes) -> Bool {
        find(in: document).map { Self.refers($0, to: id) } ?? false
    }

    /// The same of the field's value.
    fileprivate static func refers(_ value: StoredValue, to id: Bytes) -> Bool {
        switch value.kind {
        case .string: equalsID(value, id)
        case .array: value.elements.contains { equalsID($0, id) }
        default: false
        }
    }

    fileprivate static func equalsID(_ value: StoredValue, _ id: Bytes) -> Bool {
        value.kind == .string && ResolvedText.equals(value.quoted, id)
    }

    /// An escape stands for at least a sixth of its bytes.
    private static func mayBeID(_ value: StoredValue) -> Bool {
        value.text.count > 2 && value.text.count <= 6 * idBytes + 2
    }
}
