import Glibc

// Safety: the address is a `sockaddr_un` whose path was checked to fit; options go with their sizes.

/// A connected Unix stream socket, closed with its owner.
struct Socket: ~Copyable {
    let descriptor: Int32

    /// Connects; waits while the server's backlog is full.
    init(path: String) throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw BenchError.usage("the socket's path is too long for a Unix socket: \(path)")
        }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw BenchError.system("socket") }
        let outcome = unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard outcome == 0 else {
            let failure = BenchError.system("connect \(path)")
            close(descriptor)
            throw failure
        }
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Gives the descriptor to the caller, who closes it.
    consuming func release() -> Int32 {
        let descriptor = descriptor
        discard self
        return descriptor
    }

    func makeNonBlocking() throws {
        let flags = fcntl(descriptor, F_GETFL)
        guard flags >= 0, fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0 else { throw BenchError.system("fcntl") }
    }

    /// How long a blocking read waits before it fails with EAGAIN.
    func limitReads(toSeconds seconds: Int) throws {
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        guard unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size)) == 0
        else { throw BenchError.system("setsockopt") }
    }
}
