import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers `documents.import` and `documents.export`: checks the request here, the work is done by a thread.
extension DocumentsHandlers {
    static func export(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        if try call.appendOutcome(to: &out, storage) { return }
        let export = DocumentsExport(
            call.reader.string(0), to: try call.end(fd: 1, path: 2), takesAttachments: call.reader.boolean(3), storage)
        // It waits for the collection's newest change, which goes with this turn when that is taken back.
        call.shows(storage.documents.count(call.reader.string(0)).shownRev)
        _ = storage.submit(export.folded)
        throw .transfer(export)
    }

    static func importDocuments(
        _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        if try call.appendOutcome(to: &out, storage) { return }
        let reader = call.reader
        var options = DocumentsImport.Options()
        if reader.has(3) { options.idField = Array(reader.string(3)) }
        if reader.has(4) { options.format = reader.string(4).elementsEqual("array".utf8) ? .array : .lines }
        options.skipsBadRecords = reader.string(5).elementsEqual("skip".utf8)
        options.offset = Int(reader.integer(6) ?? 0)
        if reader.boolean(7) { options.attachments = storage.attachmentImport }
        let end = try call.end(fd: 1, path: 2)
        throw .transfer(DocumentsImport(Array(reader.string(0)), from: end, options, storage.configuration))
    }
}
