import CSyscalls
import Glibc
import KuraSocket

/// A listening socket that whoever started the process has made for it (sd_listen_fds(3)).
public struct InheritedSocket: Sendable, Equatable {
    public var descriptor: Int32
    /// As the starter calls it ($LISTEN_FDNAMES); empty without.
    public var name: String
    /// Where it is bound; empty when it has no path.
    public var path: String

    /// Why sockets that were passed are refused.
    public struct Refusal: Error, CustomStringConvertible, Sendable {
        public let description: String
    }

    private static let firstDescriptor: Int32 = 3

    /// Takes over what `LISTEN_FDS` announces to this process, from descriptor 3 on, and takes the variables out of the
    /// environment, so that no child believes them. To be called before anything else opens descriptors.
    /// - Throws: when something that was passed is no listening stream socket of the family AF_UNIX.
    public static func take() throws(Refusal) -> [InheritedSocket] {
        let count = environment("LISTEN_FDS")
        let process = environment("LISTEN_PID")
        let names = environment("LISTEN_FDNAMES").map {
            $0.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        }
        for name in ["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"] {
            // Safety: no thread has been started that could read the environment meanwhile.
            unsafe unsetenv(name)
        }
        // They are another process's: inherited by accident.
        guard let count, process.flatMap({ Int32($0) }) == getpid() else { return [] }
        guard let count = Int32(count), (0...1024).contains(count) else {
            throw Refusal(description: "LISTEN_FDS is a number from 0 to 1024")
        }
        if let names, names.count != Int(count) {
            throw Refusal(description: "LISTEN_FDNAMES has \(names.count) names for \(count) descriptors")
        }
        var sockets: [InheritedSocket] = []
        for index in 0..<Int(count) {
            sockets.append(try InheritedSocket(firstDescriptor + Int32(index), name: names?[index] ?? ""))
        }
        return sockets
    }

    private init(_ descriptor: Int32, name: String) throws(Refusal) {
        self.descriptor = descriptor
        self.name = name
        let what = name.isEmpty ? "descriptor \(descriptor)" : "descriptor \(descriptor) (\(name))"
        func option(_ number: Int32) -> Int32? {
            var value: Int32 = 0
            var length = socklen_t(MemoryLayout<Int32>.size)
            // Safety: the kernel fills one number, as long as `length` says.
            return unsafe getsockopt(descriptor, SOL_SOCKET, number, &value, &length) == 0 ? value : nil
        }
        guard option(SO_DOMAIN) == AF_UNIX, option(SO_TYPE) == Int32(SOCK_STREAM.rawValue), option(SO_ACCEPTCONN) == 1
        else {
            throw Refusal(description: "\(what) was passed and is no listening stream socket of AF_UNIX")
        }
        path = Self.path(of: descriptor)
        guard csys_fcntl(descriptor, F_SETFD, Int(FD_CLOEXEC)) == 0,
            csys_fcntl(descriptor, F_SETFL, Int(O_NONBLOCK)) == 0
        else { throw Refusal(description: "\(what): \(SystemError("fcntl"))") }
    }

    private static func path(of descriptor: Int32) -> String {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        // Safety: the kernel fills the address as far as `length` says, and it was all zeros before.
        let result = unsafe withUnsafeMutablePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe getsockname(descriptor, $0, &length) }
        }
        guard result == 0 else { return "" }
        return unsafe withUnsafeBytes(of: address.sun_path) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    private static func environment(_ name: String) -> String? {
        // Safety: copied before anybody changes the environment.
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }
}
