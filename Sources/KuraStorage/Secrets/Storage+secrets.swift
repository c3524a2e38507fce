import KuraBytes

/// What destroyed secrets have left, and the audit, for the server.
extension Storage {
    /// Waits until nothing is left on the disk of what was destroyed.
    /// `rev`: of the change that destroyed it.
    /// - Returns: a ticket that `takeAnswers` gives back; nil when nothing is left already.
    public func awaitScrub(of rev: UInt64) -> UInt64? { chores.secrets.scrub.awaitEnd(of: rev) }

    /// Something of what was destroyed is still on the disk.
    public var isScrubOwed: Bool { secrets.scrubNote.owedRev != nil }

    /// There are segments that a recovery has set aside: they are never touched.
    public var hasQuarantine: Bool { FileSystem.exists(configuration.quarantineDirectory) }

    /// The keys are about to go: what waits is sealed with them. What finds no room then is lost.
    public func stageAuditNow() {
        try? secrets.audit.stage(all: true)
    }

    /// The turn's requests have been answered again, and there is no commit any more.
    public func saveAudit() {
        chores.secrets.stageAudit()
        secrets.audit.endTurn(isStored: true)
    }
}

extension SecretsStore {
    /// The secrets that a start has found, with the keys in `ring`.
    convenience init(_ recovery: Recovery, _ ring: KeyRing, _ start: StorageStart, _ host: StorageHost) {
        let reader = recovery.documents.reader
        self.init(
            ledger: recovery.ledger, ring: ring,
            look: { (scope, key) throws(EngineError) in try reader.find(scope: scope, id: key, isSealed: true) },
            lookBehind: { (scope, key) throws(EngineError) in try reader.id(behind: key, scope: scope) },
            report: host.report)
        audit.reserve = AuditReserve(start.configuration)
        audit.binding.mark = SecretsMark(sealed: recovery.acknowledgedMark)
    }
}
