import KuraProtocol
import KuraStorage

/// What a request waits for that threads fetch: contents of attachments and blobs. The request is begun again with each.
extension Call {
    /// The content that the request needs next, when it has come; nil when it is to be begun. One of another type is of no use any more.
    func contentAtHand<Content: TableQuery>(_ type: Content.Type) throws(Refusal) -> Content? {
        guard let connection else { throw .error(RPCError(.internalError)) }
        if let next = connection.contents.next() {
            if let content = next as? Content { return content }
            connection.contents.discardLast()
        }
        guard connection.contents.takesAnswers, let answer = connection.answer, let content = answer.query as? Content
        else { return nil }
        connection.answer = nil
        if let error = answer.error { throw Refusal(error, call: self) }
        connection.contents.append(content)
        return content
    }

    /// The same; the request waits until it is there.
    /// `begin`: begins to fetch it and gives the ticket.
    func content<Content: TableQuery>(
        _ type: Content.Type, _ begin: () throws(Refusal) -> UInt64
    ) throws(Refusal) -> Content {
        if let content = try contentAtHand(type) { return content }
        throw .query(ticket: try begin())
    }
}
