import CSyscalls
import Glibc

/// Who is at the other end of a connection, as the kernel knows it (SO_PEERCRED): as of the moment of connecting, whatever the
/// process does later. Never the process id, which may be another's by the time it is looked up.
public struct PeerCredentials: Sendable, Equatable {
    public var uid: UInt32
    public var gid: UInt32

    public init(uid: UInt32, gid: UInt32) {
        self.uid = uid
        self.gid = gid
    }

    /// - Returns: nil when the kernel does not tell.
    public init?(of descriptor: Int32) {
        var pid: Int32 = 0
        var uid: UInt32 = 0
        var gid: UInt32 = 0
        // Safety: the three numbers are of the types that the function writes.
        guard unsafe csys_peer(descriptor, &pid, &uid, &gid) == 0 else { return nil }
        self.uid = uid
        self.gid = gid
    }

    /// The numbers that stand for everybody who has none in the daemon's user namespace (/proc/sys/kernel/overflowuid and
    /// overflowgid; 65534 unless set otherwise). Read once.
    public static let overflow = PeerCredentials(
        uid: number(in: "/proc/sys/kernel/overflowuid") ?? 65_534,
        gid: number(in: "/proc/sys/kernel/overflowgid") ?? 65_534)

    /// The user's number says who it is. The overflow uid says only that it is nobody whom this namespace knows.
    public var namesUser: Bool { uid != Self.overflow.uid }

    /// Numbers of the other side's supplementary groups (SO_PEERGROUPS, Linux 4.13), without the overflow gid, which names
    /// none; empty when the kernel does not tell.
    public static func groups(of descriptor: Int32) -> [UInt32] {
        // Safety: `count` says how many numbers the array has room for.
        // Nearly everybody is in fewer; the kernel says how many there are when they do not fit.
        var groups = [UInt32](repeating: 0, count: 32)
        var count = Int32(groups.count)
        if unsafe csys_peer_groups(descriptor, &groups, &count) != 0 {
            guard errno == ERANGE, count > 0 else { return [] }
            groups = [UInt32](repeating: 0, count: Int(count))
            guard unsafe csys_peer_groups(descriptor, &groups, &count) == 0 else { return [] }
        }
        return groups[..<Int(count)].filter { $0 != overflow.gid }
    }

    private static func number(in path: String) -> UInt32? {
        // Safety: Swift lends the path as a C string for the call, and the array says how long it is.
        let descriptor = unsafe csys_open(path, O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var text = [UInt8](repeating: 0, count: 16)
        let count = unsafe read(descriptor, &text, text.count)
        guard count > 0 else { return nil }
        return UInt32(String(decoding: text[..<count].prefix { $0 != 0x0A }, as: UTF8.self))
    }
}

/// The host's names of users and groups. May wait for the disk or the network: not for the loop.
public enum UserNames {
    /// The user's number; nil when the host has none of this name.
    public static func uid(_ name: String) -> UInt32? {
        // Safety: the entry and the room for its texts outlive the look at its number.
        var entry = unsafe passwd()
        return unsafe withRoom { room in
            var found: UnsafeMutablePointer<passwd>?
            let result = unsafe getpwnam_r(name, &entry, room.baseAddress!, room.count, &found)
            return unsafe (result, found?.pointee.pw_uid)
        }
    }

    /// The group's number; nil when the host has none of this name.
    public static func gid(_ name: String) -> UInt32? {
        // Safety: as above.
        var entry = unsafe group()
        return unsafe withRoom { room in
            var found: UnsafeMutablePointer<group>?
            let result = unsafe getgrnam_r(name, &entry, room.baseAddress!, room.count, &found)
            return unsafe (result, found?.pointee.gr_gid)
        }
    }

    /// Looks with more and more room while the entry does not fit.
    ///
    /// Safety: the room is lent for the call, with its length.
    private static func withRoom(
        _ look: (UnsafeMutableBufferPointer<CChar>) -> (result: Int32, number: UInt32?)
    ) -> UInt32? {
        var size = 4096
        while size <= 1 << 20 {
            let (result, number) = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: size, look)
            guard result == ERANGE else { return result == 0 ? number : nil }
            size *= 4
        }
        return nil
    }
}
