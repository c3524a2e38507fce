/// What requests about caches wait for: tickets that `takeAnswers` gives back.
extension Storage {
    /// Waits until all that is in the model cache's files is known.
    public func awaitModels() -> UInt64 {
        let ticket = desk.takeTicket()
        desk.waits.add(ticket, .modelsKnown)
        return ticket
    }

    /// Has the values of entries read; the answer's query is a `ModelRead`.
    public func readModels(_ namespace: ModelNamespace, _ keys: [[UInt8]]) -> UInt64 {
        let ticket = desk.takeTicket()
        models.read(namespace, keys, ticket: ticket)
        return ticket
    }

    /// Has everything removed that nobody can see any more; the answer's query is a `SweepDone`.
    public func sweepCaches() -> UInt64 {
        let ticket = desk.takeTicket()
        caches.sweep(ticket)
        return ticket
    }

    /// A connection is gone that had claims, waited for some, or held scratch namespaces.
    /// `now`: on the monotonic clock.
    public func leaveCaches(_ owner: UInt64, now: UInt64) -> [CacheClaims.News] {
        models.release(owner)
        return caches.claims.leave(owner, since: models.moment, now: now)
    }
}
