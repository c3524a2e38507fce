import KuraSocket

/// What one user has of what all users share. One object for all of the user's connections, by uid; belongs to the loop.
final class UserUse {
    let uid: UInt32
    var connections = 0
    var subscriptions = 0
    var transfers = 0
    let descriptors: DescriptorUse

    init(uid: UInt32) {
        self.uid = uid
        descriptors = DescriptorUse(of: uid)
    }

    /// Descriptors that are still being closed count: a user who connects again keeps the same object.
    fileprivate var isIdle: Bool { connections == 0 && subscriptions == 0 && transfers == 0 && descriptors.count == 0 }
}

/// So that one user cannot take all connections, subscriptions or transfers: the last eighth of each is for those users who have
/// less than an eighth. A greedy user gets seven eighths, and whoever comes later an eighth at least, without anybody having to
/// configure it. Role `admin` is bound by the whole only, as PostgreSQL keeps connections back for superusers; D-Bus, too, counts
/// by user.
struct UserShares {
    private var users: [UInt32: UserUse] = [:]

    /// What the user has; the same object as long as it is not nothing.
    mutating func use(of uid: UInt32) -> UserUse {
        if let known = users[uid] { return known }
        let made = UserUse(uid: uid)
        users[uid] = made
        return made
    }

    /// To be called when the user has less than before.
    mutating func forget(_ use: UserUse) {
        guard use.isIdle, users[use.uid] === use else { return }
        users[use.uid] = nil
    }

    /// Whether a user who has `held` may have one more, when `used` of `size` are taken by all.
    static func admits(held: Int, used: Int, of size: Int) -> Bool {
        let reserve = reserve(of: size)
        return held < reserve || size - used > reserve
    }

    /// What is kept for those who have little. None of very few.
    static func reserve(of size: Int) -> Int { size / 8 }
}
