import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// Why a record is not stored. A fixed sentence: what the record holds may be secret.
struct RecordFault: Error, Equatable {
    var message: StaticString
    /// What the reader of JSON said, and at which byte of the record.
    var json: JSONFault?

    static func == (left: RecordFault, right: RecordFault) -> Bool { left.text == right.text }

    var text: String { json.map { "\(message): \($0.reason) at its byte \($0.offset)" } ?? "\(message)" }
}

/// Turns a record's bytes into a document: checks it with the wire's grammar, finds its id, and takes out insignificant
/// white space. Used by one thread.
final class RecordReader {
    private let idField: [UInt8]?
    private let names = NameStack()
    private let walk = WalkStorage()
    private let idWalk = WalkStorage()
    private var compact = ByteBuffer()
    private var identifiers = UUIDv7Generator()
    private let takesAttachments: Bool

    /// `idField`: the member that holds the id, the record being the document; without it a record is the export's
    /// `{"id":…,"value":…}`, or a document that gets a new id.
    /// `takesAttachments`: the export's may have `attachments` besides.
    init(idField: [UInt8]?, takesAttachments: Bool = false) {
        self.idField = idField
        self.takesAttachments = takesAttachments
    }

    /// Appends the document that `record` holds to `batch`.
    /// `now`: milliseconds since 1970, for new ids.
    /// Returns: the attachments that it brings; nil when it does not say.
    @discardableResult
    func read(_ record: Bytes, into batch: ImportBatch, now: Int64) throws(RecordFault) -> [RecordAttachment]? {
        let text = try check(record)
        if let idField {
            guard text.first == UInt8(ascii: "{") else { throw RecordFault(message: "no object, so it has no id") }
            guard let id = member(idField, of: text) else { throw RecordFault(message: "no member of idField's name") }
            try store(id: try name(id), text, batch)
        } else if let (id, value, list) = try exported(text) {
            let attachments = try list.map { (list) throws(RecordFault) in try RecordAttachment.list(list) }
            try store(id: id, value, batch)
            return attachments
        } else {
            try checkSize(text)
            identifiers.next(at: now).withBytes { batch.append(id: $0, value: text, isNewID: true) }
        }
        return nil
    }

    private func check(_ record: Bytes) throws(RecordFault) -> Bytes {
        names.truncate(to: 0)
        var reader = JSONReader(record, names: names)
        let value: JSONValue
        do throws(JSONFault) {
            value = try reader.value()
            try reader.expectEnd()
        } catch { throw RecordFault(message: "no JSON", json: error) }
        guard value.hasWhitespace else { return record }
        compact.removeAll()
        JSONText.compact(record, into: &compact)
        return compact.bytes
    }

    private func checkSize(_ value: Bytes) throws(RecordFault) {
        guard value.count <= DocumentsStore.valueLimit else { throw RecordFault(message: "longer than 8 MiB") }
    }

    private func store(
        id: Bytes, _ value: Bytes, _ batch: ImportBatch
    ) throws(RecordFault) {
        try checkSize(value)
        batch.append(id: id, value: value, isNewID: false)
    }

    private func member(_ name: [UInt8], of object: Bytes) -> Bytes? {
        var walk = JSONWalk(object, storage: walk)
        while let (found, value) = walk.nextMember() {
            if found.elementsEqual(name) { return value }
        }
        return nil
    }

    /// An id's bytes: a string's contents, or a number as it is written.
    private func name(_ value: Bytes) throws(RecordFault) -> Bytes {
        var id = value
        switch value.first {
        case UInt8(ascii: "\"")?: id = JSONWalk.string(value, storage: idWalk) ?? value
        case UInt8(ascii: "-")?, (UInt8(ascii: "0")...UInt8(ascii: "9"))?: break
        default: throw RecordFault(message: "the id is no string and no number")
        }
        guard JSONWalk.isName(id, limit: WireLimits.keyBytes) else {
            throw RecordFault(message: "the id is not 1 to 512 bytes without control characters")
        }
        return id
    }

    /// Id and value of a record that is an object of just these two: what an export has written, or somebody who writes the same.
    /// - Throws: when its id is none. Taken for a document without one it would be stored as what it is not.
    private func exported(
        _ text: Bytes
    ) throws(RecordFault) -> (id: Bytes, value: Bytes, attachments: Bytes?)? {
        guard text.first == UInt8(ascii: "{") else { return nil }
        var walk = JSONWalk(text, storage: walk)
        var id: Bytes?
        var value: Bytes?
        var attachments: Bytes?
        while let (name, found) = walk.nextMember() {
            if name.elementsEqual("id".utf8) {
                id = found
            } else if name.elementsEqual("value".utf8) {
                value = found
            } else if takesAttachments, name.elementsEqual("attachments".utf8) {
                attachments = found
            } else {
                return nil
            }
        }
        guard let id, let value else { return nil }
        guard id.first == UInt8(ascii: "\""), let contents = JSONWalk.string(id, storage: idWalk),
            JSONWalk.isName(contents, limit: WireLimits.keyBytes)
        else {
            throw RecordFault(
                message: "the id of a record of id and value is a string of 1 to 512 bytes without control characters")
        }
        return (contents, value, attachments)
    }
}

/// An attachment as a record brings it.
struct RecordAttachment {
    var name: [UInt8]
    /// Empty when the record does not say.
    var contentType: [UInt8] = []
    /// Base64.
    var data: [UInt8]

