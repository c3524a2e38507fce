import CSyscalls
import Glibc
public import KuraBytes

/// A connected stream socket, non-blocking, closed with its owner.
public struct Socket: ~Copyable {
    public let descriptor: Int32
    /// A stranger is at the other end.
    private let isAccepted: Bool

    /// Takes the descriptor over.
    /// `isAccepted`: a stranger has connected it, who may have sent what takes long to close.
    public init(owning descriptor: Int32, isAccepted: Bool = false) {
        self.descriptor = descriptor
        self.isAccepted = isAccepted
    }

    /// Connects to a Unix socket, blocking.
    public static func connect(to path: String) throws(SystemError) -> Socket {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError("socket") }
        // Safety: Swift lends the path as a C string for the call.
        guard unsafe csys_connect_unix(descriptor, path) == 0 else {
            let error = SystemError("connect", path: path)
            Glibc.close(descriptor)
            throw error
        }
        return Socket(owning: descriptor)
    }

    deinit {
        if isAccepted {
            // No more comes; descriptors in what was never read are closed with it.
            shutdown()
            if csys_unread(descriptor) > 0 {
                DescriptorCloser.close(descriptor)
                return
            }
        }
        Glibc.close(descriptor)
    }

    /// Tells the other side that this is the end, also while the descriptor is still referred to.
    public borrowing func shutdown() {
        _ = Glibc.shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Tells the other side that nothing more will come from here.
    public borrowing func shutdownSending() {
        _ = Glibc.shutdown(descriptor, Int32(SHUT_WR))
    }

    /// What a receive brought.
    public enum Received {
        case bytes(Int)
        case nothing
        case end
        case failed
    }

    /// Appends what is there to `buffer`, as much as it has room for, without waiting. Descriptors that came along are closed:
    /// nothing asks for them.
    public borrowing func receive(into buffer: inout ByteBuffer) -> Received {
        var queue = DescriptorQueue()
        return receive(into: &buffer, queue: &queue)
    }

    /// Appends what is there to `buffer`, as much as it has room for and at most `limit` bytes, without waiting, and the
    /// descriptors that came along to `queue`.
    ///
    /// Safety: the kernel gets the buffer's own room, with its length, and room for as many descriptors as one message can
    /// carry; only those are read that it says it has written.
    public borrowing func receive(
        into buffer: inout ByteBuffer, atMost limit: Int = .max, queue: inout DescriptorQueue
    ) -> Received {
        unsafe withUnsafeTemporaryAllocation(of: Int32.self, capacity: Int(CSYS_MAX_DESCRIPTORS)) { descriptors in
            var count: Int32 = 0
            var flags: Int32 = 0
            let room = unsafe buffer.spare
            let received = unsafe csys_recvmsg(
                descriptor, room.baseAddress, min(room.count, limit), descriptors.baseAddress,
                // All of them: those that the kernel cuts off it closes here and now.
                Int32(CSYS_MAX_DESCRIPTORS), &count, &flags)
            if count > 0 { unsafe queue.append(owning: UnsafeBufferPointer(rebasing: descriptors[..<Int(count)])) }
            if flags & Int32(MSG_CTRUNC) != 0 { queue.noteLoss() }
            if received > 0 {
                buffer.commit(received)
                return .bytes(received)
            }
            if received == 0 { return .end }
            return errno == EAGAIN || errno == EINTR ? .nothing : .failed
        }
    }

    /// Writes as much as the socket takes.
    /// - Returns: bytes written; 0 when it takes none now; nil when the other side is gone.
    public borrowing func send(_ bytes: Bytes) -> Int? {
        let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
        // Safety: address and count are of the same bytes, which the kernel reads before it returns.
        let sent = unsafe Glibc.send(descriptor, bytes.baseAddress, bytes.count, flags)
        if sent >= 0 { return sent }
        return errno == EAGAIN || errno == EINTR ? 0 : nil
    }

    /// Writes as much as the socket takes, with `passed` going along with the first byte (SCM_RIGHTS). The other side gets a
    /// descriptor of its own; `passed` stays open here.
    /// - Returns: bytes written; 0 when it takes none now, the descriptor neither; nil when the other side is gone.
    public borrowing func send(_ bytes: Bytes, passing passed: Int32) -> Int? {
        // Safety: as in `send`.
        let sent = unsafe csys_send_descriptor(descriptor, bytes.baseAddress, bytes.count, passed)
        if sent >= 0 { return sent }
        return errno == EAGAIN || errno == EINTR ? 0 : nil
    }
}

/// Signals as a descriptor that the loop waits on.
public enum Signals {
    /// Blocks SIGTERM, SIGINT, SIGHUP and SIGCHLD for this thread and those it starts, ignores SIGPIPE.
    public static func descriptor() throws(SystemError) -> Int32 {
        let descriptor = csys_signal_descriptor()
        guard descriptor >= 0 else { throw SystemError("signalfd") }
        return descriptor
    }

    /// Has other threads take the signals that are sent to the process; for a thread in a process that is not the daemon's, and those it
    /// starts. A fault of the thread itself is still told to whoever handles it.
    public static func leaveToOthers() {
        // Safety: the set is ours, and filled before it is used.
        var all = sigset_t()
        unsafe sigfillset(&all)
        for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS] { unsafe sigdelset(&all, fault) }
        unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
    }

    /// The next signal that came; nil when there is none.
    public static func next(_ descriptor: Int32) -> Int32? {
        let number = csys_next_signal(descriptor)
        return number == 0 ? nil : number
    }
}

/// The heap of the process.
public enum Heap {
    /// Gives back to the system what is not used. Takes milliseconds when that is much.
    public static func trim() { csys_trim_heap() }
    /// Has blocks of so many bytes and more given back as soon as they are freed, however often there have been some.
    public static func givesBack(blocksOf bytes: Int32) { csys_give_back_blocks(bytes) }
}

/// Limits of the process.
public enum ProcessLimits {
    /// Raises the number of descriptors to what is allowed, and returns it.
    public static func raiseDescriptors() -> Int {
        var limit: UInt64 = 1024
        // Safety: the limit is of the type that the function writes.
        _ = unsafe csys_raise_descriptor_limit(&limit)
        return Int(clamping: limit)
    }

    /// Descriptors that the process may have, as it is.
    public static var descriptors: Int {
        var limit = rlimit()
        // Safety: the kernel fills one `rlimit`, which is ours.
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        return Int(clamping: limit.rlim_cur)
    }

    /// No core dumps; and, unless `isTraceable`, nobody but root reads this process's memory or traces it.
    /// - Returns: whether the kernel has agreed.
    public static func protectMemory(isTraceable: Bool) -> Bool {
        csys_set_no_core() == 0 && (isTraceable || csys_set_no_dump() == 0)
    }
}
