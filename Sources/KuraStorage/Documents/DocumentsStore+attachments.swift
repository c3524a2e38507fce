public import KuraBytes

/// Attachments: which contents belong to a document, under which names.
///
/// A document's list is an item of its own, of the store `attachments` under the document's own collection and id, so that a document
/// without any costs nothing. It lives with its document: a change of it gives the document a new revision too, in the same
/// transaction; a deletion leaves both tombstones, and `restore` brings both back; a document that is put again over its tombstone
/// begins without. Its size in its scope is that of the contents.
extension DocumentsStore {
    // MARK: Reading

    /// The document's attachments as JSON, an array of objects; nil when it has none. Good until the next change or turn.
    /// - Throws: `.cold`, `.unreadable`.
    public func attachments(_ collection: Bytes, _ id: Bytes) throws(EngineError) -> Bytes? {
        guard let list = try list(collection, id) else { return nil }
        ledger.markRead(list)
        return list.value
    }

    /// When they were changed last; nil when it has none.
    /// Throws: `.cold`, `.unreadable`.
    func attachmentsRev(_ collection: Bytes, _ id: Bytes) throws(EngineError) -> UInt64? {
        try list(collection, id)?.pointee.rev
    }

    private func list(_ collection: Bytes, _ id: Bytes) throws(EngineError) -> ItemRef? {
        // Asked with every document: nothing is looked up where nobody has any.
        guard ledger.scopes.made(.attachments) > 0, let documents = ledger.scopes.find(.documents, collection),
            let scope = lists(of: documents), scope.count > 0, let list = try find(scope, id), !list.isTombstone
        else { return nil }
        return list
    }

    /// How many documents of the collection have attachments.
    public func documentsWithAttachments(_ collection: Bytes) -> Int {
        ledger.scopes.find(.documents, collection).flatMap { lists(of: $0) }?.count ?? 0
    }

    /// One of them; nil when the document has no such attachment, or is absent.
    public func attachment(_ collection: Bytes, _ id: Bytes, _ name: Bytes) throws(EngineError) -> (
        attachment: Attachment?, shownRev: UInt64
    ) {
        let found = try get(collection, id)
        guard found.item != nil, let list = try attachments(collection, id) else { return (nil, found.shownRev) }
        return (AttachmentList(list).find(name), found.shownRev)
    }

    // MARK: Writing

    /// Gives the document an attachment, in the place of one of the same name. Its content is in its place already, and pinned until
    /// the change is folded.
    /// - Throws: `.absent`, `.conflict`, `.attachmentsFull`, and what staging a change throws.
    public func attach(
        _ collection: Bytes, _ id: Bytes, _ attachment: Attachment, ifRev: Precondition, by author: Author
    ) throws(DocumentsError) -> WriteResult {
        try change(collection, id, ifRev: ifRev, by: author) { (list) throws(DocumentsError) in
            let old = attachment.name.withBytes { list.find($0) }
            if old == attachment { return false }
            list.put(attachment)
            try list.checkLimits()
            return true
        }
    }

    /// Takes an attachment away. One that is not there is no error.
    public func detach(
        _ collection: Bytes, _ id: Bytes, _ name: Bytes, ifRev: Precondition, by author: Author
    ) throws(DocumentsError) -> WriteResult {
        try change(collection, id, ifRev: ifRev, by: author) { (list) throws(DocumentsError) in list.remove(name) }
    }

