import KuraBytes
import KuraProtocol
import KuraStorage

/// The request of a connection that has been begun and is not answered: how it was read, what it waits for, and what it has got so far. It goes
/// on from here; its line stays in the connection's input. Belongs to the loop.
final class BegunRequest {
    /// The part that is restored when the turn is taken back.
    struct Progress {
        /// The cause of its wait; `none` while it does not wait.
        var wait = WaitTable.Cause.none
        /// How it goes on; nil: from its beginning.
        var proceed: Handler?
        /// It has changed something, or begun to: `proceed` tells what has become of that. Nothing judges the request again, whoever has locked
        /// the secrets or taken its role's rights away meanwhile.
        var hasEffect = false
        /// The query that it has waited for.
        var answer: QueryAnswer?
        /// What became of the transfer that it has waited for.
        var outcome: TransferOutcome?
        /// Contents of attachments and blobs that have come, and jobs with keys, in the order in which its operations ask for them.
        var contents: [any TableQuery] = []
        /// A check or a look that its handler carries on turn by turn.
        var work: AnyObject?
        var patience = Patience()
    }
    var progress = Progress()
    private var marked = Progress()

    private var bound: BoundRequest?
    /// As it was written; empty for a notification.
    private(set) var id: [UInt8] = []
    /// Where the next member stands in the batch's line.
    private(set) var next = 0
    /// The causes of all its waits, for the slow log.
    var waits: Waits = []
    /// How many contents it has asked for since it goes on.
    private var asked = 0
    /// `rpc.cancel` has ended its wait: when it goes on, it is answered `cancelled`. That stays when the turn is taken back.
    private(set) var isCalledOff = false
    /// `rpc.cancel` has stopped the work that the request waits for.
    var isStopped = false

    var isWaiting: Bool { progress.wait != .none }
    /// Something that it has waited for has come, or it has changed something: its writes are not held back any more.
    var isUnderWay: Bool {
        progress.answer != nil || progress.outcome != nil || !progress.contents.isEmpty || progress.hasEffect
    }
    /// The query that is run for it; nil when it waits for something else.
    var ticket: UInt64? { if case .answer(let ticket) = progress.wait { ticket } else { nil } }

    func isNamed(_ id: Bytes) -> Bool { self.id.withBytes { $0.equals(id) } }

    /// It waits.
    /// `next`: where the next member stands in the batch's line.
    func wait(for cause: WaitTable.Cause, _ reader: RequestReader, next: Int) {
        if bound == nil {
            bound = reader.boundRequest
            id = Array(reader.replyID)
            self.next = next
        }
        progress.wait = cause
        waits.insert(cause.kind)
    }

    /// It goes on.
    /// - Returns: false when it has not waited yet.
    func resume(_ reader: RequestReader, in line: Bytes) -> Bool {
        guard let bound else { return false }
        asked = 0
        reader.resume(bound, in: line)
        return true
    }

    /// Ends the wait.
    func wake(_ answer: QueryAnswer? = nil, _ outcome: TransferOutcome? = nil) {
        progress.wait = .none
        if let answer { progress.answer = answer }
        if let outcome {
            progress.outcome = outcome
            // A deletion that has not come to its end tells why, and is judged again for that.
            if case .store = outcome.answer {} else { progress.hasEffect = true }
        }
        mark()
    }

    /// Ends a wait that nothing has been begun for: the request has had no effect, and has none later.
    /// - Returns: whether it was such a wait.
    func callOff(_ storage: isolated Storage) -> Bool {
        // Twice in a turn, or again in one that was taken back.
        guard !isCalledOff else { return true }
        guard !progress.hasEffect else { return false }
        switch progress.wait {
        case .room, .slot, .moment, .page: isCalledOff = true
        case .answer(let ticket): isCalledOff = storage.abandon(ticket)
        case .transfer, .none: return false
        }
        return isCalledOff
    }

    // MARK: Turns

    /// As it is now it is again when the turn is taken back.
    func mark() { marked = progress }

    func takeBack() { progress = marked }

    func endTurn() { marked = Progress() }

    // MARK: Contents

    /// The content that the request asks for next, when it has come.
    func nextContent() -> (any TableQuery)? {
        guard asked < progress.contents.count else { return nil }
        asked += 1
        return progress.contents[asked - 1]
    }

    /// The content that it asks for next has come.
    func append(_ content: any TableQuery) {
        progress.contents.append(content)
        asked += 1
    }

    /// Drops the content that `nextContent` returned: the handler needs another one.
    func discardContent() {
        asked -= 1
        progress.contents.remove(at: asked)
    }
}

extension Call {
    /// The request that is being answered, when it has waited or is going to; nil for one that is new. One that is answered ahead of another
    /// has none: when it has to wait it keeps its turn.
    var begun: BegunRequest? { attempt.isAhead ? nil : connection?.begun }

    /// The same, made when there is none; nil for one that is answered ahead.
    func begin() -> BegunRequest? {
        guard !attempt.isAhead, let connection else { return nil }
        if let begun = connection.begun { return begun }
        let begun = BegunRequest()
        connection.begun = begun
        return begun
    }

    /// The query that the request has waited for; nil when it is new.
    fileprivate var answer: QueryAnswer? { begun?.progress.answer }
    /// Why what it waited for was stopped.
    var stopped: RPCError { RPCError(begun?.isStopped == true ? .cancelled : .shuttingDown) }

    /// From now on the request goes on with `proceed` when it has to wait.
    /// `hasEffect`: it has changed something, or begun to.
    func goesOn(hasEffect: Bool = false, with proceed: @escaping Handler) {
        guard !isOperation, let begun = begin() else { return }
        begun.progress.proceed = proceed
        if hasEffect { begun.progress.hasEffect = true }
    }

