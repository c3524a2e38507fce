public import KuraBytes

/// Blobs, for the server: what takes long is done on threads, and comes back by its ticket.
extension Storage {
    /// Waits until all blobs that there are are known.
    /// - Returns: a ticket that `takeAnswers` gives back.
    public func awaitBlobs() -> UInt64 {
        let ticket = desk.takeTicket()
        desk.waits.add(ticket, .blobsKnown)
        return ticket
    }

    /// Begins to take a content in.
    /// - Returns: a ticket that `takeAnswers` gives back, with the `BlobCopy`.
    public func takeIn(blob source: BlobCopy.Source, within bound: BlobBound, for user: UInt32) -> UInt64 {
        desk.submit(content: BlobCopy(source, within: bound, blobs.files, configuration), for: user)
    }

    /// Begins to open the file of a content, or to read it.
    /// - Returns: a ticket that `takeAnswers` gives back, with the `BlobRead`.
    public func read(blob facts: BlobFacts, as form: BlobRead.Form, verifies: Bool, for user: UInt32) -> UInt64 {
        let ticket = desk.takeTicket()
        let read = BlobRead(
            facts.digest, bytes: facts.bytes, path: blobs.files.path(facts.digest), as: form, verifies: verifies,
            ticket: ticket)
        // What is short does not wait behind copies, nor does it give way to them.
        if read.isShort { caches.reader.submit(read) } else { desk.submit(content: read, ticket, for: user) }
        return ticket
    }

    /// Begins to read a content from the table.
    /// - Returns: a ticket that `takeAnswers` gives back, with the `BlobSmallRead`.
    public func read(smallBlob digest: ContentDigest) -> UInt64 {
        let ticket = desk.takeTicket()
        caches.reader.submit(BlobSmallRead(digest, ticket: ticket))
        return ticket
    }

    /// Begins to list a namespace; nil when there is none of that name.
    /// - Returns: a ticket that `takeAnswers` gives back, with the `BlobListing`.
    public func list(
        blobsOf namespace: Bytes, prefix: Bytes, after: (key: [UInt8], variant: [UInt8]), limit: Int
    ) -> UInt64? {
        guard let namespace = blobs.namespaces.find(namespace) else { return nil }
        let ticket = desk.takeTicket()
        // Behind all that has been written: the page shows what the index has.
        blobs.flushChanges()
        caches.writer.submit(
            BlobListing(namespace.id, prefix: Array(prefix), after: after, limit: limit, ticket: ticket))
        return ticket
    }

    /// Begins to add a piece to an upload.
    /// - Returns: a ticket that `takeAnswers` gives back, with the `BlobAppend`.
    public func append(_ text: [UInt8], to upload: BlobUpload, within bound: BlobBound, for user: UInt32) -> UInt64 {
        upload.beginPiece()
        return desk.submit(content: BlobAppend(text, upload, within: bound, blobs.files, configuration), for: user)
    }
}
