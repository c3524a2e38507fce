#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// An open descriptor, closed with its last owner.
public final class OwnedDescriptor: Sendable {
    /// Good as long as the object.
    public let number: Int32

    /// Takes the descriptor over.
    public init(owning number: Int32) { self.number = number }

    /// A descriptor of the same file.
    /// - Returns: nil when the process can have no more descriptors.
    public convenience init?(duplicating number: Int32) {
        let own = fcntl(number, F_DUPFD_CLOEXEC, 3)
        guard own >= 0 else { return nil }
        self.init(owning: own)
    }

    deinit { close(number) }
}

/// What a call brought.
public struct RawReply: Sendable {
    /// The result, a JSON object.
    public let result: [UInt8]
    /// The descriptor that came with it, when one was asked for (`"as":"fd"`).
    public let descriptor: OwnedDescriptor?
}
