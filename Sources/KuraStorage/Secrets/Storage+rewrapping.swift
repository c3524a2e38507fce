public import KuraBytes

extension Storage {
    /// Waits until nothing is sealed with older keys any more, so long at most.
    /// - Parameters:
    ///   - service: whose key it is about; nil: the root key.
    ///   - milliseconds: how long.
    /// - Returns: a ticket that `takeAnswers` gives back; nil when there is nothing to wait for.
    public func awaitRewrapping(service: Bytes?, milliseconds: Int) -> UInt64? {
        let hash = service.flatMap { secrets.nameHash(service: $0) }
        guard !waits.isEnding, secrets.isRewrapping(hash) else { return nil }
        let ticket = takeTicket()
        waits.add(
            ticket, .rewrapped(hash), until: clock.deadline(milliseconds: milliseconds).at,
            tellAt: clock.monotonic + TicketWaits.telling)
        return ticket
    }

    /// The tickets of those who wait so, and are to be told now how far that is.
    public func takeUntold() -> [UInt64] { waits.takeUntold(at: clock.monotonic) }

    /// Whether somebody waits for what `takeUntold` may tell.
    public var mayHaveUntold: Bool { !waits.isEmpty }

    /// Whether something may still have to be sealed anew: while the secrets are locked nobody can tell.
    public func hasToRewrap(service: Bytes?) -> Bool {
        !keys.isUnlocked || secrets.isRewrapping(service.flatMap { secrets.nameHash(service: $0) })
    }
}

extension SecretsStore {
    /// - Returns: nil while sealed.
    func nameHash(service: Bytes) -> NameHash? {
        guard ring.isUnlocked, let sealer = try? keeper.sealer() else { return nil }
        return NameHash(service: service, key: sealer.names, &memory.names)
    }

    /// Whether something of the service, or of anything, is to be sealed anew; not while nobody can.
    func isRewrapping(_ service: NameHash?) -> Bool {
        guard ring.isUnlocked else { return false }
        guard service != nil || !ring.retiredEpochs.isEmpty else { return false }
        // Which services have something to do is looked for after each unlocking, and after a rotation of the root key.
        guard let rewrapping = vault?.rewrapping, rewrapping.isPlanned else { return true }
        guard let service else {
            // An older key that could not be let go, or that something needs which does not open, stays until the next unlocking.
            return !rewrapping.queue.isEmpty || rewrapping.retiresAt != nil
        }
        return rewrapping.queue.contains(service)
    }
}