    /// Attachments of a document.
    private static let countLimit = 256
    private static let typeBytes = 127

    /// `text`: checked JSON without white space.
    static func list(_ text: Bytes) throws(RecordFault) -> [RecordAttachment] {
        guard text.first == UInt8(ascii: "[") else { throw RecordFault(message: "its attachments are no array") }
        var list: [RecordAttachment] = []
        for element in StoredValue(text).elements {
            let attachment = try RecordAttachment(element)
            guard list.count < countLimit, !list.contains(where: { $0.name == attachment.name }) else {
                throw RecordFault(message: "an attachment's name comes twice, or there are more than 256")
            }
            list.append(attachment)
        }
        return list
    }

    private init(_ element: StoredValue) throws(RecordFault) {
        var name: [UInt8]?
        var data: [UInt8]?
        for member in element.members {
            let text = member.value.kind == .string ? ResolvedText.bytes(member.value.quoted) : nil
            switch ResolvedText.bytes(member.name).withBytes({ String($0) }) {
            case "name": name = text
            case "data": data = text
            case "contentType":
                guard let text, text.withBytes({ JSONWalk.isName($0, limit: Self.typeBytes) }) else {
                    throw RecordFault(message: "the contentType of an attachment is 1 to 127 bytes")
                }
                contentType = text
            default: throw RecordFault(message: "members of an attachment are name, contentType and data")
            }
        }
        guard let name, name.withBytes({ JSONWalk.isName($0, limit: WireLimits.attachmentNameBytes) }) else {
            throw RecordFault(message: "an attachment's name is 1 to 255 bytes without control characters")
        }
        guard let data else { throw RecordFault(message: "an attachment has data, which is base64") }
        self.name = name
        self.data = data
    }
}

/// Documents on their way from a transfer's thread to the loop, which stores them in one transaction.
final class ImportBatch: @unchecked Sendable {
    // Filled by the transfer's thread, then read by the loop, and by the thread again when the loop has handed it back
    // through the channel's lock.

    private struct Entry {
        var id: Int
        var value: Int
        var end: Int
        var isNewID: Bool
        /// Where its record begins: the line, and bytes of the input.
        var line = 0
        var offset = 0
        /// Those that it is to have; nil: they stay.
        var attachments: [StagedAttachment]?
    }

    /// Bytes and documents at which a batch is handed over. What the loop does at once stays about a millisecond so.
    static let byteLimit = 64 << 10
    static let countLimit = 64

    private var text = ByteBuffer()
    private var entries: ContiguousArray<Entry> = []
    private var ids: Set<[UInt8]> = []
    /// Where to go on when the batch is stored.
    var end = 0

    var count: Int { entries.count }
    var isFull: Bool { entries.count >= Self.countLimit || text.count >= Self.byteLimit }

    func append(id: Bytes, value: Bytes, isNewID: Bool) {
        let start = text.count
        text.append(id)
        let middle = text.count
        text.append(value)
        entries.append(Entry(id: start, value: middle, end: text.count, isNewID: isNewID))
    }

    /// Notes where the last document's record begins.
    func placeLast(line: Int, offset: Int) {
        entries[entries.count - 1].line = line
        entries[entries.count - 1].offset = offset
    }

    /// The last document is to have these attachments.
    func attachLast(_ attachments: [StagedAttachment]) { entries[entries.count - 1].attachments = attachments }

    /// The attachments that a document is to have; nil: they stay.
    func attachments(of position: Int) -> [StagedAttachment]? { entries[position].attachments }

    /// Keeps the contents of all in their places.
    var pins: [AttachmentPin] { entries.flatMap { $0.attachments?.map(\.pin) ?? [] } }

    /// Where a document's record begins.
    func place(of position: Int) -> (line: Int, offset: Int) { (entries[position].line, entries[position].offset) }

    /// Takes a document out.
    func remove(_ position: Int) { entries.remove(at: position) }

    /// Takes a document and all behind it out: going on begins with it.
    func cut(at position: Int) {
        end = entries[position].offset
        entries.removeLast(entries.count - position)
    }

    /// Notes the last document's id.
    /// - Returns: false when the batch has a document of that id already, which is taken out again.
    func admitLast() -> Bool {
        guard let last = entries.last, !last.isNewID else { return true }
        return ids.insert(Array(text.bytes[last.id..<last.value])).inserted
    }

    /// Takes the last document out.
    /// - Returns: a batch that begins with it.
    func splitLast() -> ImportBatch {
        let last = entries.removeLast()
        let rest = ImportBatch()
        rest.append(
            id: Bytes(rebasing: text.bytes[last.id..<last.value]),
            value: Bytes(rebasing: text.bytes[last.value..<last.end]), isNewID: last.isNewID)
        rest.placeLast(line: last.line, offset: last.offset)
        if let attachments = last.attachments { rest.attachLast(attachments) }
        _ = rest.admitLast()
        text.truncate(to: last.id)
        return rest
    }

    func forEach<E: Error>(
        _ body: (_ id: Bytes, _ value: Bytes, _ isNewID: Bool) throws(E) -> Void
    ) throws(E) {
        for entry in entries {
            try body(
                Bytes(rebasing: text.bytes[entry.id..<entry.value]),
                Bytes(rebasing: text.bytes[entry.value..<entry.end]), entry.isNewID)
        }
    }
}
