import KuraBytes
import KuraJSON

/// An attachment as its document lists it.
public struct Attachment: Sendable, Equatable {
    public var name: [UInt8]
    /// Empty when nobody said.
    public var contentType: [UInt8]
    public var bytes: Int
    public var digest: ContentDigest

    public init(name: [UInt8], contentType: [UInt8], bytes: Int, digest: ContentDigest) {
        self.name = name
        self.contentType = contentType
        self.bytes = bytes
        self.digest = digest
    }

    /// Most bytes of one, of all those of a document, and most of a document.
    public static let byteLimit = 512 << 20
    public static let totalLimit = 1 << 30
    public static let countLimit = 256
}

/// A document's attachments as they lie in log and tables: a JSON array of objects, in the order of the names' bytes.
struct AttachmentList {
    private(set) var attachments: [Attachment] = []

    init() {}

    /// - Parameter text: of our own making; what is none of ours is left out.
    init(_ text: Bytes) {
        for element in StoredValue(text).elements {
            var name: [UInt8]?
            var contentType: [UInt8] = []
            var bytes: Int?
            var digest: ContentDigest?
            for member in element.members {
                if member.name.equals("name") {
                    name = ResolvedText.bytes(member.value.quoted)
                } else if member.name.equals("contentType") {
                    contentType = ResolvedText.bytes(member.value.quoted)
                } else if member.name.equals("bytes") {
                    bytes = Int(String(decoding: member.value.text, as: UTF8.self))
                } else if member.name.equals("digest") {
                    digest = ContentDigest(digits: member.value.quoted)
                }
            }
            guard let name, let bytes, 0...Attachment.byteLimit ~= bytes, let digest else { continue }
            attachments.append(Attachment(name: name, contentType: contentType, bytes: bytes, digest: digest))
        }
    }

    var totalBytes: Int { attachments.reduce(0) { $0 + $1.bytes } }

    /// The same of a text, without taking it apart further.
    static func totalBytes(_ text: Bytes) -> Int { AttachmentList(text).totalBytes }

    /// - Throws: `.attachmentsFull` when it is more than a document may have.
    func checkLimits() throws(DocumentsError) {
        guard attachments.count <= Attachment.countLimit else {
            throw .attachmentsFull(limit: Attachment.countLimit, of: .items)
        }
        guard totalBytes <= Attachment.totalLimit else {
            throw .attachmentsFull(limit: Attachment.totalLimit, of: .bytes)
        }
    }

    func find(_ name: Bytes) -> Attachment? {
        attachments.first { $0.name.withBytes { $0.equals(name) } }
    }

    /// Adds it, in the place of one of the same name.
    mutating func put(_ attachment: Attachment) {
        attachments.removeAll { $0.name == attachment.name }
        let place = attachments.firstIndex { attachment.name.lexicographicallyPrecedes($0.name) }
        attachments.insert(attachment, at: place ?? attachments.count)
    }

    /// - Returns: whether there was one of that name.
    mutating func remove(_ name: Bytes) -> Bool {
        guard let place = attachments.firstIndex(where: { $0.name.withBytes { $0.equals(name) } }) else { return false }
        attachments.remove(at: place)
        return true
    }

    /// - Returns: whether any had one of these contents.
    mutating func remove(_ contents: Set<ContentDigest>) -> Bool {
        let count = attachments.count
        attachments.removeAll { contents.contains($0.digest) }
        return attachments.count < count
    }

    func append(to output: inout ByteBuffer) {
        output.append("[")
        for (position, attachment) in attachments.enumerated() {
            output.append(position > 0 ? ",{\"name\":" : "{\"name\":")
            attachment.name.withBytes { output.append(quotedName: $0) }
            if !attachment.contentType.isEmpty {
                output.append(",\"contentType\":")
                attachment.contentType.withBytes { output.append(quotedName: $0) }
            }
            output.append(",\"bytes\":")
            output.append(text: String(attachment.bytes))
            output.append(",\"digest\":\"")
            output.append(digitsOf: attachment.digest)
            output.append("\"}")
        }
        output.append("]")
    }
}
