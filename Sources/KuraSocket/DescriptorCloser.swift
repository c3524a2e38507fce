#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif
import CSyscalls
import Synchronization

#if os(Linux)
    /// Closes what strangers have opened, on threads of its own.
    ///
    /// close(2) can wait for as long as the maker of a descriptor likes: for the other end of a TCP connection that lingers
    /// (SO_LINGER, socket(7)), for a file system in user space that is asked to flush (FUSE), for a server that is away; and what lies
    /// unread in a Unix socket is closed with it. No loop may wait for that, and not even for finding out, which can take as long.
    /// Nobody learns how it ended.
    public enum DescriptorCloser {
        /// Threads at most; each has one descriptor at a time.
        private static let limit = 4
        private static let pending = Atomic<Int>(0)
        private static let threads = Atomic<Int>(0)
        /// The queue is a pipe of numbers: both ends may be used from any thread, and one that is full says so. -1 without.
        private static let ends: (output: Int32, input: Int32) = {
            var ends: [Int32] = [-1, -1]
            // Safety: the array has room for the two.
            guard unsafe pipe(&ends) == 0 else { return (-1, -1) }
            for end in ends { _ = csys_fcntl(end, F_SETFD, Int(FD_CLOEXEC)) }
            // Room for more numbers than a process has descriptors as a rule; less is what the system grants.
            _ = csys_fcntl(ends[1], Int32(CSYS_SET_PIPE_SIZE), 1 << 20)
            _ = csys_fcntl(ends[1], F_SETFL, Int(O_NONBLOCK))
            return (ends[0], ends[1])
        }()

        /// Takes the two descriptors that it needs, while there are some.
        public static func prepare() { _ = ends }

        /// Descriptors that are to be closed and are not yet.
        public static var waiting: Int { pending.load(ordering: .relaxed) }

        /// Takes the descriptor over. From any thread, without waiting.
        public static func close(_ descriptor: Int32) {
            // A pipe has nobody to wait for, and is what most pass.
            if csys_fcntl(descriptor, Int32(CSYS_GET_PIPE_SIZE), 0) >= 0 {
                _ = csys_close(descriptor)
                return
            }
            var number = descriptor
            // Safety: one number, which is ours.
            unsafe withUnsafePointer(to: &number) { unsafe close(UnsafeBufferPointer(start: $0, count: 1)) }
        }

        /// Takes all of them over, with one system call. From any thread, without waiting.
        /// `descriptors`: at most 1,024, so that a pipe takes their numbers whole or not at all (PIPE_BUF, pipe(7)).
        public static func close(_ descriptors: UnsafeBufferPointer<Int32>) {
            guard !descriptors.isEmpty else { return }
            let count = pending.add(descriptors.count, ordering: .relaxed).newValue
            let bytes = descriptors.count * 4
            // Safety: the numbers are the caller's for as long as the call.
            guard unsafe write(ends.input, descriptors.baseAddress, bytes) == bytes else {
                pending.subtract(descriptors.count, ordering: .relaxed)
                for position in 0..<descriptors.count { _ = unsafe csys_close(descriptors[position]) }
                return
            }
            if count > threads.load(ordering: .relaxed) { startThread() }
        }

        /// One more, while those that there are have enough to do.
        private static func startThread() {
            guard threads.add(1, ordering: .relaxed).newValue <= limit else {
                threads.subtract(1, ordering: .relaxed)
                return
            }
            #if canImport(Glibc)
                var handle = pthread_t()
            #else
                var handle: pthread_t?
            #endif
            // Safety: the thread gets no argument.
            let result = unsafe pthread_create(
                &handle, nil,
                { _ in
                    _ = unsafe csys_set_thread_name("kura-closer")
                    DescriptorCloser.run()
                    return nil
                }, nil)
            guard result == 0 else {
                threads.subtract(1, ordering: .relaxed)
                return
            }
            #if canImport(Glibc)
                pthread_detach(handle)
            #else
                // Safety: a thread that was made has a handle.
                unsafe pthread_detach(handle!)
            #endif
        }

        private static func run() {
            while true {
                var number: Int32 = -1
                // Safety: the kernel writes four bytes into a number that is ours.
                let count = unsafe read(ends.output, &number, 4)
                guard count == 4 else {
                    if count < 0, errno == EINTR { continue }
                    return
                }
                // Otherwise a few sockets would keep all threads waiting. What is no socket refuses.
                var none = linger()
                // Safety: the kernel reads one `linger`, which is ours.
                unsafe setsockopt(number, SOL_SOCKET, SO_LINGER, &none, socklen_t(MemoryLayout<linger>.size))
                _ = csys_close(number)
                pending.subtract(1, ordering: .relaxed)
            }
        }
    }
#else
    /// Closes descriptors, here and now: where there is no daemon no stranger passes any.
    public enum DescriptorCloser {
        public static func close(_ descriptor: Int32) { _ = csys_close(descriptor) }

        public static func close(_ descriptors: UnsafeBufferPointer<Int32>) {
            // Safety: the numbers are the caller's for as long as the call.
            for position in 0..<descriptors.count { _ = unsafe csys_close(descriptors[position]) }
        }
    }
#endif
