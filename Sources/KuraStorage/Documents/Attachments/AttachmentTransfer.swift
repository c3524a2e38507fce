public import KuraBytes
import KuraJSON
import SQLite

/// The attachments of documents that are exported, read on the export's thread beside the documents.
public final class AttachmentExport: @unchecked Sendable {
    // Made on the loop, then used by one thread.

    /// Bytes of a document's attachments that go along with it; those of a document with more do not.
    public static let byteLimit = 8 << 20

    /// Where the lists are.
    private let lists: UInt32
    private let configuration: StorageConfiguration
    private let files: AttachmentFiles
    private let damage: DamageBook
    private var select: Select?

    private final class Select {
        let statement: Statement

        init(_ connection: Connection) throws(SQLiteError) {
            statement = try connection.prepare(
                "SELECT body FROM documents WHERE collection = ?1 AND id = ?2 AND isDeleted = 0")
        }
    }

    init(lists: UInt32, _ storage: isolated Storage) {
        self.lists = lists
        (configuration, files, damage) = (storage.configuration, storage.tables.attachments, storage.start.damage)
    }

    /// Contents that lists of a snapshot of `body` name stay until it has ended: what is not there then is lost.
    public func keeping<R>(_ body: () throws(EngineError) -> R) throws(EngineError) -> R {
        files.beginKeeping()
        defer { files.endKeeping() }
        return try body()
    }

    /// What a document lists, in the snapshot that is being looked at; empty when it has none.
    /// - Throws: what SQLite says.
    public func attachments(of id: Bytes, _ tables: TableReader) throws(EngineError) -> [Attachment] {
        do throws(SQLiteError) {
            let select: Select
            if let known = self.select { select = known } else { select = try Select(tables.connection) }
            self.select = select
            defer { select.statement.reset() }
            try select.statement.bind(1, Int64(lists))
            try select.statement.bind(2, utf8: id)
            return try select.statement.step() ? AttachmentList(select.statement.bytes(0)).attachments : []
        } catch { throw .unreadable(error) }
    }

    /// Appends `,"attachments":[{"name":…,"contentType":…,"data":…}]`.
    /// - Returns: false when one of them is damaged or gone, which is noted; then nothing is appended.
    /// - Throws: `.unreadable` when nothing can be opened now; `.cancelled`.
    public func append(
        _ attachments: [Attachment], to output: inout ByteBuffer, _ tables: TableReader
    ) throws(EngineError) -> Bool {
        let start = output.count
        output.append(",\"attachments\":[")
        for (position, attachment) in attachments.enumerated() {
            let content = AttachmentRead(attachment, isInline: true, configuration)
            try content.look(tables)
            if content.isUnavailable { throw .unreadable(.tooManyFiles) }
            guard !content.isDamaged else {
                damage.note(content: attachment.digest)
                output.truncate(to: start)
                return false
            }
            output.append(position > 0 ? ",{\"name\":" : "{\"name\":")
            attachment.name.withBytes { output.append(quotedName: $0) }
            if !attachment.contentType.isEmpty {
                output.append(",\"contentType\":")
                attachment.contentType.withBytes { output.append(quotedName: $0) }
            }
            output.append(",\"data\":\"")
            output.append(content.text)
            output.append("\"}")
        }
        output.append("]")
        return true
    }
}

/// An attachment whose content is in its place, and stays there.
public struct StagedAttachment: Sendable {
    public let attachment: Attachment
    public let pin: AttachmentPin
}

/// Takes contents in on the thread of an import.
public final class AttachmentImport: Sendable {
    private let files: AttachmentFiles
    private let configuration: StorageConfiguration

    init(_ files: AttachmentFiles, _ configuration: StorageConfiguration) {
        self.files = files
        self.configuration = configuration
    }

    /// Gives a content its place on the disk. Waits for the disk.
    /// `data`: base64.
    public func take(
        name: [UInt8], contentType: [UInt8], data: [UInt8], _ tables: TableReader
    ) throws(ContentFault) -> StagedAttachment {
        let copy = AttachmentCopy(.text(data), files, configuration)
        // What goes wrong is told by its fault.
        try? copy.run(tables)
        guard let digest = copy.digest, let pin = copy.pin else { throw copy.fault ?? .failed }
        return StagedAttachment(
            attachment: Attachment(name: name, contentType: contentType, bytes: copy.bytes, digest: digest), pin: pin)
    }
}

extension Storage {
    /// What reads the attachments of a collection's documents; nil when there are none.
    public func attachmentExport(_ collection: Bytes) -> AttachmentExport? {
        guard let scope = ledger.scopes.find(.documents, collection), let lists = documents.lists(of: scope) else {
            return nil
        }
        return AttachmentExport(lists: lists.id, self)
    }

    public var attachmentImport: AttachmentImport { AttachmentImport(tables.attachments, configuration) }
}

extension DocumentsStore.Batch {
    /// Gives a document that the batch has put these attachments and no others. Their contents are in their places, and pinned.
    /// - Throws: `.attachmentsFull`, `.cold`, and what staging a change throws.
    public func setAttachments(_ id: Bytes, _ attachments: [Attachment]) throws(DocumentsError) {
        try store.stageAttachments(of: scope, id, attachments)
    }
}

extension DocumentsStore {
    fileprivate func stageAttachments(of document: Scope, _ id: Bytes, _ attachments: [Attachment])
        throws(DocumentsError)
    {
        let lists = document.withName { ledger.scopes.findOrPrepare(.attachments, $0) }
        let old = lists.isInTable ? try existing(lists, id) : nil
        var list = AttachmentList()
        for attachment in attachments { list.put(attachment) }
        try list.checkLimits()
        var text = ByteBuffer()
        list.append(to: &text)
        let known = old.flatMap { $0.isTombstone ? nil : $0 }
        if known.map({ $0.value.equals(text.bytes) }) ?? list.attachments.isEmpty { return }
        let isEmpty = list.attachments.isEmpty
        do throws(EngineError) {
            try ledger.stage(
                lists, key: id, value: text.bytes, isTombstone: isEmpty, old: old,
                oldBytes: known.map { AttachmentList.totalBytes($0.value) } ?? 0, newBytes: list.totalBytes,
                mayRepeat: true
            ) { item in
                if let old { Self.succeed(item, old) } else { item.pointee.row = lists.rows.take() }
                item.pointee.writesBody = true
            }
        } catch { throw .engine(error) }
    }
}
