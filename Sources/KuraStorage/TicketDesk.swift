import KuraBytes

/// What takes longer than the loop may be held up: it is handed to threads that read, or waits for what the loop brings about, and comes
/// back by its ticket. A ticket is given once. Belongs to the loop.
final class TicketDesk {
    /// Requests that wait for what the loop brings about.
    var waits = TicketWaits()
    private var nextTicket: UInt64 = 1
    private let queries: QueryPool
    private let contents: ContentPool
    private let warmer: PageWarmer
    /// For queries that are run on the loop; nil before the first.
    private var quickTables: TableReader?
    private let history: ChangeHistory
    private let documents: DocumentsStore
    private let secrets: SecretRows
    private let configuration: StorageConfiguration

    /// `history`, `documents`, `secrets`: know what the last `.cold` was about.
    init(
        _ configuration: StorageConfiguration, _ history: ChangeHistory, _ documents: DocumentsStore,
        _ secrets: SecretRows, _ host: StorageHost
    ) {
        (self.configuration, self.history) = (configuration, history)
        self.documents = documents
        self.secrets = secrets
        queries = QueryPool(configuration, wake: host.wake)
        contents = ContentPool(configuration, wake: host.wake, report: host.report)
        warmer = PageWarmer(path: configuration.tablesPath, wake: host.wake)
    }

    /// Begins the thread that reads pages in; the others begin with their first work.
    func begin() throws(StorageFault) { try warmer.begin() }

    func takeTicket() -> UInt64 {
        defer { nextTicket += 1 }
        return nextTicket
    }

    // MARK: Submitting

    /// Has a query run on a reader thread, as soon as the tables are as of the revision that it must see.
    /// `tablesRev`: what they are as of now.
    func submit(_ query: any TableQuery, tablesRev: UInt64) -> UInt64 {
        let ticket = takeTicket()
        if query.foldedTo <= tablesRev {
            queries.submit(QueryAnswer(ticket: ticket, query: query))
        } else {
            waits.add(ticket, .folded, rev: query.foldedTo, query)
        }
        return ticket
    }

    /// The tables are as of `rev`: the queries that have waited for that are run.
    func noteFolded(to rev: UInt64) { for query in waits.takeFolded(to: rev) { queries.submit(query) } }

    /// Has something done on the content threads.
    /// `user`: whose turn it takes, by uid.
    func submit(content query: any TableQuery, for user: UInt32) -> UInt64 {
        let ticket = takeTicket()
        submit(content: query, ticket, for: user)
        return ticket
    }

    func submit(content query: any TableQuery, _ ticket: UInt64, for user: UInt32) {
        contents.submit(query, ticket: ticket, of: user)
    }

    /// Runs a query here and now, on what the page cache has of the tables.
    /// `tablesRev`: what they are as of.
    /// - Throws: `.cold` when that is not enough, or the tables are not as new as the query wants them.
    func runAtOnce(_ query: any TableQuery, tablesRev: UInt64) throws(QueryError) {
        guard query.foldedTo <= tablesRev else { throw .engine(.cold) }
        if quickTables == nil {
            do throws(EngineError) { quickTables = try TableReader(configuration, mayWait: false) } catch {
                throw .engine(error)
            }
        }
        try query.run(quickTables!)
    }

    /// Has the page, or the chunk of the log, read in that the last `.cold` was about.
    /// - Returns: a ticket that `takeWarmed` gives back when it is.
    func warm() -> UInt64 {
        let ticket = takeTicket()
        if history.fetch(ticket) { return ticket }
        // With nothing to read the ticket comes back at once: whoever has it begins again.
        warmer.warm(ticket, secrets.takeColdLook() ?? documents.coldLook ?? .several([]))
        return ticket
    }

    /// Has all rows of the log looked through.
    /// - Throws: `.overloaded`; nothing has begun then.
    func read(_ search: some RowSearch) throws(ChangesError) -> UInt64 {
        let ticket = takeTicket()
        try history.read(search, ticket)
        return ticket
    }

    // MARK: Leaving

    /// Nobody waits with a ticket any more: what is under way for it is ended, and may still be answered.
    func forget(_ ticket: UInt64) { if !waits.forget(ticket) { end(ticket) } }

    /// Ends what a ticket is waited for with, when it can be ended: it is answered.
    /// - Returns: whether it was.
    func cancel(_ ticket: UInt64) -> Bool { end(ticket) || waits.cancel(ticket) }

    /// What is waited for with a ticket does not come any more.
    /// - Returns: the answer that says so.
    func giveUp(_ ticket: UInt64) -> QueryAnswer {
        if let answer = waits.giveUp(ticket) { return answer }
        end(ticket)
        return QueryAnswer(ticket: ticket, query: WaitOver(), error: .engine(.cancelled))
    }

    @discardableResult
    private func end(_ ticket: UInt64) -> Bool {
        queries.cancel(ticket) || contents.cancel(ticket) || history.cancel(ticket)
    }

    // MARK: Turns

    func takeAnswers() -> [QueryAnswer] {
        var answers = queries.takeDone() ?? []
        if let read = contents.takeDone() { answers += read }
        if let read = history.takeVersions() { answers += handOn(read) }
        if waits.hasDone { answers += waits.takeDone() }
        return answers
    }

    /// Hands what wants the tables besides the log on to the threads that read them. The tables come second: they have all that the log has let go of.
    /// - Returns: what is through.
    private func handOn(_ read: [QueryAnswer]) -> [QueryAnswer] {
        read.filter { answer in
            guard answer.error == nil, (answer.query as? any RowSearch)?.wantsTables == true else { return true }
            queries.submit(answer)
            return false
        }
    }

    /// Tickets of what was to be read in, and has been or cannot be.
    func takeWarmed() -> [UInt64] {
        var tickets = warmer.takeDone() ?? []
        if let read = history.takeDone() { tickets += read }
        return tickets
    }

    func endTurn() { quickTables?.endTurn() }

    /// - Returns: nanoseconds until the contents want to be looked after again; nil when they do not.
    func tend(at time: UInt64) -> UInt64? { contents.tend(at: time) }

    // MARK: Stopping

    /// The daemon stops: who waits for so long at most is told now how far it is, and contents that hang are given up soon.
    func beginEnding() {
        waits.beginEnding()
        contents.hurry()
    }

    /// Ends what is under way; what has not been answered is not answered any more.
    func stop() {
        queries.stop()
        contents.stop()
        history.stopReading()
        warmer.stop()
    }
}
