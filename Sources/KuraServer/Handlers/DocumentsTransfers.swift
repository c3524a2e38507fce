import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers `documents.import` and `documents.export`: checks the request here, the work is done by a thread.
extension DocumentsHandlers {
    static func export(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let export = ExportWork(
            call[DocumentsExport.collection], to: try call.end(fd: 1, path: 2),
            takesAttachments: call[DocumentsExport.attachments], storage)
        // It waits for the collection's newest change, which goes with this turn when that is taken back.
        call.shows(storage.documents.count(call[DocumentsExport.collection]).shownRev)
        _ = storage.submit(export.folded)
        throw .transfer(export)
    }

    static func `import`(
        _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        var options = ImportWork.Options()
        if call.has(DocumentsImport.idField) { options.idField = Array(call[DocumentsImport.idField]) }
        if call.has(DocumentsImport.format) {
            options.format = call[DocumentsImport.format].elementsEqual("array".utf8) ? .array : .lines
        }
        options.skipsBadRecords = call[DocumentsImport.onError].elementsEqual("skip".utf8)
        options.offset = Int(call[DocumentsImport.offset] ?? 0)
        if call[DocumentsImport.attachments] { options.attachments = storage.attachmentImport }
        let end = try call.end(fd: 1, path: 2)
        throw .transfer(
            ImportWork(Array(call[DocumentsImport.collection]), from: end, options, storage.configuration))
    }
}
