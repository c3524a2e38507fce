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

/// The link's thread: it connects, reads, tells, connects again, and watches the clock. Nothing of it runs on the tasks' threads, which may not wait.
extension Link {
    /// A connection that has lasted so long was a good one.
    private static let steadyTime: Int64 = 1_000_000_000
    /// Room for what one read brings.
    private static let readBytes = 256 << 10

    /// Safety: the thread takes over the one reference that is passed to it, and lets go of it at its end.
    func start() throws(KuraError) {
        let start = unsafe Unmanaged.passRetained(self)
        #if canImport(Glibc)
            var thread = pthread_t()
        #else
            var thread: pthread_t?
        #endif
        let result = unsafe pthread_create(
            &thread, nil,
            { argument in
                // Darwin's may be no optional.
                let start = unsafe (argument as UnsafeMutableRawPointer?)!
                let link = unsafe Unmanaged<Link>.fromOpaque(start).takeRetainedValue()
                link.run()
                return nil
            }, unsafe start.toOpaque())
        guard result == 0 else {
            unsafe start.release()
            throw KuraError(
                .serverGone, "no thread can be started (error \(result))",
                advice: "Raise the number of processes and threads (ulimit -u).")
        }
        #if canImport(Glibc)
            pthread_detach(thread)
        #else
            unsafe pthread_detach(thread!)
        #endif
    }

    private func run() {
        blockSignals()
        var attempt = 0
        let begun = Clock.now()
        while awaitDemand() {
            do throws(KuraError) {
                try open()
                let start = Clock.now()
                serve()
                if Clock.now() - start >= Self.steadyTime {
                    attempt = 0
                    continue
                }
                // A daemon that lets everybody in and drops them is not asked without a pause.
                attempt = min(attempt, 3)
            } catch {
                guard failed(error, since: begun) else { break }
            }
            pause(attempt)
            attempt += 1
        }
        end()
    }

    /// Signals are the application's.
    ///
    /// Safety: the set is ours, and filled before it is used.
    private func blockSignals() {
        var all = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
    }

    // MARK: Connecting

    /// Waits until somebody wants a connection.
    /// - Returns: false when the client has been closed.
    private func awaitDemand() -> Bool {
        while true {
            let (isClosed, isWanted) = lock.withLock { _ in
                pump()
                return (phase == .closed, firstOutcome == nil || queueHead != nil || !subscriptions.isEmpty)
            }
            if isClosed { return false }
            if isWanted { return true }
            _ = sleep(nil, until: .max)
        }
    }

    /// Nobody could be connected to: those whose patience is over are told.
    /// - Returns: false when there is no use in trying again.
    private func failed(_ error: KuraError, since begun: Int64) -> Bool {
        let now = Clock.now()
        expire(now)
        let mayComeBack =
            switch error.kind {
            case .badPath, .versionMismatch, .closed: false
            default: true
            }
        let goesOn = lock.withLock { _ in
            lastFailure = error
            if firstOutcome == nil {
                if mayComeBack, now - begun < Clock.nanoseconds(options.wait) { return true }
                resolveFirst(error)
                return false
            }
            var call = queueHead
            queueHead = nil
            queueTail = nil
            while let next = call {
                call = next.next
                next.next = nil
                if next.isAbandoned || !mayComeBack || now - next.queuedAt >= patience {
                    give(next, .failed, error)
                } else {
                    if let tail = queueTail { tail.next = next } else { queueHead = next }
                    queueTail = next
                }
            }
            if !mayComeBack {
                for subscription in subscriptions.values { fail(subscription, error) }
            }
            return true
        }
        wakeAll()
        tellFirst()
        return goesOn
    }

    /// Waits before the next attempt: 20 ms at first, a second at most, and not as long as others do who were lost with us.
    private func pause(_ attempt: Int) {
        let longest = Self.longestPause(attempt)
        let limit = Clock.now() + longest / 2 + Int64.random(in: 0...longest / 2)
        while true {
            let now = Clock.now()
            let isClosed = lock.withLock { _ in phase == .closed }
            if now >= limit || isClosed { return }
            _ = sleep(nil, until: limit)
        }
    }

    /// Nanoseconds.
    static func longestPause(_ attempt: Int) -> Int64 {
        let longest: Int64 = 20_000_000 << min(attempt, 6)
        return min(longest, 1_000_000_000)
    }

    func resolveFirst(_ error: KuraError?) {
        if firstOutcome == nil { firstOutcome = .some(error) }
    }

    func tellFirst() {
        let (waiter, outcome) = lock.withLock { _ in
            guard let outcome = firstOutcome, let waiter = firstConnection else {
                return (nil as Waiter<KuraError?>?, nil as KuraError?)
            }
            firstConnection = nil
            return (waiter, outcome)
        }
        waiter?.resume(outcome)
    }

    /// Returns when the first connection is there, or has failed.
    func awaitFirst() async -> KuraError? {
        await wait { waiter in
            lock.withLock { _ in firstConnection = waiter }
            tellFirst()
        }
    }

    // MARK: Serving

    private func serve() {
        // Those that have waited for this connection are watched as well.
        expire(Clock.now())
        while true {
            let (current, isClosed) = lock.withLock { _ in (socket, phase == .closed) }
            guard let current, !isClosed else { return lost() }
            let until = lock.withLock { _ in sleepsUntil }
            if sleep(current, until: until), !receive(current) { return lost() }
            do throws(KuraError) { try takeLines() } catch { return lost(error) }
            if lock.withLock({ _ in isBlocked }) { resumeSending() }
            let now = Clock.now()
            if now >= until { expire(now) }
            if !received.isEmpty, received.capacity > 4 << 20, received.count < 1 << 20 {
                received.shrink(leaving: Self.readBytes)
            }
            flush()
        }
    }

