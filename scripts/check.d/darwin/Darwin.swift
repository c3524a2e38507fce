// What KuraClient and its modules use of Darwin's C library, declared as Swift sees it there (POSIX.1-2017 and the public headers of
// xnu, libpthread and Libc: sizes are Int, SHUT_RDWR and the like are Int32, pthread_t is a pointer). `scripts/check imports` compiles
// them against this module, and so finds a name that is Linux's alone. Whoever needs one more looks it up there.
//
// Nothing of this ever runs: only types matter, so nobody is told of results that are not used.

public typealias ssize_t = Int
public typealias mode_t = UInt16
public typealias off_t = Int64
public typealias nfds_t = UInt32
public typealias uid_t = UInt32
public typealias useconds_t = UInt32

// errno.h
public var errno: Int32 {
    get { 0 }
    set {}
}
public let EPERM: Int32 = 1, ENOENT: Int32 = 2, EINTR: Int32 = 4, EACCES: Int32 = 13, ENOTDIR: Int32 = 20,
    EINVAL: Int32 = 22
public let EAGAIN: Int32 = 35, ENOTSOCK: Int32 = 38, EPROTOTYPE: Int32 = 41, ECONNREFUSED: Int32 = 61, ELOOP: Int32 = 62
public let ENAMETOOLONG: Int32 = 63

// stdlib.h, string.h
public func malloc(_ size: Int) -> UnsafeMutableRawPointer! { nil }
public func realloc(_ memory: UnsafeMutableRawPointer!, _ size: Int) -> UnsafeMutableRawPointer! { nil }
public func free(_ memory: UnsafeMutableRawPointer!) {}
public func getenv(_ name: UnsafePointer<CChar>!) -> UnsafeMutablePointer<CChar>! { nil }
public func mkstemp(_ template: UnsafeMutablePointer<CChar>!) -> Int32 { -1 }
public func memcmp(_ left: UnsafeRawPointer!, _ right: UnsafeRawPointer!, _ count: Int) -> Int32 { 0 }
public func memchr(_ start: UnsafeRawPointer!, _ byte: Int32, _ count: Int) -> UnsafeMutableRawPointer! { nil }
public func memmove(_ to: UnsafeMutableRawPointer!, _ from: UnsafeRawPointer!, _ count: Int) -> UnsafeMutableRawPointer!
{ nil }
public func memset(_ start: UnsafeMutableRawPointer!, _ byte: Int32, _ count: Int) -> UnsafeMutableRawPointer! { nil }
public func strerror_r(_ code: Int32, _ buffer: UnsafeMutablePointer<CChar>!, _ count: Int) -> Int32 { 0 }

// time.h
public struct timespec {
    public var tv_sec = 0, tv_nsec = 0
    public init() {}
}
public struct clockid_t: Sendable {}
public let CLOCK_MONOTONIC = clockid_t(), CLOCK_REALTIME = clockid_t()
public func clock_gettime(_ clock: clockid_t, _ time: UnsafeMutablePointer<timespec>!) -> Int32 { -1 }

// unistd.h, fcntl.h
public let FD_CLOEXEC: Int32 = 1, F_SETFD: Int32 = 2, F_SETFL: Int32 = 4, F_DUPFD_CLOEXEC: Int32 = 67,
    O_NONBLOCK: Int32 = 4
public func usleep(_ microseconds: useconds_t) -> Int32 { -1 }
public func fcntl(_ descriptor: Int32, _ command: Int32) -> Int32 { -1 }
public func fcntl(_ descriptor: Int32, _ command: Int32, _ value: Int32) -> Int32 { -1 }
public func close(_ descriptor: Int32) -> Int32 { -1 }
public func read(_ descriptor: Int32, _ to: UnsafeMutableRawPointer!, _ count: Int) -> Int { -1 }
public func write(_ descriptor: Int32, _ from: UnsafeRawPointer!, _ count: Int) -> Int { -1 }
public func pipe(_ ends: UnsafeMutablePointer<Int32>!) -> Int32 { -1 }
public func unlink(_ path: UnsafePointer<CChar>!) -> Int32 { -1 }
public func geteuid() -> uid_t { 0 }
public func getpagesize() -> Int32 { 16384 }

// sys/stat.h, sys/mman.h
public let S_IFMT: mode_t = 0o170000, S_IFREG: mode_t = 0o100000
public struct stat {
    public var st_mode: mode_t = 0, st_size: off_t = 0
    public init() {}
}
public func fstat(_ descriptor: Int32, _ information: UnsafeMutablePointer<stat>!) -> Int32 { -1 }
public let PROT_READ: Int32 = 1, MAP_PRIVATE: Int32 = 2
public func mmap(
    _ at: UnsafeMutableRawPointer!, _ count: Int, _ rights: Int32, _ flags: Int32, _ descriptor: Int32, _ from: off_t
) -> UnsafeMutableRawPointer! { nil }
public func munmap(_ start: UnsafeMutableRawPointer!, _ count: Int) -> Int32 { -1 }

// sys/socket.h, poll.h
public let SHUT_WR: Int32 = 1, SHUT_RDWR: Int32 = 2, MSG_CTRUNC: Int32 = 0x20, POLLIN: Int32 = 1, POLLOUT: Int32 = 4
public struct pollfd {
    public var fd: Int32, events: Int16, revents: Int16
    public init(fd: Int32, events: Int16, revents: Int16) {
        (self.fd, self.events, self.revents) = (fd, events, revents)
    }
}
public func poll(_ waits: UnsafeMutablePointer<pollfd>!, _ count: nfds_t, _ milliseconds: Int32) -> Int32 { -1 }

// pthread.h, signal.h
public struct _opaque_pthread_t {}
public struct pthread_attr_t {}
public typealias pthread_t = UnsafeMutablePointer<_opaque_pthread_t>
public func pthread_create(
    _ thread: UnsafeMutablePointer<pthread_t?>, _ attributes: UnsafePointer<pthread_attr_t>?,
    _ body: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer?, _ argument: UnsafeMutableRawPointer?
) -> Int32 { -1 }
public func pthread_detach(_ thread: pthread_t) -> Int32 { -1 }
public typealias sigset_t = UInt32
public let SIG_BLOCK: Int32 = 1
public func sigfillset(_ set: UnsafeMutablePointer<sigset_t>!) -> Int32 { 0 }
public func pthread_sigmask(_ how: Int32, _ set: UnsafePointer<sigset_t>!, _ old: UnsafeMutablePointer<sigset_t>!)
    -> Int32
{ 0 }
