/// Contents of attachments, for the server: what takes long is done on the content threads, and comes back by its ticket.
extension Storage {
    /// Every change is refused for want of space.
    public var refusesChanges: Bool { ledger.room.isRefusingChanges || ledger.room.isRefusingForReserve }

    /// Begins to take a content in.
    /// `user`: whose request it is, by uid; so below.
    /// - Returns: a ticket that `takeAnswers` gives back, with the copy.
    public func takeIn(_ source: AttachmentCopy.Source, for user: UInt32) -> UInt64 {
        submit(content: AttachmentCopy(source, attachments, configuration), for: user)
    }

    /// Begins to open a content, or to read it as base64.
    /// - Returns: a ticket that `takeAnswers` gives back, with the `AttachmentRead`.
    public func open(_ attachment: Attachment, isInline: Bool, for user: UInt32) -> UInt64 {
        submit(content: AttachmentRead(attachment, isInline: isInline, configuration), for: user)
    }

    /// Reads of what one user has passed that may hang.
    public nonisolated static var hangingReads: Int { ContentPool.asideLimit }

    /// Ends what is under way; what has not been answered is not answered any more.
    func stopContents() {
        contents.stop()
        attachments.stop()
    }

    func submit(content query: any TableQuery, for user: UInt32) -> UInt64 {
        let ticket = takeTicket()
        contents.submit(query, ticket: ticket, of: user)
        return ticket
    }

    /// A change of revision `rev` refers to the content: it stays until the tables know.
    public func hold(_ pin: AttachmentPin, untilFolded rev: UInt64) {
        attachments.hold(pin, untilFolded: rev)
    }
}
