import Glibc

/// The load generator: one thread, one epoll, the same loop for Kura and Redis.
///
/// A closed loop sends a batch of `depth` requests on each connection, waits for all its replies, and sends the
/// next. An open loop sends each request when it is due, on the next free connection, and counts its latency from
/// then, so that a stalled server cannot hide how long requests waited for it (coordinated omission).
/// Nothing is allocated between the first request and the last reply.
///
/// Safety: `connections` has `connectionCount` places and is freed once, by `close`.
@safe
struct Generator: ~Copyable {
    let plan: Plan
    let scanner: ReplyScanner
    let connections: UnsafeMutablePointer<Connection>
    let connectionCount: Int
    let counter: DecimalCounter
    let poller: Poller

    let readTemplate: RequestTemplate
    let writeTemplate: RequestTemplate
    /// Writes in a hundred; 0 and 100 have their batches rendered in advance.
    let percentWrites: Int
    var random: Xorshift
    var nextAscendingKey: UInt32 = 0

    var tally = Tally()
    var issued = 0
    var inFlight = 0
    var deadline: UInt64 = 0
    let requestLimit: Int

    /// Connects and renders; nothing is sent before `run`.
    static func prepare(_ plan: Plan) throws -> Generator {
        let options = plan.options
        // A single connection in a closed loop waits in read itself, as a simple client would.
        let poller = try Poller(blocking: options.connections == 1 && options.rate == 0 && options.depth <= 64)
        let read = RequestTemplate.read(plan.target.wire, room: options.room)
        let write = RequestTemplate.write(
            plan.target.wire, room: options.room, valueSize: options.valueSize, generator: plan.generator)
        let connections = try unsafe open(
            options, path: plan.target.path, poller: poller, requestSize: max(read.bytes.count, write.bytes.count))
        return unsafe Generator(plan, poller: poller, read: read, write: write, connections: connections)
    }

    /// Does not throw: in a throwing initialiser of a noncopyable type Swift 6.3.1 was seen to destroy unset fields.
    private init(
        _ plan: Plan, poller: Poller, read: RequestTemplate, write: RequestTemplate,
        connections: UnsafeMutablePointer<Connection>
    ) {
        let options = plan.options
        self.plan = plan
        self.poller = poller
        unsafe self.connections = unsafe connections
        connectionCount = options.connections
        readTemplate = read
        writeTemplate = write
        scanner = ReplyScanner(wire: plan.target.wire, valueSize: options.valueSize)
        requestLimit = options.requests > 0 ? options.requests : Int.max
        let started = Clock.wallMicroseconds()
        counter = DecimalCounter(startingAt: started)
        random = Xorshift(seed: started &+ UInt64(plan.generator) &* 1_000_003)
        switch options.mix {
        case .read: percentWrites = 0
        case .write: percentWrites = 100
        case .mixed(let percent): percentWrites = percent
        }
        // Of a mixture each request is copied in when it is sent: which kind comes next is drawn then.
        if percentWrites == 0 || percentWrites == 100 {
            for index in 0..<connectionCount { unsafe connections[index].prerender(percentWrites == 0 ? read : write) }
        }
    }

    /// Opens all connections, or none.
    private static func open(
        _ options: LoadOptions, path: String, poller: Poller, requestSize: Int
    ) throws -> UnsafeMutablePointer<Connection> {
        let connections = UnsafeMutablePointer<Connection>.allocate(capacity: options.connections)
        for index in 0..<options.connections {
            do {
                let connection = Connection(
                    descriptor: try poller.open(path, index: index), depth: options.depth, requestSize: requestSize,
                    replySize: options.valueSize + 256)
                unsafe (connections + index).initialize(to: connection)
            } catch {
                for opened in 0..<index {
                    unsafe close(connections[opened].descriptor)
                    unsafe connections[opened].free()
                }
                unsafe connections.deallocate()
                throw error
            }
        }
        return unsafe connections
    }

    deinit {
        for index in 0..<connectionCount {
            unsafe close(connections[index].descriptor)
            unsafe connections[index].free()
        }
        unsafe connections.deallocate()
    }

    /// Offers the load and returns what was counted once every request has its reply.
    mutating func run() throws -> Tally {
        let start = Clock.now()
        deadline = requestLimit < Int.max ? UInt64.max : start + UInt64(plan.options.seconds * 1e9)
        if plan.options.rate > 0 {
            try runOpenLoop(from: start)
        } else {
            try runClosedLoop(from: start)
        }
        tally.elapsed = min(Clock.now(), deadline) - start
        return tally
    }

    private mutating func runClosedLoop(from start: UInt64) throws {
        for index in 0..<connectionCount { try sendBatch(index, at: Clock.now()) }
        var silentSince = start
        while inFlight > 0 {
            let ready = try poller.wait(nanoseconds: 1_000_000_000)
            let now = Clock.now()
            if ready == 0 {
                if now - silentSince > Generator.patience { throw BenchError.failed("no reply for 30 s") }
                continue
            }
            silentSince = now
            for event in 0..<ready {
                let index = poller.index(event)
                if unsafe connections[index].waitsForRoom { try flush(index) }
                let time = try receive(index)
                if unsafe connections[index].pendingCount == 0 && time < deadline { try sendBatch(index, at: time) }
            }
        }
    }

    /// How long a server may be silent before the run is given up.
    static let patience: UInt64 = 30_000_000_000

    private mutating func sendBatch(_ index: Int, at now: UInt64) throws {
        let count = min(plan.options.depth, requestLimit - issued)
        guard count > 0 else { return }
        for _ in 0..<count { append(index, since: now) }
        try flush(index)
    }
}
