#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
import KuraBytes
import KuraProtocol
import KuraSocket
import Synchronization

/// What all of a client's calls share: one connection, who waits for what on it, and the thread that reads from it.
///
/// A caller writes its request's line into `output` and sleeps; the thread (`Link+thread.swift`) reads replies and wakes whom they are for. Lines leave by
/// whoever holds the *sending role*, without the lock: the caller itself when little else is under way; else the first of several, after
/// it has let the others run (`Task.yield`), so that the lines of all leave by one system call. What the socket does not take at once the thread sends
/// when it does.
///
/// Safe to share: all variables are used with `lock` held, but `sending` and its companions, which are the sending role's, and those of the thread.
final class Link: @unchecked Sendable {
    enum Phase { case apart, connected, closed }

    let path: String
    let check: PeerCheck
    let options: ConnectOptions
    let timeout: Int64
    let patience: Int64
    let pipe: WakePipe
    let lock = Mutex<Void>(())
    let lineLimit = Atomic<Int>(0)
    /// A secret may be in what comes: it is zeroed from the first byte on, also what never comes to be a line.
    let bringsSecrets = Atomic<Bool>(false)

    // MARK: Under the lock

    var phase = Phase.apart
    var socket: SharedSocket?
    /// By place. None ever goes.
    var calls: ContiguousArray<PendingCall> = []
    var free: ContiguousArray<PendingCall> = []
    /// Those that wait for a connection or for room, in order.
    var queueHead: PendingCall?
    var queueTail: PendingCall?
    /// Sent and not answered.
    var inFlight = 0
    /// Of those, how many a descriptor is to come with.
    var wanting = 0
    /// Lines that nobody has begun to send, and where in them descriptors go along.
    var output = ByteBuffer()
    var marks: [Mark] = []
    /// Somebody holds the sending role.
    var isSending = false
    /// It is the thread, which waits until the socket takes more.
    var isBlocked = false
    /// Somebody is about to take the sending role, and lets others write first.
    var isFlushDue = false
    var flushPriority = TaskPriority.background
    /// Longest that the thread sleeps, in nanoseconds: a call with the usual timeout need not wake it to be watched.
    var longestSleep: Int64 = 30_000_000_000
    /// When the thread will wake up by itself.
    var sleepsUntil = Int64.max
    var isWakePending = false
    var subscriptions: [ObjectIdentifier: Subscription] = [:]
    /// By the daemon's numbers for them.
    var told: [Subscription.Number: Subscription] = [:]
    /// What has to be made of the next connection before calls are sent on it.
    var standing = StandingState()
    var server: KuraServer?
    /// What a daemon that is not there was found to be.
    var lastFailure: KuraError?
    var firstConnection: Waiter<KuraError?>?
    var firstOutcome: KuraError??
    var endings: [Waiter<Void>] = []
    var hasEnded = false
    /// Of the newest call's id, 1 to 2^28 − 1: 0 is the introduction's.
    var counter: Int64 = 0

    // MARK: The sending role's

    private var sending = ByteBuffer()
    private var sendingMarks: [Mark] = []
    private var sent = 0

    // MARK: The thread's

    var received = ByteBuffer()
    var scanned = 0
    var descriptors = DescriptorQueue()
    /// Whom the lines that were just read concern, to be woken without the lock.
    var woken: [(Waiter<PendingCall.Outcome>, PendingCall.Outcome)] = []
    var wokenReaders: [Waiter<Void>] = []

    struct Mark {
        var offset: Int
        var descriptor: OwnedDescriptor
    }

    init(path: String, options: ConnectOptions) throws(KuraError) {
        self.path = path
        var options = options
        options.maximumInFlight = min(max(1, options.maximumInFlight), 1 << 16)
        options.maximumOutputBytes = max(1, options.maximumOutputBytes)
        self.options = options
        do throws(ClientError) { check = try PeerCheck(path: path, named: options.peerUIDs) } catch {
            throw KuraError(.notAllowed, error.message, advice: error.hint)
        }
        timeout = Clock.nanoseconds(options.timeout)
        patience = Clock.nanoseconds(options.patience)
        do throws(SystemError) { pipe = try WakePipe() } catch {
            throw KuraError(.serverGone, error.description, advice: "Raise the number of open files (ulimit -n).")
        }
    }

    // MARK: Calls

    /// A call for a caller to fill in.
    /// - Parameter isSecret: what is in it is zeroed afterwards.
    /// - Returns: one that is the caller's alone.
    func take(isSecret: Bool = false) -> PendingCall {
        let call = lock.withLock { _ in
            if let call = free.popLast() { return call }
            let call = PendingCall(place: calls.count)
            calls.append(call)
            return call
        }
        if isSecret {
            call.request.wipes = true
            call.reply.wipes = true
        }
        return call
    }

