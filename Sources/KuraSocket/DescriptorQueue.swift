/// An open descriptor of ours that a client has passed; closed with its last owner.
public final class PassedDescriptor: Sendable {
    public let number: Int32
    private let use: DescriptorUse

    /// Takes the descriptor over.
    /// `use`: of the user who has passed it.
    public init(owning number: Int32, _ use: DescriptorUse = .own) {
        self.number = number
        self.use = use
        use.add(1)
    }

    deinit {
        DescriptorCloser.close(number, of: use.user, use)
    }
}

/// The descriptors that came over a connection (SCM_RIGHTS, unix(7)) and that no request has taken yet, in the order of
/// their arrival. A value without I/O, but that a descriptor which nobody holds any more is closed.
///
/// What a turn has taken can be put back until `commit`, because a turn may have to be repeated.
public struct DescriptorQueue {
    public enum Taken {
        case descriptor(PassedDescriptor)
        /// None has come that is not taken.
        case missing
        /// Some came and could not be kept: which one would be next is not known until the queue has been emptied.
        case lost
    }

    /// Most descriptors that wait on a connection; further ones are closed, and the requests that want them fail.
    public static let limit = 64

    private var waiting: ContiguousArray<PassedDescriptor> = []
    private var taken = 0
    private var isLossy = false
    private var isPoisoned = false
    private let use: DescriptorUse

    /// `use`: of the user who passes them.
    public init(_ use: DescriptorUse = .own) { self.use = use }

    /// Nothing waits, and nothing has been lost.
    public var isEmpty: Bool { waiting.isEmpty && !isLossy }
    public var count: Int { waiting.count - taken }
    /// No more can be kept.
    public var isFull: Bool { isLossy || waiting.count >= Self.limit }
    /// Descriptors that are open here, those that the turn has taken too.
    public var held: Int { waiting.count }
    /// The last `count` that came, those that the turn has taken too.
    public func newest(_ count: Int) -> ArraySlice<PassedDescriptor> { waiting.suffix(count) }
    /// Descriptors that came and could not be kept.
    private var surplus = 0

    /// Takes over the descriptors that one message has brought.
    /// `numbers`: at most `CSYS_MAX_DESCRIPTORS`.
    ///
    /// Safety: positions and the rest lie within the numbers, which are the caller's for as long as the call.
    public mutating func append(owning numbers: UnsafeBufferPointer<Int32>) {
        let kept = isLossy ? 0 : min(numbers.count, Self.limit - waiting.count)
        for position in 0..<kept { unsafe waiting.append(PassedDescriptor(owning: numbers[position], use)) }
        guard kept < numbers.count else { return }
        isLossy = true
        surplus += numbers.count - kept
        use.add(numbers.count - kept)
        unsafe DescriptorCloser.close(UnsafeBufferPointer(rebasing: numbers[kept...]), use)
    }

    /// Descriptors were cut off by the kernel (MSG_CTRUNC), for want of room in our table of descriptors for one.
    public mutating func noteLoss() {
        isLossy = true
    }

    /// How many could not be kept since this was asked last.
    public mutating func takeSurplus() -> Int {
        defer { surplus = 0 }
        return surplus
    }

    /// Closes what waits, for want of room: the requests that mean it are told that it is lost.
    public mutating func giveUp() {
        waiting.removeAll()
        taken = 0
        isLossy = true
    }

    /// A request could not be read that may have meant one of them: none is given to a later request, which may mean
    /// another.
    public mutating func poison() {
        isPoisoned = !isEmpty
    }

    public mutating func take() -> Taken {
        if isPoisoned { return .lost }
        guard taken < waiting.count else { return isLossy ? .lost : .missing }
        taken += 1
        return .descriptor(waiting[taken - 1])
    }

    /// What has been taken belongs to its takers now.
    public mutating func commit() {
        waiting.removeFirst(isPoisoned ? waiting.count : taken)
        isLossy = isLossy || isPoisoned
        isPoisoned = false
        taken = 0
    }

    /// Puts back what was taken since `commit`.
    public mutating func rewind() {
        taken = 0
        isPoisoned = false
    }

    /// Closes what nobody has asked for.
    public mutating func removeAll() {
        waiting.removeAll()
        taken = 0
        isLossy = false
        isPoisoned = false
    }
}
