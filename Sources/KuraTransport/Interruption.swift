import CSyscalls
import Glibc
public import KuraBytes
public import KuraSocket
import Synchronization

/// Lets a thread wait for a descriptor of somebody else's (a pipe that nobody reads, a socket, a file) and be called off.
///
/// The descriptor's own flags stay as they are: its owner shares them.
public final class Interruption: Sendable {
    private let event: Int32
    private let isRaised = Atomic<Bool>(false)

    public init() throws(SystemError) {
        event = csys_eventfd()
        guard event >= 0 else { throw SystemError("eventfd") }
    }

    deinit {
        close(event)
    }

    /// Ends every wait, now and from now on. From any thread.
    public func raise() {
        isRaised.store(true, ordering: .releasing)
        var one: UInt64 = 1
        // Safety: an eventfd is written as the eight bytes of one number.
        _ = unsafe Glibc.write(event, &one, 8)
    }

    public var isInterrupted: Bool { isRaised.load(ordering: .acquiring) }

    public enum Outcome: Equatable {
        case bytes(Int)
        case end
        case interrupted
        case failed(errno: Int32)
    }

    /// Appends what is there to `buffer`, once something is.
    /// - Parameters:
    ///   - descriptor: open for reading.
    ///   - limit: most bytes to read, above 0.
    ///   - buffer: grows when it has no room for them.
    /// - Returns: how many bytes were appended, or why none were.
    public func read(_ descriptor: Int32, atMost limit: Int, into buffer: inout ByteBuffer) -> Outcome {
        // Waited for what never comes, it would not be found out.
        guard mode(of: descriptor) != O_WRONLY else { return .failed(errno: EBADF) }
        while true {
            if let outcome = wait(descriptor, POLLIN) { return outcome }
            buffer.reserve(limit)
            // Safety: `reserve` has made room for `limit` bytes at least, and the kernel writes no more.
            let count = unsafe Glibc.read(descriptor, buffer.spare.baseAddress, limit)
            if count > 0 {
                buffer.commit(count)
                return .bytes(count)
            }
            if count == 0 { return .end }
            guard errno == EINTR || errno == EAGAIN else { return .failed(errno: errno) }
        }
    }

    /// Writes all of `bytes`, as the descriptor takes them.
    /// - Returns: `.end` when they are written.
    public func write(_ descriptor: Int32, _ bytes: Bytes) -> Outcome {
        var information = stat()
        // Safety: the kernel fills one `stat`, which is ours.
        guard unsafe fstat(descriptor, &information) == 0 else { return .failed(errno: errno) }
        guard mode(of: descriptor) != O_RDONLY else { return .failed(errno: EBADF) }
        let type = information.st_mode & S_IFMT
        // A pipe that is said to be writable takes a page without waiting, and may make a longer write wait (pipe(7)).
        let piece = type == S_IFIFO || type == S_IFCHR ? 4096 : 256 << 10
        var done = 0
        while done < bytes.count {
            if let outcome = wait(descriptor, POLLOUT) { return outcome }
            let rest = bytes.extracting(done..<min(done + piece, bytes.count))
            // Safety: address and count are of the same bytes, which the kernel reads before it returns.
            let count =
                unsafe type == S_IFSOCK
                ? send(descriptor, rest.baseAddress, rest.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
                : Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count >= 0 {
                done += count
            } else if errno != EINTR, errno != EAGAIN {
                return .failed(errno: errno)
            }
        }
        return .end
    }

    private func mode(of descriptor: Int32) -> Int32 { csys_fcntl(descriptor, F_GETFL, 0) & O_ACCMODE }

    /// - Returns: nil when the descriptor is ready, or has an error to tell.
    private func wait(_ descriptor: Int32, _ events: Int32) -> Outcome? {
        var polls = [
            pollfd(fd: descriptor, events: Int16(events), revents: 0),
            pollfd(fd: event, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            // Safety: there are two of them.
            let count = unsafe poll(&polls, 2, -1)
            if isInterrupted { return .interrupted }
            if count < 0, errno != EINTR { return .failed(errno: errno) }
            if count > 0, polls[0].revents != 0 { return nil }
        }
    }
}
