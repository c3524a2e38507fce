#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
import CSyscalls
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
        #if canImport(Darwin)
            _ = csys_no_pipe_signal(descriptor)
        #endif
    }

    /// Connects to a Unix socket.
    /// `waits`: while the listener's queue is full. Else that is EAGAIN at once (Linux; ECONNREFUSED on Darwin, which never waits).
    public static func connect(to path: String, waits: Bool = true) throws(SystemError) -> Socket {
        let descriptor = csys_stream_socket()
        guard descriptor >= 0 else { throw SystemError("socket") }
        if !waits { _ = fcntl(descriptor, F_SETFL, O_NONBLOCK) }
        // Safety: Swift lends the path as a C string for the call.
        guard unsafe csys_connect_unix(descriptor, path) == 0 else {
            let error = SystemError("connect", path: path)
            _ = csys_close(descriptor)
            throw error
        }
        return Socket(owning: descriptor)
    }

    /// The user who listens at the other end, or has connected to this one; nil when the kernel does not tell.
    public var peerUser: UInt32? {
        var user: UInt32 = 0
        // Safety: the number is of the type that it writes.
        return unsafe csys_peer_user(descriptor, &user) == 0 ? user : nil
    }

    deinit {
        if isAccepted {
            // No more comes; descriptors in what was never read are closed with it.
            shutdown()
            if csys_unread(descriptor) > 0 {
                DescriptorCloser.close(descriptor, of: peer)
                return
            }
        }
        _ = csys_close(descriptor)
    }

    /// The uid of the process at the other end (SO_PEERCRED); `.max` when the kernel does not tell.
    private var peer: UInt32 {
        #if os(Linux)
            var (process, user, group): (Int32, UInt32, UInt32) = (0, .max, 0)
            // Safety: three numbers of the types that the function writes.
            guard unsafe csys_peer(descriptor, &process, &user, &group) == 0 else { return .max }
            return user
        #else
            return .max
        #endif
    }

    #if os(Linux)
        /// Looks at what a receive would bring, which stays there.
        /// `scratch`: room that nobody else uses meanwhile; its bytes are lost.
        /// - Returns: bytes that can be received without a descriptor; 0 when there are none now; nil when there are descriptors among them.
        public borrowing func bytesWithoutDescriptors(_ scratch: inout ByteBuffer) -> Int? {
            scratch.removeAll()
            var flags: Int32 = 0
            // Safety: the kernel gets the buffer's own room, with its length.
            let room = unsafe scratch.spare
            let count = unsafe csys_peek(descriptor, room.baseAddress, room.count, &flags)
            return flags & Int32(MSG_CTRUNC) != 0 ? nil : max(0, count)
        }
    #endif

    /// Tells the other side that this is the end, also while the descriptor is still referred to.
    public borrowing func shutdown() {
        _ = csys_shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Tells the other side that nothing more will come from here.
    public borrowing func shutdownSending() {
        _ = csys_shutdown(descriptor, Int32(SHUT_WR))
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
        // Safety: address and count are of the same bytes, which the kernel reads before it returns.
        let sent = unsafe csys_send(descriptor, bytes.baseAddress, bytes.count)
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
