import KuraBytes
import KuraStorage

/// A result as it is kept under its request key: `["digest","method",result]`. Without the digest when it is about secrets, or when
/// an earlier version has recorded it: it is that of every request of its method then. An earlier version that reads one with a digest
/// takes it for another method's, and refuses.
struct RecordedResult {
    let digest: Bytes?
    let result: Bytes

    /// - Returns: nil when it is another method's.
    init?(_ record: Bytes, method: Bytes) {
        guard record.count > 4 else { return nil }
        var rest = record.extracting(2..<record.count - 1)
        digest = RequestDigests.leading(rest)
        if let digest { rest = rest.extracting(min(rest.count, digest.count + 3)..<rest.count) }
        guard rest.count > method.count + 2, rest.starts(with: method), rest[method.count] == UInt8(ascii: "\"")
        else { return nil }
        result = rest.extracting(method.count + 2..<rest.count)
    }

    static func append(_ result: Bytes, method: Bytes, digest: Bytes?, to out: inout ByteBuffer) {
        out.append("[\"")
        if let digest {
            out.append(digest)
            out.append("\",\"")
        }
        out.append(method)
        out.append("\",")
        out.append(result)
        out.append("]")
    }
}
