import Glibc

// Safety: `free` is a ring of as many places as there are connections, and each is in it once at most.

/// The open loop: requests leave at their times, whether or not the server keeps up.
extension Generator {
    /// How long after the last intended time the requests still waiting for a free connection are sent.
    private static var grace: UInt64 { 5_000_000_000 }

    mutating func runOpenLoop(from start: UInt64) throws {
        let period = 1e9 / plan.options.rate
        let due = requestLimit < Int.max ? requestLimit : Int(plan.options.seconds * plan.options.rate)
        // A ring of the connections with room, each at most once: the load goes round them all.
        let free = UnsafeMutablePointer<Int32>.allocate(capacity: connectionCount)
        defer { unsafe free.deallocate() }
        for index in 0..<connectionCount { unsafe free[index] = Int32(index) }
        var freeHead = 0
        var freeCount = connectionCount

        func intended(_ number: Int) -> UInt64 { start &+ UInt64(Double(number) * period) }
        var next = start
        var silentSince = start
        let end = intended(due) &+ Generator.grace

        while issued < due || inFlight > 0 {
            var now = Clock.now()
            while issued < due && next <= now && freeCount > 0 {
                let index = unsafe Int(free[freeHead])
                append(index, since: next)
                try flush(index)
                freeHead = freeHead &+ 1 == connectionCount ? 0 : freeHead &+ 1
                freeCount &-= 1
                if unsafe connections[index].isOpen {
                    unsafe free[(freeHead &+ freeCount) % connectionCount] = Int32(index)
                    freeCount &+= 1
                }
                next = intended(issued)
                now = Clock.now()
            }
            if issued < due && now > end {
                countUnserved(from: issued, to: due, now: now, intended)
                break
            }
            let pause = issued < due && freeCount > 0 ? next &- min(next, now) : 100_000_000
            let ready = try poller.wait(nanoseconds: pause)
            if ready > 0 { silentSince = now }
            if inFlight > 0 && now &- min(now, silentSince) > Generator.patience {
                throw BenchError.failed("no reply for 30 s")
            }
            for event in 0..<ready {
                let index = poller.index(event)
                let wasOpen = unsafe connections[index].isOpen
                if unsafe connections[index].waitsForRoom { try flush(index) }
                _ = try receive(index)
                if unsafe !wasOpen && connections[index].isOpen {
                    unsafe free[(freeHead &+ freeCount) % connectionCount] = Int32(index)
                    freeCount &+= 1
                }
            }
        }
    }

    /// Requests that never left count with the time they have waited so far: less than their true latency.
    private mutating func countUnserved(from first: Int, to last: Int, now: UInt64, _ intended: (Int) -> UInt64) {
        for number in first..<last {
            let waited = now &- intended(number)
            if percentWrites == 0 { tally.reads.record(waited) } else { tally.writes.record(waited) }
        }
        tally.unserved = UInt64(last - first)
    }
}
