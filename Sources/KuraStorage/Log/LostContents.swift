import KuraBytes

/// Contents that are nowhere: lists of attachments are copied without them.
struct LostContents {
    var digests: Set<ContentDigest> = []
    /// Lists that have nothing without them, by collection and id.
    private var emptied: Set<[UInt8]> = []

    var areNone: Bool { digests.isEmpty }

    /// Appends a row whose lists name none of the lost contents. A list changes together with its document, so that no revision goes.
    mutating func append(_ row: SegmentRow, into copy: inout SegmentCopy) throws(StorageFault) {
        var records = RecordBuffer()
        var offset = 0
        while var record = try LogRecord.next(in: row.records, at: &offset) {
            guard record.store == .attachments else {
                records.append(record)
                continue
            }
            let name = Array(record.scope) + [0] + Array(record.key)
            // What the document's tombstone would keep is gone.
            if record.isTombstone, record.value.isEmpty, emptied.remove(name) != nil { continue }
            emptied.remove(name)
            var list = AttachmentList(record.value)
            guard list.remove(digests) else {
                records.append(record)
                continue
            }
            var text = ByteBuffer()
            list.append(to: &text)
            record.value = text.bytes
            if list.attachments.isEmpty {
                record.isTombstone = true
                emptied.insert(name)
            }
            records.append(record)
        }
        var changed = row
        if records.count > 0 { changed.records = records.bytes }
        try copy.append(changed)
    }
}
