public import KuraBytes

/// What takes longer than the loop may be held up: it is submitted, and its answer taken up in a later turn.
extension Storage {
    /// Has a query run on a reader thread, as soon as the tables are as of the revision that it must see; the fold goes on
    /// at once when they are not.
    /// - Returns: a ticket that `takeAnswers` gives back.
    public func submit(_ query: any TableQuery) -> UInt64 {
        let ticket = takeTicket()
        if query.foldedTo <= folding.tablesRev {
            queries.submit(QueryAnswer(ticket: ticket, query: query))
        } else {
            waits.add(ticket, .folded, rev: query.foldedTo, query)
        }
        return ticket
    }

    /// Runs a query here and now, on what the page cache has of the tables.
    /// - Throws: `.cold` when that is not enough, or the tables are not as new as the query wants them: then it is to be
    ///   made anew and submitted.
    public func runAtOnce(_ query: any TableQuery) throws(StoreError) {
        guard query.foldedTo <= folding.tablesRev else { throw .cold }
        if quickTables == nil { quickTables = try TableReader(configuration, mayWait: false) }
        try query.run(quickTables!)
    }

    /// Nobody waits with a ticket any more: what is under way for it is ended, and may still be answered.
    public func forget(_ ticket: UInt64) { if !waits.forget(ticket) { end(ticket) } }

    /// Ends what a ticket is waited for with, when it can be ended: it is answered.
    /// - Returns: whether it was.
    public func cancel(_ ticket: UInt64) -> Bool { end(ticket) || waits.cancel(ticket) }

    /// The daemon stops: who waits for so long at most is told now how far it is, and contents that hang are given up soon.
    public func beginEnding() {
        waits.beginEnding()
        contents.hurry()
    }

    /// What is waited for with a ticket does not come any more.
    /// - Returns: the answer that says so.
    public func giveUp(_ ticket: UInt64) -> QueryAnswer {
        if let answer = waits.giveUp(ticket) { return answer }
        end(ticket)
        return QueryAnswer(ticket: ticket, query: WaitOver(), error: .cancelled)
    }

    @discardableResult
    private func end(_ ticket: UInt64) -> Bool { queries.cancel(ticket) || contents.cancel(ticket) }

    /// Forgets a ticket that is only waited with: nothing is being done for it.
    /// - Returns: whether it was such a one.
    public func abandon(_ ticket: UInt64) -> Bool {
        waits.abandon(ticket)
    }

    public func takeAnswers() -> [QueryAnswer] {
        var answers = queries.takeDone() ?? []
        if let read = contents.takeDone() { answers += read }
        if let jobs = keyKeeper.takeDone() { answers += jobs.map { QueryAnswer(ticket: $0.ticket, query: $0) } }
        if waits.hasDone { answers += waits.takeDone() }
        if caches.hasAnswers { answers += caches.takeAnswers() }
        guard !answers.isEmpty else { return [] }
        migrations.takeOwn(of: &answers)
        aging.takeOwn(of: &answers)
        return answers
    }

    func takeTicket() -> UInt64 {
        defer { nextTicket += 1 }
        return nextTicket
    }

    func submit(_ purge: Purge) -> UInt64 {
        waits.add(purge.ticket, .purged)
        folder.submit(purge)
        return purge.ticket
    }

    /// Begins to look for what ages out, when it is time.
    func age(_ time: UInt64) {
        guard aging.mayBegin(time) else { return }
        for job in aging.begin(time, now: clock.wall) {
            switch job {
            case .query(let query): aging.begun(submit(query))
            case .purge(let purge): folder.submit(purge)
            }
        }
    }

    /// Waits until who refers to documents by a reference of this collection can be told: its index is built, and the tables are as of
    /// the collection's configuration. What else is built for the collection is not waited for.
    /// `index`: the name of the reference's index.
    /// - Returns: a ticket that `takeAnswers` gives back.
    public func awaitReference(of collection: [UInt8], index: [UInt8]) -> UInt64 {
        guard documents.isBuilding(collection, index) else { return submit(TablesReached(ledger.rev)) }
        let ticket = takeTicket()
        waits.add(
            ticket, .index(collection: collection, name: index), until: clock.deadline(milliseconds: 600_000).at,
            rev: ledger.rev)
        return ticket
    }

    /// Waits until no index of the collection is being built and no migration is under way, so long at most.
    /// - Returns: a ticket that `takeAnswers` gives back; nil when there is nothing to wait for.
    public func awaitIndexes(_ collection: Bytes, milliseconds: Int) -> UInt64? {
        guard !waits.isEnding, !documents.isSettled(collection) else { return nil }
        let ticket = takeTicket()
        waits.add(
            ticket, .settled(collection: Array(collection)), until: clock.deadline(milliseconds: milliseconds).at,
            rev: ledger.rev)
        return ticket
    }
}

/// A query that reads nothing: its answer tells that the tables are as of a revision.
final class TablesReached: TableQuery {
    let foldedTo: UInt64

    init(_ rev: UInt64) {
        foldedTo = rev
    }

    func run(_ tables: TableReader) {}
}
