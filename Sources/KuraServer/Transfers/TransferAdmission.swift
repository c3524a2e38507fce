import KuraProtocol

/// Which transfers are taken on: each has a thread, so there is a bound for all, and a user's share of it.
struct TransferAdmission {
    /// Where the files may lie that a request names by path.
    let roots: ImportRoots
    /// Those that have been taken on and are not over.
    private(set) var count = 0
    private let limit: Int

    init(limit: Int, beneath roots: ImportRoots) {
        self.limit = limit
        self.roots = roots
    }

    /// Why no other is taken on; nil: one is. `held`: how many the user has; nil for one who may have all.
    func refusal(held: Int?) -> RPCError? {
        guard count < limit else { return RPCError(.overloaded, hint: "too many transfers run", limit: limit) }
        guard let held, !UserShares.admits(held: held, used: count, of: limit) else { return nil }
        return RPCError(
            .overloaded, hint: "the last transfers are for users who have few: this one has its share", limit: limit)
    }

    mutating func begin() { count += 1 }

    /// So many are over, or were never begun.
    mutating func end(_ number: Int = 1) { count -= number }
}
