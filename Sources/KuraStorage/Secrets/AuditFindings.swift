/// What has been found of the audit since the secrets were unlocked: with another generation of the key ring nothing has been looked at yet.
struct AuditFindings {
    struct Kinds: OptionSet {
        let rawValue: UInt8

        /// The end of the audit has been looked at, and what has come while the secrets were sealed.
        static let checked = Kinds(rawValue: 1)
        /// It has been looked, and told, whether the audit is that of the secrets.
        static let examined = Kinds(rawValue: 2)
        /// A block is missing or altered, or lies behind the end: nothing more is put into such an audit.
        static let broken = Kinds(rawValue: 4)
        /// The operator was told what is wrong.
        static let told = Kinds(rawValue: 8)
    }
    private var generation: UInt64 = 0
    private var kinds: Kinds = []

    func has(_ kind: Kinds, of generation: UInt64) -> Bool {
        generation == self.generation && kinds.contains(kind)
    }

    /// - Returns: whether it is new.
    @discardableResult
    mutating func note(_ kind: Kinds, of generation: UInt64) -> Bool {
        if generation != self.generation { (self.generation, kinds) = (generation, []) }
        return kinds.insert(kind).inserted
    }
}

/// What a turn has put into the audit, and where that is.
struct StagedAudit: OptionSet {
    let rawValue: UInt8

    /// Something that is not committed.
    static let some = StagedAudit(rawValue: 1)
    /// It is in blocks.
    static let inLog = StagedAudit(rawValue: 2)
    /// There was no room in the log: it is in the reserve.
    static let inReserve = StagedAudit(rawValue: 4)
    /// It is sealed to the inbox.
    static let inInbox = StagedAudit(rawValue: 8)
}
