import Glibc

// The toolchain's Glibc module leaves <sys/epoll.h> out, and this program imports nothing else: the four calls are
// declared here by their symbols. All their arguments are integers and pointers, which the Swift convention passes
// as the C convention does on x86-64 and arm64.

@_silgen_name("epoll_create1")
private func systemCreate(_ flags: Int32) -> Int32

@_silgen_name("epoll_ctl")
private func systemControl(
    _ epoll: Int32, _ operation: Int32, _ descriptor: Int32, _ event: UnsafeMutableRawPointer?
) -> Int32

@_silgen_name("epoll_pwait2")
private func systemWait(
    _ epoll: Int32, _ events: UnsafeMutableRawPointer, _ capacity: Int32, _ limit: UnsafePointer<timespec>,
    _ mask: UnsafePointer<sigset_t>?
) -> Int32

/// An epoll instance and room for the events of one wait, closed with its owner.
///
/// Safety: `events` has room for `capacity` events, of which only those are read that the last wait has told.
@safe
final class Epoll {
    enum Interest: UInt32 {
        /// EPOLLIN
        case bytes = 0x001
        /// EPOLLIN | EPOLLOUT
        case bytesAndRoom = 0x005
    }

    enum Change: Int32 {
        case add = 1
        case modify = 3
    }

    /// `struct epoll_event` is packed on x86-64 only: events, then eight bytes of the caller's.
    #if arch(x86_64)
        private static let eventSize = 12
        private static let tagOffset = 4
    #else
        private static let eventSize = 16
        private static let tagOffset = 8
    #endif

    private let descriptor: Int32
    private let capacity: Int
    private let events: UnsafeMutableRawPointer

    /// `capacity` is how many events one wait can tell.
    init(capacity: Int) throws {
        // EPOLL_CLOEXEC is O_CLOEXEC.
        descriptor = systemCreate(O_CLOEXEC)
        guard descriptor >= 0 else { throw BenchError.system("epoll_create1") }
        self.capacity = capacity
        unsafe events = .allocate(byteCount: capacity * Epoll.eventSize, alignment: 8)
        unsafe events.initializeMemory(as: UInt8.self, repeating: 0, count: capacity * Epoll.eventSize)
    }

    deinit {
        close(descriptor)
        unsafe events.deallocate()
    }

    func control(_ change: Change, _ socket: Int32, _ interest: Interest, tag: UInt32) throws {
        let event = UnsafeMutableRawPointer.allocate(byteCount: Epoll.eventSize, alignment: 8)
        defer { unsafe event.deallocate() }
        unsafe event.storeBytes(of: interest.rawValue, as: UInt32.self)
        unsafe event.storeBytes(of: tag, toByteOffset: Epoll.tagOffset, as: UInt32.self)
        guard unsafe systemControl(descriptor, change.rawValue, socket, event) == 0 else {
            throw BenchError.system("epoll_ctl")
        }
    }

    /// Waits for events, at most so long.
    ///
    /// - Returns: how many there are; `tag(of:)` tells whose. 0 at the end of the time or after a signal.
    @inline(__always)
    func wait(nanoseconds: UInt64) throws -> Int {
        var limit = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        let count = unsafe systemWait(descriptor, events, Int32(capacity), &limit, nil)
        if count < 0 {
            if errno == EINTR { return 0 }
            throw BenchError.system("epoll_pwait2")
        }
        return Int(count)
    }

    @inline(__always)
    func tag(of event: Int) -> UInt32 {
        unsafe events.load(fromByteOffset: event &* Epoll.eventSize &+ Epoll.tagOffset, as: UInt32.self)
    }
}
