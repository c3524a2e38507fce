import KuraBytes
import KuraProtocol

/// One page of a list: behind which key it begins, and as of which revision its list began.
///
/// A cursor is opaque to clients: a version digit, then in Base64 a seal, the revision of its first page and the last key. The seal is
/// the hash of both under the list's identity: another list's cursor, or one that is not whole, is refused. Every page of a list so names the revision of the first one. That is the one from which `changes.list` goes on: what an early
/// page shows may have changed while a later one was read.
struct ListPage {
    /// The key behind which the page begins; nil for the first page.
    let after: [UInt8]?
    private let identity: UInt64
    private let firstRev: UInt64?

    private static let version = UInt8(ascii: "3")
    /// Seal and revision, which stand before the key.
    private static let headBytes = 16

    /// - Throws: `invalidParams` when the cursor is none, is another list's, or is not as it was given.
    init(_ call: Call, cursor parameter: TextParameter, of identity: UInt64) throws(Refusal) {
        self.identity = identity
        guard call.has(parameter) else {
            (after, firstRev) = (nil, nil)
            return
        }
        let text = call[parameter]
        var bytes = ByteBuffer()
        guard text.first == Self.version, Base64.decode(Bytes(rebasing: text[1...]), into: &bytes),
            bytes.count >= Self.headBytes
        else { throw call.refuseCursor(parameter) }
        let head = bytes.bytes
        guard head.loadUnaligned(as: UInt64.self).littleEndian == Self.seal(bytes, identity) else {
            throw call.refuseCursor(parameter)
        }
        firstRev = head.loadUnaligned(fromByteOffset: 8, as: UInt64.self).littleEndian
        after = Array(head[Self.headBytes...])
    }

    private static func seal(_ cursor: borrowing ByteBuffer, _ identity: UInt64) -> UInt64 {
        LastingHash.bytes(cursor.bytes(8..<cursor.count), seed: identity)
    }

    /// The revision of the list's first page, when this one is as of `rev`.
    func rev(_ rev: UInt64) -> UInt64 { min(firstRev ?? rev, rev) }

    /// The member `cursor`: the next page begins behind `key`. `rev`: what this page is as of; 0 where lists have none.
    func append(cursor key: Bytes, rev: UInt64 = 0, to out: inout ByteBuffer) {
        var bytes = ByteBuffer(capacity: Self.headBytes + key.count)
        bytes.append(littleEndian: 0 as UInt64)
        bytes.append(littleEndian: self.rev(rev))
        bytes.append(key)
        bytes.overwrite(at: 0, littleEndian: Self.seal(bytes, identity))
        out.append(name: .cursor)
        out.append("\"")
        out.append(Self.version)
        Base64.encode(bytes.bytes, into: &out)
        out.append("\"")
    }

    /// Characters of the cursor behind `key`.
    static func cursorBytes(_ key: [UInt8]) -> Int { 1 + Base64.length(of: headBytes + key.count) }
}

extension Call {
    /// The page that the cursor leads to, of the list that the method and `parameters` make.
    func page(cursor: TextParameter, of parameters: any Parameter...) throws(Refusal) -> ListPage {
        try ListPage(self, cursor: cursor, of: identity(of: parameters))
    }

    /// A number for the method (or another one whose cursors it takes) and the text of some parameters.
    func identity(
        of parameters: [any Parameter], method: Int? = nil, seed: UInt64 = 0x6B75_7261
    ) -> UInt64 {
        let name = Array(reader.table.methods[method ?? reader.methodIndex].name.utf8)
        return parameters.reduce(name.withBytes { LastingHash.bytes($0, seed: seed) }) { identity, parameter in
            LastingHash.bytes(reader.json(parameter.position), seed: identity)
        }
    }

    func refuseCursor(_ parameter: some Parameter) -> Refusal {
        .error(
            RPCError(
                .invalidParams, hint: "a cursor comes from an earlier page of the same list",
                parameter: name(parameter)))
    }
}
