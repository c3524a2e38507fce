#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif
import CSyscalls
import KuraBytes
import Synchronization

#if os(Linux)
    /// Closes what strangers have opened, on threads of its own.
    ///
    /// close(2) can wait for as long as the maker of a descriptor likes: for the other end of a TCP connection that lingers
    /// (SO_LINGER, socket(7)), for a file system in user space that is asked to flush (FUSE), for a server that is away; and what lies
    /// unread in a Unix socket is closed with it. No loop may wait for that, and not even for finding out, which can take as long.
    /// Nobody learns how it ended.
    ///
    /// Each user has a lane, and descriptors of our own have another. A lane keeps two threads at most, however long they hang.
    public enum DescriptorCloser {
        /// Threads of a lane, and of all.
        static let laneLimit = 2
        private static let limit = 256
        /// Threads that stay when there is nothing to do.
        private static let idleLimit = 4
        /// Nanoseconds after which a close counts as hanging.
        private static let patience: UInt64 = 2_000_000_000

        private struct Entry {
            let descriptor: Int32
            /// The count that goes down when the descriptor is closed.
            let use: DescriptorUse?
        }

        private struct Lane {
            var waiting: [Entry] = []
            /// When the closes that are under way began.
            var began: [UInt64] = []
            var isReady: Bool { !waiting.isEmpty && began.count < DescriptorCloser.laneLimit }
        }

        private struct State {
            var lanes: [UInt32?: Lane] = [:]
            /// Lanes with work that a thread may take, in their turn.
            var ready: [UInt32?] = []
            var threads = 0
            var idle = 0
            /// Called before each close of what a stranger has passed, for tests.
            var trial: (@Sendable () -> Void)?
        }
        private static let state = Mutex(State())
        private static let pending = Atomic<Int>(0)
        // Safety: made once, never freed; sem_t may be used from every thread.
        private nonisolated(unsafe) static let signal: UnsafeMutablePointer<sem_t> = {
            let signal = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
            unsafe signal.initialize(to: sem_t())
            unsafe sem_init(signal, 0, 0)
            return unsafe signal
        }()

        /// Descriptors that are to be closed and are not yet.
        public static var waiting: Int { pending.load(ordering: .relaxed) }

        /// Has `body` called before each close of what a stranger has passed.
        public static func setTrial(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.trial = body } }

        /// Whether all closes of this user's that may be under way hang.
        public static func isStuck(_ user: UInt32) -> Bool {
            let time = monotonicNanoseconds()
            return state.withLock { state in
                guard let began = state.lanes[user]?.began, began.count >= laneLimit else { return false }
                return began.allSatisfy { $0 + patience < time }
            }
        }

        /// Takes the descriptor over. From any thread, without waiting.
        /// `user`: who has passed it; nil for one of our own.
        static func close(_ descriptor: Int32, of user: UInt32?, _ use: DescriptorUse? = nil) {
            // A pipe has nobody to wait for, and is what most pass.
            if csys_fcntl(descriptor, Int32(CSYS_GET_PIPE_SIZE), 0) >= 0 {
                _ = csys_close(descriptor)
                use?.add(-1)
                return
            }
            enqueue(user) { $0.append(Entry(descriptor: descriptor, use: use)) }
        }

        /// Takes all of them over. From any thread, without waiting.
        static func close(_ descriptors: UnsafeBufferPointer<Int32>, _ use: DescriptorUse) {
            guard !descriptors.isEmpty else { return }
            enqueue(use.user) { waiting in
                // Safety: positions lie within the numbers, which are the caller's for as long as the call.
                for position in 0..<descriptors.count {
                    unsafe waiting.append(Entry(descriptor: descriptors[position], use: use))
                }
            }
        }

        private static func enqueue(_ user: UInt32?, _ add: (inout [Entry]) -> Void) {
            let isShort = state.withLock { state in
                var lane = state.lanes[user] ?? Lane()
                let before = lane.waiting.count
                let wasReady = lane.isReady
                add(&lane.waiting)
                pending.add(lane.waiting.count - before, ordering: .relaxed)
                state.lanes[user] = lane
                guard lane.isReady else { return false }
                if !wasReady { state.ready.append(user) }
                guard state.idle == 0, state.threads < limit else { return false }
                state.threads += 1
                return true
            }
            if isShort { startThread() }
            _ = unsafe sem_post(signal)
        }

        /// One more, while those that there are have enough to do.
        private static func startThread() {
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
                state.withLock { $0.threads -= 1 }
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
                while let (entry, user, trial) = take() {
                    passOn()
                    close(entry, user, trial)
                }
                let stays = state.withLock { state in
                    // Something came in between.
                    guard state.ready.isEmpty else { return true }
                    guard state.idle < idleLimit else {
                        state.threads -= 1
                        return false
                    }
                    state.idle += 1
                    return true
                }
                guard stays else { return }
                while unsafe sem_wait(signal) != 0 {}
                state.withLock { $0.idle = max(0, $0.idle - 1) }
            }
        }

        /// This thread may hang in what it has taken: another one comes for what is ready besides.
        private static func passOn() {
            let (wakes, isShort): (Bool, Bool) = state.withLock { state in
                guard !state.ready.isEmpty else { return (false, false) }
                guard state.idle == 0 else { return (true, false) }
                // Each lane has its threads already: while a lane is ready one of them is in no close, and takes that lane.
                guard state.threads < min(limit, laneLimit * state.lanes.count) else { return (false, false) }
                state.threads += 1
                return (false, true)
            }
            if isShort { startThread() }
            if wakes { _ = unsafe sem_post(signal) }
        }

        private static func take() -> (Entry, UInt32?, (@Sendable () -> Void)?)? {
            state.withLock { state in
                guard !state.ready.isEmpty else { return nil }
                let user = state.ready.removeFirst()
                var lane = state.lanes[user]!
                let entry = lane.waiting.removeFirst()
                lane.began.append(monotonicNanoseconds())
                state.lanes[user] = lane
                if lane.isReady { state.ready.append(user) }
                return (entry, user, user == nil ? nil : state.trial)
            }
        }

        private static func close(_ entry: Entry, _ user: UInt32?, _ trial: (@Sendable () -> Void)?) {
            trial?()
            // Without SO_LINGER close(2) of a socket does not wait for the other end. A descriptor of no socket answers ENOTSOCK, which is ignored.
            var none = linger()
            // Safety: the kernel reads one `linger`, which is ours.
            unsafe setsockopt(entry.descriptor, SOL_SOCKET, SO_LINGER, &none, socklen_t(MemoryLayout<linger>.size))
            _ = csys_close(entry.descriptor)
            pending.subtract(1, ordering: .relaxed)
            entry.use?.add(-1)
            state.withLock { state in
                var lane = state.lanes[user]!
                let wasReady = lane.isReady
                // Which of them has ended does not matter: the oldest is what counts.
                lane.began.removeFirst()
                if lane.isReady, !wasReady { state.ready.append(user) }
                state.lanes[user] = lane.waiting.isEmpty && lane.began.isEmpty ? nil : lane
            }
        }
    }
#else
    /// Closes descriptors, here and now: where there is no daemon no stranger passes any.
    enum DescriptorCloser {
        static func close(_ descriptor: Int32, of user: UInt32?, _ use: DescriptorUse? = nil) {
            _ = csys_close(descriptor)
            use?.add(-1)
        }

        static func close(_ descriptors: UnsafeBufferPointer<Int32>, _ use: DescriptorUse) {
            // Safety: the numbers are the caller's for as long as the call.
            for position in 0..<descriptors.count { _ = unsafe csys_close(descriptors[position]) }
            use.add(-descriptors.count)
        }
    }
#endif