    /// The caller is done with it.
    func release(_ call: PendingCall) {
        call.clear()
        lock.withLock { _ in makeFree(call) }
    }

    /// What a caller does about sending.
    enum Part { case nothing, send, lead }

    /// Sends a call, or has it wait for its turn, and returns when its outcome is known.
    ///
    /// With `late` and `cancelled` the call is the link's.
    func exchange(_ call: PendingCall) async -> PendingCall.Outcome {
        let part = admit(call)
        if part == .lead { await Task.yield() }
        let id = call.id
        // ThreadSanitizer does not see what a continuation that was resumed early hands over.
        #if SANITIZE_THREAD
            defer { lock.withLock { _ in } }
        #endif
        return await withTaskCancellationHandler {
            await wait { waiter in
                let known: PendingCall.Outcome? = lock.withLock { _ in settle(call, waiter) }
                if part != .nothing { flush() }
                if let known { waiter.resume(known) }
            }
        } onCancel: {
            cancel(call, id)
        }
    }

    /// Whoever calls this has to send too, unless that is somebody else's part.
    private func admit(_ call: PendingCall) -> Part {
        let priority = Task.currentPriority
        return lock.withLock { _ in
            number(call)
            call.phase = .queued
            guard phase != .closed else {
                give(call, .failed, KuraError(.closed, "the client is closed"))
                return .nothing
            }
            if phase == .connected, queueHead == nil, hasRoom {
                put(call)
            } else {
                enqueue(call)
            }
            if call.deadline < sleepsUntil || phase == .apart { hurry(to: call.deadline) }
            guard !output.isEmpty, !isSending else { return .nothing }
            if isFlushDue { return output.count > 32 << 10 || priority > flushPriority ? .send : .nothing }
            guard inFlight > 3 else { return .send }
            isFlushDue = true
            flushPriority = priority
            return .lead
        }
    }

    /// - Returns: the outcome when it is known already; else the caller is woken with it.
    private func settle(_ call: PendingCall, _ waiter: Waiter<PendingCall.Outcome>) -> PendingCall.Outcome? {
        if call.isOwed {
            let outcome = call.outcome
            call.isOwed = false
            if call.phase == .done { recycle(call) }
            return outcome
        }
        if call.phase == .done { return call.outcome }
        call.waiter = waiter
        return nil
    }

    /// Takes back what is still the call of this id; it may be another's by now.
    func cancel(_ call: PendingCall, _ id: Int64) {
        let waiter = lock.withLock { _ in
            call.id == id && (call.phase == .queued || call.phase == .sent) && !call.isAbandoned
                ? abandon(call, .cancelled) : nil
        }
        waiter?.resume(.cancelled)
        flush()
    }

    /// Bytes of a request line that the daemon takes, as far as is known.
    var lineBytes: Int? {
        let bytes = lineLimit.load(ordering: .relaxed)
        return bytes > 0 ? bytes : nil
    }

    // MARK: With the lock held

    var hasRoom: Bool { inFlight < options.maximumInFlight && output.count < options.maximumOutputBytes }

    /// Gives a call an id of its own: its place, under a number that counts on.
    func number(_ call: PendingCall) {
        counter = counter == 0xFFF_FFFF ? 1 : counter + 1
        call.id = counter << 24 | Int64(call.place)
    }

    /// The call that an id is of; nil when it is nobody's any more.
    func call(_ id: Int64) -> PendingCall? {
        let place = Int(id & 0xFF_FFFF)
        guard id > 0, place < calls.count, calls[place].id == id, calls[place].phase == .sent else { return nil }
        return calls[place]
    }

    /// Writes the call's line behind those that wait to be sent.
    func put(_ call: PendingCall) {
        call.phase = .sent
        inFlight += 1
        if call.wantsDescriptor { wanting += 1 }
        if call.reply.wipes { bringsSecrets.store(true, ordering: .relaxed) }
        if call.request.wipes { output.wipes = true }
        if let descriptor = call.passing { marks.append(Mark(offset: output.count, descriptor: descriptor)) }
        output.append("{\"jsonrpc\":\"2.0\",\"id\":")
        output.append(integer: call.id)
        output.append(call.request.bytes)
    }

    private func enqueue(_ call: PendingCall) {
        call.next = nil
        if let tail = queueTail { tail.next = call } else { queueHead = call }
        queueTail = call
    }

    /// Sends what waits, as far as there is room.
    func pump() {
        while let call = queueHead, call.isAbandoned || phase == .connected && hasRoom {
            queueHead = call.next
            if queueHead == nil { queueTail = nil }
            call.next = nil
            if call.isAbandoned { settle(call) } else { put(call) }
        }
    }

