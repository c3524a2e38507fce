public import KuraBytes

/// The parts of documents that a query wants, as a document of their own.
///
/// `["name","location.city"]` makes `{"name":…,"location":{"city":…}}` of a document: what is not there is left out, and what lies in
/// an array becomes a member with the element's number. Values stay byte for byte. `_id` is the
/// document's id, as in selectors.
public struct Projection: Sendable {
    private struct Part: Sendable {
        /// The name's bytes, and as JSON with its quotes and the colon.
        var name: [UInt8]
        var label: [UInt8]
        /// All of it is wanted.
        var isWhole = false
        var parts: [Part] = []
    }
    private var root = Part(name: [], label: [])
    /// `_id` is wanted: the document's own.
    public private(set) var hasID = false

    public init(_ paths: [FieldPath]) {
        for path in paths {
            if path.isID { hasID = true } else { Self.insert(path.componentNames[...], into: &root) }
        }
    }

    private static func insert(_ names: ArraySlice<[UInt8]>, into part: inout Part) {
        guard let name = names.first else {
            part.isWhole = true
            return
        }
        let place: Int
        if let found = part.parts.firstIndex(where: { $0.name == name }) {
            place = found
        } else {
            place = part.parts.count
            part.parts.append(Part(name: name, label: label(name)))
        }
        insert(names.dropFirst(), into: &part.parts[place])
    }

    private static func label(_ name: [UInt8]) -> [UInt8] {
        var label = ByteBuffer()
        name.withBytes { label.append(quotedName: $0) }
        label.append(":")
        return Array(label.bytes)
    }

    /// Appends what is wanted of a document; `{}` when nothing of it is there. `_id` comes first.
    /// `id`: the document's.
    public func append(_ document: StoredValue, id: Bytes, to output: inout ByteBuffer) {
        if hasID {
            output.append("{\"_id\":")
            output.append(quotedName: id)
        }
        if Self.append(root.parts, of: document, goesOn: hasID, to: &output) { return }
        output.append(hasID ? "}" : "{}")
    }

    /// `goesOn`: the object is open, and has a member.
    /// - Returns: whether anything was there.
    private static func append(
        _ parts: [Part], of value: StoredValue, goesOn: Bool = false, to output: inout ByteBuffer
    ) -> Bool {
        var isEmpty = true
        for part in parts {
            guard let found = FieldPath.step(into: value, part.name) else { continue }
            let start = output.count
            output.append(isEmpty && !goesOn ? UInt8(ascii: "{") : UInt8(ascii: ","))
            output.append(part.label)
            if part.isWhole {
                output.append(found.text)
            } else if !append(part.parts, of: found, to: &output) {
                output.truncate(to: start)
                continue
            }
            isEmpty = false
        }
        if !isEmpty { output.append(UInt8(ascii: "}")) }
        return !isEmpty
    }
}
