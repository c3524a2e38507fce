// The law of replies: a reply leaves when what it shows is durable, min(shown, strict) <= synced. Each of the three is a type of its own, with
// the comparisons that mean something: holding the wrong two against each other does not compile. A revision that is a datum, such as
// an item's, a record's or the wire's, is a plain number.

/// A revision up to which strict transactions lie: those with a change that is durable before it is acknowledged.
///
/// What lies above the newest of them may be shown before it is durable, and lost by agreement. Literals are for what is known beforehand,
/// such as 0 for nothing: none of them can be the wrong one of two variables.
@frozen public struct StrictRev: Hashable, Comparable, Sendable, ExpressibleByIntegerLiteral {
    public let rev: UInt64

    @inlinable public init(_ rev: UInt64) { self.rev = rev }
    @inlinable public init(integerLiteral rev: UInt64) { self.rev = rev }

    /// Never on the disk.
    @inlinable public static var never: Self { Self(.max) }

    /// Whether the revision is a strict transaction's, or lies below one.
    @inlinable public func reaches(_ rev: UInt64) -> Bool { rev <= self.rev }

    @inlinable public static func < (left: Self, right: Self) -> Bool { left.rev < right.rev }
}

/// A revision up to which everything is on the disk.
///
/// A sync makes it, or a start, which goes on with what the disk has.
@frozen public struct SyncedRev: Hashable, Comparable, Sendable, ExpressibleByIntegerLiteral {
    public let rev: UInt64

    /// Only the storage can say what is on the disk.
    init(_ rev: UInt64) { self.rev = rev }
    @inlinable public init(integerLiteral rev: UInt64) { self.rev = rev }

    /// For output that leaves whatever it shows.
    @inlinable public static var everything: Self { Self(integerLiteral: .max) }

    /// Whether a reply may leave that shows strict transactions up to this one.
    @inlinable public func covers(_ strict: StrictRev) -> Bool { strict.rev <= rev }

    /// Whether the change that has this revision is on the disk.
    @inlinable public func has(_ rev: UInt64) -> Bool { rev <= self.rev }

    @inlinable public static func < (left: Self, right: Self) -> Bool { left.rev < right.rev }
}
