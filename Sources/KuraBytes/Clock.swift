#if canImport(Glibc)
    import Glibc
    import Synchronization

    /// Tells the time. The daemon's clock is handed from its configuration to whoever looks at it, so that a test or a simulator has another one.
    public struct Clock: Sendable {
        /// nil: the system's time as it is.
        @usableFromInline let time: ManualTime?

        @inlinable init(time: ManualTime?) { self.time = time }

        /// Goes by what `time` says.
        public init(_ time: ManualTime) { self.init(time: time) }

        @inlinable public static var system: Clock { Clock(time: nil) }

        /// Nanoseconds on a clock that never goes back, and stands still while the machine sleeps.
        @inlinable public var monotonic: UInt64 {
            if let time { time.monotonic } else { monotonicNanoseconds() }
        }

        /// The same on one that goes on while the machine sleeps.
        public var boottime: UInt64 { if let time { time.boottime } else { boottimeNanoseconds() } }

        /// Milliseconds since 1970.
        public var wall: Int64 { if let time { time.wall } else { nowMilliseconds() } }

        /// Nobody can move this clock: it is the system's own.
        @inlinable public var isSystem: Bool { time == nil }

        /// The moment that is so many nanoseconds away.
        @inlinable public func deadline(after nanoseconds: UInt64) -> Deadline {
            Deadline(clock: self, at: monotonic.later(by: nanoseconds))
        }

        @inlinable public func deadline(milliseconds: Int) -> Deadline {
            deadline(after: .nanoseconds(milliseconds: milliseconds))
        }

        /// How long a thread that `onAdvance` wakes may sleep when it has so many milliseconds of this clock to wait. -1: for ever.
        @inlinable public func sleep(_ milliseconds: Int32) -> Int32 {
            guard let time, milliseconds != 0 else { return milliseconds }
            guard time.isOffset else { return -1 }
            return milliseconds < 0 ? ManualTime.interval : min(milliseconds, ManualTime.interval)
        }

        /// Has `waker` called, on any thread, when somebody moves the time.
        public func onAdvance(_ waker: @escaping @Sendable () -> Void) { time?.onAdvance(waker) }
    }

    /// A moment on a clock.
    public struct Deadline: Sendable {
        public let clock: Clock
        /// By the clock that never goes back, nanoseconds.
        public let at: UInt64

        @inlinable init(clock: Clock, at: UInt64) { (self.clock, self.at) = (clock, at) }

        @inlinable public var isOver: Bool { clock.monotonic >= at }

        /// Nanoseconds until then; 0 when it is over.
        @inlinable public var left: UInt64 {
            let now = clock.monotonic
            return at > now ? at - now : 0
        }
    }

    /// A time that somebody sets: one that stands still until it is moved, or the system's with offsets.
    ///
    /// Safety: the words are this object's until `deinit`, or another process's as well, and are read and written as atomics only.
    @safe public final class ManualTime: @unchecked Sendable {
        /// Monotonic, boottime and wall.
        private let words: UnsafeMutablePointer<Atomic<UInt64>>
        /// The words are offsets to the system's time, in a file that another process writes.
        public let isOffset: Bool
        private let wakers = Mutex<[@Sendable () -> Void]>([])

        /// Milliseconds between two looks at offsets, whose writer wakes nobody.
        public static let interval: Int32 = 5
        private static let fileBytes = 24

        /// Stands still. It begins a day after the machine's start.
        public init(wall: Int64 = 1_800_000_000_000) {
            unsafe words = .allocate(capacity: 3)
            let day: UInt64 = 86_400_000_000_000
            unsafe words.initialize(to: Atomic(day))
            unsafe words.advanced(by: 1).initialize(to: Atomic(day))
            unsafe words.advanced(by: 2).initialize(to: Atomic(UInt64(bitPattern: wall)))
            isOffset = false
        }

        /// Offsets that a file has: nanoseconds for monotonic and boottime, milliseconds for wall, as little-endian words of eight bytes.
        /// nil when there is no such file, or it is shorter.
        public init?(offsets path: String) {
            let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return nil }
            defer { close(descriptor) }
            guard lseek(descriptor, 0, SEEK_END) >= Self.fileBytes else { return nil }
            let memory = unsafe mmap(nil, Self.fileBytes, PROT_READ, MAP_SHARED, descriptor, 0)
            // -1: MAP_FAILED.
            guard let memory = unsafe memory, unsafe memory != UnsafeMutableRawPointer(bitPattern: -1) else {
                return nil
            }
            unsafe words = memory.bindMemory(to: Atomic<UInt64>.self, capacity: 3)
            isOffset = true
        }

        deinit {
            if isOffset {
                unsafe munmap(UnsafeMutableRawPointer(words), Self.fileBytes)
            } else {
                unsafe words.deallocate()
            }
        }

        private func word(_ index: Int) -> UInt64 {
            let word = unsafe words[index].load(ordering: .acquiring)
            return isOffset ? UInt64(littleEndian: word) : word
        }

        public var monotonic: UInt64 { isOffset ? monotonicNanoseconds() &+ word(0) : word(0) }
        public var boottime: UInt64 { isOffset ? boottimeNanoseconds() &+ word(1) : word(1) }
        public var wall: Int64 {
            let word = Int64(bitPattern: word(2))
            return isOffset ? nowMilliseconds() &+ word : word
        }

        /// So many nanoseconds pass, on all three clocks. Not for offsets.
        public func advance(by nanoseconds: UInt64) {
            precondition(!isOffset)
            // The wall counts whole milliseconds; parts of one add up over several calls.
            let (before, after) = unsafe words[0].add(nanoseconds, ordering: .acquiringAndReleasing)
            unsafe words[1].add(nanoseconds, ordering: .acquiringAndReleasing)
            unsafe words[2].wrappingAdd(after / 1_000_000 - before / 1_000_000, ordering: .acquiringAndReleasing)
            wake()
        }

        /// Somebody sets the system's clock. Not for offsets.
        public func setWall(_ milliseconds: Int64) {
            precondition(!isOffset)
            unsafe words[2].store(UInt64(bitPattern: milliseconds), ordering: .releasing)
            wake()
        }

        func onAdvance(_ waker: @escaping @Sendable () -> Void) { wakers.withLock { $0.append(waker) } }

        private func wake() {
            for waker in wakers.withLock({ $0 }) { waker() }
        }
    }
#endif
