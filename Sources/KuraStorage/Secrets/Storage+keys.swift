/// The keys of the secrets, for the server.
extension Storage {
    public var keys: KeyRing { keyKeeper.ring }

    /// When the host's key was made anew, milliseconds since 1970; nil when it is the first one, or somebody has acknowledged it.
    public var hostKeyRenewedAt: Int64? { KeyFiles(configuration).hostKeyRenewedAt }

    /// keys/root.key is there and no slot needs it.
    public var hasStrayRootKey: Bool { keys.slots.map { KeyFiles(configuration).hasStrayRootKey($0) } ?? false }

    /// Has a job done with the slots.
    ///
    /// - Returns: a ticket that `takeAnswers` gives back, with the job.
    /// - Throws: `busy`.
    public func submit(_ job: KeyJob) throws(KeysFault) -> UInt64 {
        let ticket = desk.takeTicket()
        try keyKeeper.submit(job, ticket: ticket)
        return ticket
    }

    /// Forgets every key but the host's; jobs that are under way unlock nothing any more.
    public func lockKeys() {
        secrets.audit.keepLock()
        // Last of what is done with the keys: whatever opens something with them lets go of survivors.
        secrets.keepSurvivors()
        keyKeeper.lock()
        secrets.keeper.follow()
    }
}
