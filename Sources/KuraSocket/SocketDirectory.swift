#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
import CSyscalls

/// The directory of a socket at its usual place. Nobody has named that place, so anybody could have made it first: below `/tmp` every user may.
public struct SocketDirectory: Sendable {
    public let path: String
    public let owner: UInt32
    private let mode: UInt32

    /// - Returns: nil when there is no such directory, or it cannot be looked at: connecting tells why.
    public init?(of socket: String) {
        guard let slash = socket.lastIndex(of: "/") else { return nil }
        path = String(socket[..<slash])
        var (mode, owner): (UInt32, UInt32) = (0, 0)
        // Safety: Swift lends the path as a C string for the call, and the numbers are of the types that it writes.
        guard unsafe csys_mode(path, &mode, &owner, 0) == 0 else { return nil }
        (self.mode, self.owner) = (mode, owner)
    }

    /// Nobody but its owner can come to what is in it.
    public var isClosed: Bool { mode & 0o011 == 0 }

    /// Why somebody else may have put a socket there.
    /// - Parameter user: who asks. Root's usual place is below /run, where root alone makes directories: there the directory may be anybody's
    ///   whom root has given it to.
    /// - Returns: nil when nobody could.
    public func objection(from user: UInt32) -> String? {
        guard mode & 0o170000 == 0o040000 else { return "\(path) is no directory, but a link or another kind of file" }
        guard owner == user || owner == 0 || user == 0 else {
            return "\(path) belongs to user \(owner), and user \(user) or root is expected"
        }
        guard mode & 0o022 == 0 else {
            return "\(path) may be written by others (mode \(String(mode & 0o7777, radix: 8)))"
        }
        return nil
    }
}
