/// The keys of the secrets, for the server.
extension Storage {
    public var keys: KeyRing { chores.secrets.keys.ring }

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
        try chores.secrets.keys.submit(job, ticket: ticket)
        return ticket
    }

    /// Forgets every key but the host's; jobs that are under way unlock nothing any more.
    public func lockKeys() { chores.secrets.lock() }
}

extension KeyKeeper {
    /// The keys of the secrets that a start has found.
    convenience init(_ ledger: Ledger, _ start: StorageStart, _ host: StorageHost) {
        // Safety of `unowned`: the storage has both until it has stopped this one.
        self.init(
            start.configuration,
            holdsSecrets: { [unowned ledger, boot = start.boot] in
                ledger.holdsSecrets || boot.mayHaveSetSecretsAside
            },
            seal: { [unowned ledger] in StoreSeal(ledger) }, wake: host.wake, report: host.report)
    }
}
