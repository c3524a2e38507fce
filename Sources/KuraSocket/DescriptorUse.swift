import Synchronization

/// Descriptors of one user that are open here: those that wait or are in use, and those that are being closed. From any thread.
public final class DescriptorUse: Sendable {
    /// The user's uid; nil for descriptors of our own.
    public let user: UInt32?
    private let open = Atomic<Int>(0)
    private static let openOfAll = Atomic<Int>(0)

    /// Those of our own, which are not bounded.
    public static let own = DescriptorUse(of: nil)

    public init(of user: UInt32?) { self.user = user }

    public var count: Int { open.load(ordering: .relaxed) }
    /// Of all users together.
    public static var total: Int { openOfAll.load(ordering: .relaxed) }

    func add(_ count: Int) {
        open.add(count, ordering: .relaxed)
        if user != nil { Self.openOfAll.add(count, ordering: .relaxed) }
    }
}