    /// `body` changes the list and tells whether it has.
    private func change(
        _ collection: Bytes, _ id: Bytes, ifRev: Precondition, by author: Author,
        _ body: (inout AttachmentList) throws(DocumentsError) -> Bool
    ) throws(DocumentsError) -> WriteResult {
        let scope = ledger.scopes.find(.documents, collection)
        let document = try existing(scope, id, ifRev)
        guard let scope, let document, !document.isTombstone else {
            throw .absent(shownRev: document?.pointee.rev ?? 0)
        }
        let lists = ledger.scopes.findOrPrepare(.attachments, collection)
        let old = lists.isInTable ? try existing(lists, id) : nil
        var list = AttachmentList()
        if let old, !old.isTombstone { list = AttachmentList(old.value) }
        let oldBytes = list.totalBytes
        guard try body(&list) else {
            ledger.countNoOp(.documents, by: author)
            return WriteResult(rev: document.pointee.rev, changed: 0)
        }
        var text = ByteBuffer()
        list.append(to: &text)
        let rev = try ledger.transaction(by: author) { () throws(DocumentsError) in
            // What the transaction has written already has its revision.
            if document.pointee.rev <= ledger.rev {
                let value = try scope.collection.migrations?.migrated(document.value, rev: document.pointee.rev)
                try stage(scope, id, value ?? document.value, old: document)
            }
            let isEmpty = list.attachments.isEmpty
            // The tombstone of a list that was emptied says so: it carries nothing that could be brought back.
            do throws(EngineError) {
                try ledger.stage(
                    lists, key: id, value: text.bytes, isTombstone: isEmpty, old: old, oldBytes: oldBytes,
                    newBytes: list.totalBytes, mayRepeat: true
                ) { item in
                    if let old { Self.succeed(item, old) } else { item.pointee.row = lists.rows.take() }
                    item.pointee.writesBody = true
                }
            } catch { throw .engine(error) }
        }
        return WriteResult(rev: rev ?? 0, changed: 1)
    }

    // MARK: With their document

    /// The document is being deleted: its list gets a tombstone of the same revision, which carries it, if the document's keeps what there was.
    func stageDeletionOfAttachments(_ document: Scope, _ id: Bytes, _ keeps: Bool) throws(EngineError) {
        guard let scope = lists(of: document), let old = try find(scope, id), !old.isTombstone else {
            return
        }
        try ledger.stage(
            scope, key: id, value: keeps ? Bytes() : Self.emptyList, isTombstone: true,
            carrying: keeps ? old.value : nil,
            old: old, oldBytes: AttachmentList.totalBytes(old.value), newBytes: 0, mayRepeat: true
        ) { item in
            Self.succeed(item, old)
            item.pointee.writesBody = old.isDirty || !keeps
        }
    }

    /// The document is being brought back: so is the list that went with it, and no older one.
    func stageRestoration(ofAttachmentsOf document: Scope, _ id: Bytes, deletedAt rev: UInt64) throws(EngineError) {
        guard let scope = lists(of: document), let old = try find(scope, id), old.isTombstone,
            old.pointee.rev == rev
        else { return }
        try ledger.stage(
            scope, key: id, value: old.value, isTombstone: false, old: old, oldBytes: 0,
            newBytes: AttachmentList.totalBytes(old.value)
        ) { item in Self.succeed(item, old) }
    }

    /// The document has been put again over its tombstone: what went with that cannot be brought back any more.
    func dropAttachments(ofDeleted document: Scope, _ id: Bytes) throws(EngineError) {
        guard let scope = lists(of: document), let old = try find(scope, id), old.isTombstone,
            !old.value.equals(Self.emptyList)
        else { return }
        try ledger.stage(
            scope, key: id, value: Self.emptyList, isTombstone: true, old: old, oldBytes: 0, newBytes: 0
        ) { item in
            Self.succeed(item, old)
            item.pointee.writesBody = true
        }
    }

    private static var emptyList: Bytes { Bytes("[]") }

    /// Where the lists of a collection's documents are; nil when it never had any. Asked with each read, so it costs no look-up by
    /// name unless a collection somewhere has come to have some.
    func lists(of documents: Scope) -> Scope? {
        if let lists = documents.collection.lists, lists.isInTable { return lists }
        guard documents.collection.listsAsked != ledger.scopes.made(.attachments) else { return nil }
        documents.collection.listsAsked = ledger.scopes.made(.attachments)
        documents.collection.lists = documents.withName { ledger.scopes.find(.attachments, $0) }
        return documents.collection.lists
    }
}
