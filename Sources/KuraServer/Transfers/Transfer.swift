import KuraBytes
import KuraProtocol
import KuraStorage
import KuraTransport

/// A request that is answered out of band, when a thread of its own has done the work. Belongs to the loop.
final class Transfer {
    /// The connection that asked.
    let token: UInt64
    /// The request's id as it came; empty when it is null.
    let id: [UInt8]
    /// The request is answered; nobody learns what became of a notification.
    let hasID: Bool
    /// In a batch, whose replies leave together, and where its turn is to be kept: the request waits in its place with this ticket.
    let ticket: UInt64?
    let work: any TransferWork
    let channel: TransferChannel
    /// What the user who asked has of what all share.
    let use: UserUse
    /// Its method, and when it was read.
    let method: Int
    let since: UInt64
    private var thread: WorkerThread?

    init(
        token: UInt64, id: [UInt8], hasID: Bool, ticket: UInt64?, work: any TransferWork, channel: TransferChannel,
        use: UserUse, method: Int, since: UInt64
    ) {
        self.use = use
        self.method = method
        self.since = since
        self.token = token
        self.id = id
        self.hasID = hasID
        self.ticket = ticket
        self.work = work
        self.channel = channel
    }

    func start() {
        thread = try? WorkerThread(name: "kura-transfer", isBackground: true) { [work, channel] in
            channel.end(channel.judged(work.run(channel)))
        }
        guard thread == nil else { return }
        let error = RPCError(.overloaded, hint: "the system makes no thread for it")
        channel.end(TransferOutcome(answer: .error(error)))
    }

    func cancel() {
        channel.cancel()
        work.cancel()
    }

    /// To be called when the outcome is there, so that the thread has nothing left to do.
    func join() {
        thread?.join()
        thread = nil
    }
}

extension ByteBuffer {
    /// A notification of how far the transfer has come, with its line end.
    mutating func append(progress: TransferProgress, id: [UInt8]) {
        openNotification("progress")
        append(name: TextMember.id)
        append(id)
        append(.done, progress.done)
        if let total = progress.total { append(.total, total) }
        append(.unit, progress.unit.rawValue)
        if let imported = progress.imported { append(.imported, imported) }
        closeNotification()
    }

    /// The reply that an outcome makes, without its line end.
    mutating func append(_ outcome: TransferOutcome, id: [UInt8], rev: UInt64) {
        id.withBytes { id in
            switch outcome.answer {
            case .error(let error): append(error: error, id: id)
            // Its request is begun again and says it.
            case .store: append(error: RPCError(.internalError), id: id)
            case .result(let text):
                appendResultHead(id: id)
                append(text)
                append(.rev, rev)
                append("}}")
            }
        }
    }
}
