import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// A document as every answer shows it.
extension ByteBuffer {
    /// The members `id`, `value` and `rev`. `fields`: those of the value that are shown; nil: all of them.
    mutating func append(document id: Bytes, _ value: Bytes?, rev: UInt64?, fields: Projection? = nil) {
        append(.id, id)
        if let value, let fields {
            append(name: AnyMember.value)
            fields.append(StoredValue(value), id: id, to: &self)
            append(content: nil, rev: rev)
        } else {
            append(content: value, rev: rev)
        }
    }

    /// The members `value` and `rev`, without what is nil.
    mutating func append(content value: Bytes?, rev: UInt64?) {
        if let value { append(.value, json: value) }
        if let rev { append(.rev, rev) }
    }
}
