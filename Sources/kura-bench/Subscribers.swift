import Glibc

/// Clients that are told of every write: one thread, one epoll, as many connections.
///
/// Safety: each block has room for what is read into it at once and what was carried over; they are freed with their
/// owner.
@safe
struct Subscribers: ~Copyable {
    private struct Subscriber {
        var descriptor: Int32
        /// The beginning of an event whose rest has not come.
        var carried = 0
    }
    private var subscribers: [Subscriber]
    private let carry: UnsafeMutablePointer<UInt8>
    private let buffer: UnsafeMutablePointer<UInt8>
    /// Keys of one read.
    private let keys: UnsafeMutablePointer<Int>
    private static let room = 256 << 10
    private static let carryRoom = 64
    private let epoll: Epoll
    private var scanner: EventScanner
    private(set) var latencies = Histogram()
    private(set) var delivered: UInt64 = 0

    /// Connects and subscribes all, or throws.
    static func connect(_ target: Target, count: Int) throws -> Subscribers {
        var descriptors: [Int32] = []
        let epoll = try Epoll(capacity: 512)
        do {
            for index in 0..<count {
                let socket = try Socket(path: target.path)
                try socket.limitReads(toSeconds: 30)
                try subscribe(target, socket.descriptor)
                try socket.makeNonBlocking()
                try epoll.control(.add, socket.descriptor, .bytes, tag: UInt32(index))
                descriptors.append(socket.release())
            }
        } catch {
            for descriptor in descriptors { close(descriptor) }
            throw error
        }
        return Subscribers(descriptors, epoll, EventScanner(wire: target.wire))
    }

    private init(_ descriptors: [Int32], _ epoll: Epoll, _ scanner: EventScanner) {
        subscribers = descriptors.map { Subscriber(descriptor: $0) }
        unsafe carry = .allocate(capacity: max(1, descriptors.count) * Subscribers.carryRoom)
        unsafe buffer = .allocate(capacity: Subscribers.room + Subscribers.carryRoom)
        unsafe keys = .allocate(capacity: (Subscribers.room + Subscribers.carryRoom) / scanner.length + 1)
        self.epoll = epoll
        self.scanner = scanner
    }

    deinit {
        for subscriber in subscribers { close(subscriber.descriptor) }
        unsafe carry.deallocate()
        unsafe buffer.deallocate()
        unsafe keys.deallocate()
    }

    private static func subscribe(_ target: Target, _ descriptor: Int32) throws {
        switch target.wire {
        case .kura:
            let reply = try Exchange.line(
                RequestTemplate.call("changes.watch", "{\"scope\":\"bench\"}"), on: descriptor)
            guard reply.hasPrefix(ReplyScanner.success) else { throw BenchError.failed("changes.watch: \(reply)") }
        case .redis:
            let pattern = "__keyspace@0__:key:*"
            let reply = try Exchange.line(
                "*2\r\n$10\r\nPSUBSCRIBE\r\n$\(pattern.utf8.count)\r\n\(pattern)\r\n", on: descriptor)
            guard reply == "*3" else { throw BenchError.failed("PSUBSCRIBE: \(reply)") }
        case .memcached: throw BenchError.usage("memcached tells nobody of changes")
        }
    }

    /// Reads what comes, for so long at most.
    mutating func receive(nanoseconds: UInt64, _ times: SendTimes) throws {
        let ready = try epoll.wait(nanoseconds: nanoseconds)
        for event in 0..<ready {
            let index = Int(epoll.tag(of: event))
            let carried = subscribers[index].carried
            let place = unsafe carry + index * Subscribers.carryRoom
            unsafe memcpy(buffer, place, carried)
            let count = unsafe read(subscribers[index].descriptor, buffer + carried, Subscribers.room)
            guard count > 0 else {
                if count < 0, errno == EAGAIN || errno == EINTR { continue }
                throw BenchError.failed("the server closed a subscriber's connection")
            }
            let now = Clock.now()
            let whole = carried + count
            let keys = unsafe self.keys
            var found = 0
            let used = unsafe scanner.scan(buffer, whole) { key in
                unsafe keys[found] = key
                found += 1
            }
            for position in 0..<found where unsafe keys[position] < times.count {
                unsafe latencies.record(now &- times[keys[position]])
                delivered &+= 1
            }
            // What is shorter than a key with its marker may be the beginning of one.
            let rest = min(whole - used, Subscribers.carryRoom - 1)
            unsafe memcpy(place, buffer + whole - rest, rest)
            subscribers[index].carried = rest
        }
    }
}