    /// Sleeps until something comes, the pipe is written to, the socket takes more of what waits, or the time is over.
    /// - Returns: whether there is something to read, or the end.
    func sleep(_ shared: SharedSocket?, until: Int64) -> Bool {
        let wantsRoom = lock.withLock { _ in isBlocked }
        let events = Int16(POLLIN) | (wantsRoom ? Int16(POLLOUT) : 0)
        var waits = [
            pollfd(fd: pipe.output, events: Int16(POLLIN), revents: 0),
            pollfd(fd: shared?.socket.descriptor ?? -1, events: events, revents: 0),
        ]
        let left = until == .max ? -1 : max(0, (until - Clock.now() + 999_999) / 1_000_000)
        // Safety: there are two of them.
        guard unsafe poll(&waits, 2, Int32(clamping: left)) > 0 else { return false }
        if waits[0].revents != 0 {
            pipe.drain()
            lock.withLock { _ in isWakePending = false }
        }
        return waits[1].revents & ~Int16(POLLOUT) != 0
    }

    /// - Returns: false at the end.
    func receive(_ shared: SharedSocket) -> Bool {
        if bringsSecrets.load(ordering: .relaxed) { received.wipes = true }
        received.reserve(Self.readBytes)
        switch shared.socket.receive(into: &received, queue: &descriptors) {
        case .bytes, .nothing: return true
        case .end, .failed: return false
        }
    }

    func forgetInput() {
        if received.capacity > 4 << 20 { received.releaseMemory() } else { received.removeAll() }
        scanned = 0
        descriptors.removeAll()
    }

    /// Lines that are looked at before those whom they concern are woken: they go on meanwhile.
    private static let linesAtOnce = 32

    private func takeLines() throws(KuraError) {
        var start = 0
        var isMore = true
        while isMore {
            isMore = false
            var fault: KuraError?
            lock.withLock { _ in
                for _ in 0..<Self.linesAtOnce {
                    guard let newline = received.bytes.firstIndex(of: 0x0A, from: max(start, scanned)) else {
                        scanned = received.count
                        return
                    }
                    do throws(KuraError) { try take(line: received.bytes(start..<newline)) } catch {
                        fault = error
                        return
                    }
                    start = newline + 1
                    scanned = start
                }
                isMore = true
            }
            lock.withLock { _ in pump() }
            wakeAll()
            if let fault { throw fault }
        }
        received.removeFirst(start)
        scanned -= start
        closeUnasked()
        try checkLine(scanned)
    }

    /// Closes descriptors that no call under way is to have: the next that wants one would take them for its own. With them ends what was lost, since
    /// none is left that could be taken for another.
    private func closeUnasked() {
        guard !descriptors.isEmpty, lock.withLock({ _ in wanting == 0 }) else { return }
        descriptors.removeAll()
    }

    /// - Parameter bytes: what has come of a line that has not ended.
    /// - Throws: `badReply` when no daemon's line is so long.
    func checkLine(_ bytes: Int) throws(KuraError) {
        guard bytes <= WireLimits.replyLineBytes else { throw KuraError(.badReply, LineConnection.endlessLine) }
    }

    /// Calls that have waited long enough are told, and subscriptions that were put off begun again.
    func expire(_ now: Int64) {
        lock.withLock { _ in
            var next = now + longestSleep
            for call in calls where (call.phase == .queued || call.phase == .sent) && !call.isAbandoned {
                guard call.deadline <= now else {
                    next = min(next, call.deadline)
                    continue
                }
                if let waiter = abandon(call, .late) { woken.append((waiter, .late)) }
            }
            for subscription in subscriptions.values where subscription.isPutOff {
                if phase == .connected {
                    subscription.isPutOff = false
                    subscribe(subscription)
                }
            }
            pump()
            sleepsUntil = next
        }
        wakeAll()
    }

    /// The connection is no more.
    private func lost(_ failure: KuraError? = nil) {
        lock.withLock { _ in
            if phase == .connected { phase = .apart }
            socket?.socket.shutdown()
            socket = nil
            forgetOutput()
            told = [:]
            for call in calls where call.phase == .sent {
                if let failure { give(call, .failed, failure) } else { give(call, .lost) }
                if call.subscription != nil { recycle(call) }
            }
            for subscription in subscriptions.values {
                subscription.isBegun = false
                // It may be another's over the next connection.
                subscription.number = nil
            }
            sleepsUntil = .max
        }
        forgetInput()
        wakeAll()
    }

    // MARK: The end

    /// The client is closed, or never came to be.
    private func end() {
        let failure = KuraError(.closed, "the client was closed while the call was under way")
        let waiting = lock.withLock { _ in
            phase = .closed
            resolveFirst(KuraError(.closed, "the client was closed"))
            socket = nil
            for call in calls where call.phase == .queued || call.phase == .sent {
                give(call, .failed, failure)
                if call.subscription != nil { recycle(call) }
            }
            queueHead = nil
            queueTail = nil
            for subscription in subscriptions.values { finish(subscription) }
            subscriptions = [:]
            hasEnded = true
            let waiting = endings
            endings = []
            return waiting
        }
        wakeAll()
        tellFirst()
        for waiter in waiting { waiter.resume() }
    }

    /// Has the thread end everything. From anywhere.
    func close() {
        lock.withLock { _ in
            phase = .closed
            hurry(to: .max)
        }
    }

    /// The same, and returns when it has.
    func closed() async {
        close()
        await wait { (waiter: Waiter<Void>) in
            let isOver = lock.withLock { _ in
                if !hasEnded { endings.append(waiter) }
                return hasEnded
            }
            if isOver { waiter.resume() }
        }
    }
}