    /// What the request begins it begins once: ahead of another that waits it would be begun again in its turn.
    func mustBeInOrder() throws(Refusal) {
        if attempt.isAhead { throw .waits(.order) }
    }

    /// The request waits for what comes with the ticket, and goes on with `proceed`. Permissions are asked again then, unless it has had an
    /// effect; what it has read and done is not. `proceed` keeps no bytes of the line, which lies elsewhere by then.
    ///
    /// An operation of a transaction ignores `proceed`: the handler of the whole transaction runs again.
    /// `hasEffect`: it has changed something, or begun to, and `proceed` tells what has become of that.
    func wait(for ticket: UInt64, hasEffect: Bool = false, then proceed: @escaping Handler) -> Refusal {
        goesOn(hasEffect: hasEffect, with: proceed)
        return .waits(.answer(ticket))
    }

    /// The same with the query that has been run, and what it has failed with.
    func wait<Query: TableQuery>(
        for ticket: UInt64, hasEffect: Bool = false,
        then proceed:
            @escaping @Sendable (Call, Query, QueryError?, inout ByteBuffer, isolated Storage) throws(Refusal) -> Void
    ) -> Refusal {
        wait(for: ticket, hasEffect: hasEffect) { (call, out, storage) throws(Refusal) in
            guard let answer = call.answer else {
                // Its time is over before the query's thread has said so.
                throw Refusal(
                    QueryError.timeout(milliseconds: call.begun?.progress.patience.milliseconds ?? 0), call: call)
            }
            let error = answer.error
            guard let query = answer.query as? Query else {
                // The daemon stops before it is known what has become of that.
                if error == .engine(.cancelled), hasEffect { throw .error(RPCError(.outcomeUnknown)) }
                throw error.map { Refusal($0, call: call) } ?? .error(RPCError(.internalError))
            }
            // Whatever it waits for next, it goes on with this query.
            call.goesOn { (call, out, storage) throws(Refusal) in try proceed(call, query, error, &out, storage) }
            try proceed(call, query, error, &out, storage)
        }
    }

    /// What the request has waited for could not be found out.
    func check(_ error: QueryError?) throws(Refusal) {
        guard let error else { return }
        guard error == .engine(.noSpace) else { throw Refusal(error, call: self) }
        throw .error(RPCError(.overloaded, hint: "the disk is full, and the tables lag behind"))
    }

    /// The content that the request needs next, when it has come; nil when it is to be begun. One of another type is of no use any more.
    func contentAtHand<Content: TableQuery>(_ type: Content.Type) throws(Refusal) -> Content? {
        guard let begun else { return nil }
        if let next = begun.nextContent() {
            if let content = next as? Content { return content }
            begun.discardContent()
        }
        guard let answer = begun.progress.answer, let content = answer.query as? Content else { return nil }
        begun.progress.answer = nil
        if let error = answer.error { throw Refusal(error, call: self) }
        begun.append(content)
        return content
    }

    /// The same; the request waits until it is there.
    /// `begin`: begins to fetch it and gives the ticket.
    func content<Content: TableQuery>(
        _ type: Content.Type, _ begin: () throws(Refusal) -> UInt64
    ) throws(Refusal) -> Content {
        if let content = try contentAtHand(type) { return content }
        throw .waits(.answer(try begin()))
    }
}

extension Connection {
    /// Its request waits.
    var isWaiting: Bool { begun?.isWaiting ?? false }
    var wait: WaitTable.Cause { begun?.progress.wait ?? .none }
}

extension Server {
    /// The request that is being answered waits. One that is answered ahead of another keeps its turn: what it has begun to wait for is
    /// asked for again then.
    /// `next`: where the next member stands in the batch's line.
    /// - Returns: for what.
    func suspend(_ connection: Connection, for need: Need, next: Int, _ storage: isolated Storage) -> Need {
        facts.traffic.putOff()
        guard let begun = call.begin() else {
            switch need {
            case .answer(let ticket): storage.forget(ticket)
            case .page: _ = storage.warm()
            case .turn, .commit, .order, .room, .slot, .moment, .reference, .transfer: break
            }
            return need
        }
        // The request has changed something in this turn. The wait and the change are taken back together, so no request behind it may keep the turn.
        if call.audit.isAwaited {
            // A batch's replies leave together.
            let position = connection.state.composingFrom ?? connection.sending.position(of: call.attempt.replyStart)
            connection.state.barriers.awaitsLog(at: position)
        }
        let cause: WaitTable.Cause =
            switch need {
            case .turn, .commit, .order: .none
            case .room: .room
            case .slot: .slot
            case .moment(let time): .moment(time)
            case .page: .page(storage.warm())
            case .answer(let ticket): .answer(ticket)
            case .reference(let collection, let index):
                .answer(storage.awaitReference(of: collection, index: index))
            case .transfer(let ticket): .transfer(ticket)
            }
        begun.wait(for: cause, reader, next: next)
        return need
    }

    /// The request whose wait `rpc.cancel` has ended goes on, whatever it has waited for.
    func resume(_ connection: Connection) {
        waits.remove(connection.token)
        connection.begun?.wake()
        connection.state.lines.hasMore = true
    }

    /// Answers the request whose wait has been ended. It has brought no descriptor: none is answered ahead of one that has.
    func refuseCalledOff(_ connection: Connection, _ out: inout ByteBuffer) {
        connection.begun = nil
        if reader.hasSecrets { reader.wipe() }
        facts.traffic.begin()
        facts.latencies.refused(.cancelled, reader.methodIndex)
        if reader.hasID { out.append(error: RPCError(.cancelled), id: reader.replyID) }
    }
}