    /// Nobody waits for this one any more.
    /// - Returns: whom to wake; nil when the caller does not wait yet, which is told as soon as it does.
    func abandon(_ call: PendingCall, _ outcome: PendingCall.Outcome) -> Waiter<PendingCall.Outcome>? {
        call.isAbandoned = true
        call.outcome = outcome
        let waiter = call.waiter
        call.waiter = nil
        call.isOwed = waiter == nil
        if call.phase == .sent, phase == .connected {
            output.append("{\"jsonrpc\":\"2.0\",\"method\":\"rpc.cancel\",\"params\":{\"id\":")
            output.append(integer: call.id)
            output.append("}}\n")
        }
        return waiter
    }

    /// An abandoned call has left the queue, or its reply is there.
    private func settle(_ call: PendingCall) {
        call.phase = .done
        if !call.isOwed { recycle(call) }
    }

    /// What `release` is for callers: a call that was abandoned, or is a subscription's, has no caller that would give it back.
    func recycle(_ call: PendingCall) {
        call.clear()
        makeFree(call)
    }

    private func makeFree(_ call: PendingCall) {
        call.phase = .idle
        free.append(call)
    }

    /// The outcome of a call that is no longer queued or under way. `woken` has whom to wake.
    func give(_ call: PendingCall, _ outcome: PendingCall.Outcome, _ failure: KuraError? = nil) {
        if call.phase == .sent {
            inFlight -= 1
            if call.wantsDescriptor { wanting -= 1 }
        }
        if call.isAbandoned { return settle(call) }
        call.phase = .done
        call.outcome = outcome
        call.failure = failure
        if let waiter = call.waiter {
            call.waiter = nil
            woken.append((waiter, outcome))
        }
    }

    /// Has the thread look up in time.
    func hurry(to deadline: Int64) {
        sleepsUntil = min(sleepsUntil, deadline)
        guard !isWakePending else { return }
        isWakePending = true
        pipe.wake()
    }

    // MARK: Sending

    /// Sends what there is, unless somebody else does.
    func flush() {
        let mine = lock.withLock { _ in
            // What was to be sent went with its connection: nobody is about to send what comes next.
            if output.isEmpty { isFlushDue = false }
            guard !isSending, !output.isEmpty, socket != nil else { return false }
            isSending = true
            return true
        }
        if mine { drain() }
    }

    /// Sends until nothing is left, or the socket takes no more.
    private func drain() {
        while let socket = nextLoad() {
            switch write(to: socket) {
            case .all: continue
            case .blocked:
                let isHandedOver = lock.withLock { _ in
                    guard self.socket === socket else { return false }
                    isBlocked = true
                    hurry(to: .max)
                    return true
                }
                if isHandedOver { return }
                forgetLoad()
            case .failed:
                // Whoever reads learns it, and tells everybody.
                socket.socket.shutdown()
                forgetLoad()
            }
        }
    }

    /// Takes what is to be sent; gives the role back when there is nothing.
    private func nextLoad() -> SharedSocket? {
        lock.withLock { _ in
            isFlushDue = false
            guard let socket, !output.isEmpty else {
                isSending = false
                return nil
            }
            swap(&output, &sending)
            swap(&marks, &sendingMarks)
            sent = 0
            return socket
        }
    }

    private enum Written { case all, blocked, failed }

    private func write(to shared: SharedSocket) -> Written {
        while sent < sending.count {
            let end = sendingMarks.first { $0.offset > sent }?.offset ?? sending.count
            let bytes = sending.bytes(sent..<end)
            let passed = sendingMarks.first { $0.offset == sent }?.descriptor
            let count =
                if let passed { shared.socket.send(bytes, passing: passed.number) } else { shared.socket.send(bytes) }
            guard let count else { return .failed }
            if count == 0 { return .blocked }
            sent += count
        }
        forgetLoad()
        return .all
    }

    private func forgetLoad() {
        if sending.capacity > 1 << 20 { sending.releaseMemory() } else { sending.removeAll() }
        sendingMarks.removeAll()
        sent = 0
    }

    /// The thread's part: the socket takes more.
    func resumeSending() {
        guard let socket else { return }
        switch write(to: socket) {
        case .all:
            lock.withLock { _ in isBlocked = false }
            drain()
        case .blocked: return
        case .failed:
            forgetLoad()
            lock.withLock { _ in
                isBlocked = false
                isSending = false
            }
            socket.socket.shutdown()
        }
    }

    /// With the lock held: what was to be sent on a connection that is no more.
    func forgetOutput() {
        isFlushDue = false
        output.removeAll()
        marks.removeAll()
        if isBlocked {
            isBlocked = false
            isSending = false
            forgetLoad()
        }
    }

    /// Without the lock.
    func wakeAll() {
        for (waiter, outcome) in woken { waiter.resume(outcome) }
        woken.removeAll(keepingCapacity: true)
        for waiter in wokenReaders { waiter.resume() }
        wokenReaders.removeAll(keepingCapacity: true)
    }
}
