import Glibc
import KuraBytes
import Synchronization
import Testing

@testable import KuraTransport

@Suite struct EventLoopTests {
    @Test func `a wake from another thread is never lost`() throws {
        let loop = try EventLoop()
        loop.adoptThread()
        // Each thread says its number, wakes, and waits until the loop has seen it: a lost wake stops everything.
        let said = Atomic<Int>(0)
        let seen = Atomic<Int>(0)
        let running = Atomic<Int>(4)
        let lost = Atomic<Bool>(false)
        let turns = Atomic<Int>(0)
        let threads = Threads(4) { _ in
            // For a second, and longer where the loop has hardly had its turns.
            let begun = nanoseconds()
            func goesOn() -> Bool {
                let spent = nanoseconds() - begun
                return spent < 1_000_000_000 || spent < 60_000_000_000 && turns.load(ordering: .relaxed) <= 100
            }
            while goesOn(), !lost.load(ordering: .relaxed) {
                let mine = said.add(1, ordering: .sequentiallyConsistent).newValue
                loop.wake()
                let started = nanoseconds()
                while seen.load(ordering: .sequentiallyConsistent) < mine {
                    if nanoseconds() - started > 60_000_000_000 { lost.store(true, ordering: .relaxed); break }
                    sched_yield()
                }
            }
            running.subtract(1, ordering: .sequentiallyConsistent)
            loop.wake()
        }
        while running.load(ordering: .sequentiallyConsistent) > 0 {
            // Longer than a thread waits: the time limit only ends a test that has failed.
            loop.wait(timeout: 90_000) { _ in }
            seen.store(said.load(ordering: .sequentiallyConsistent), ordering: .sequentiallyConsistent)
            turns.add(1, ordering: .relaxed)
            if lost.load(ordering: .relaxed) { break }
        }
        threads.join()
        let isLost = lost.load(ordering: .relaxed)
        let count = turns.load(ordering: .relaxed)
        #expect(!isLost, "a wake was lost after \(count) turns")
        #expect(count > 100)
    }

    @Test func `a wake in the midst of a turn makes the next wait return at once`() throws {
        let loop = try EventLoop()
        for _ in 0..<3 {
            loop.wake()
            loop.wake()
            let started = nanoseconds()
            loop.wait(timeout: 600_000) { _ in Issue.record("a wake is no event") }
            #expect(nanoseconds() - started < 60_000_000_000)
        }
        let started = nanoseconds()
        loop.wait(timeout: 50) { _ in Issue.record("nothing happened") }
        #expect(nanoseconds() - started > 40_000_000)
    }

    @Test func `while the time stands still a loop waits until somebody moves it`() throws {
        let time = ManualTime()
        let loop = try EventLoop(busyPollMicroseconds: 1000, clock: Clock(time))
        let started = nanoseconds()
        let mover = Threads(1) { _ in
            usleep(50_000)
            time.advance(by: 1)
        }
        loop.wait(timeout: 1) { _ in Issue.record("a wake is no event") }
        #expect(nanoseconds() - started > 40_000_000)
        mover.join()
        loop.wait(timeout: 0) { _ in Issue.record("nothing happened") }
    }

    @Test func `a loop looks before it sleeps while that pays, and not for longer`() throws {
        var polling = BusyPolling(microseconds: 50)
        try #require(polling.span == 50_000, "this host has one processor")
        #expect(!polling.isWorthwhile)
        for _ in 0..<8 { polling.note(slept: 100_000) }
        #expect(polling.isWorthwhile, "eight short sleeps")
        for _ in 0..<100 { polling.note(found: true) }
        for _ in 0..<3 { polling.note(found: false) }
        #expect(!polling.isWorthwhile, "three times in vain, whatever was before")
        for _ in 0..<8 { polling.note(slept: 100_000) }
        for _ in 0..<4 { polling.note(slept: 200_000) }
        #expect(!polling.isWorthwhile, "sleeps that were too long to be looked through")
        var never = BusyPolling(microseconds: 0)
        for _ in 0..<100 { never.note(slept: 1000) }
        #expect(!never.isWorthwhile)
    }

    @Test func `a loop that looks finds descriptors and wakes as one that sleeps does, and waits as long`() throws {
        let loop = try EventLoop(busyPollMicroseconds: 1000)
        let pair = Pair()
        try loop.add(pair.left, token: 7, .read)
        for round in 0..<200 {
            if round % 2 == 0 { _ = write(pair.right, "x", 1) } else { loop.wake() }
            var events = 0
            loop.wait(timeout: 60_000) { event in
                #expect(event.token == 7)
                events += 1
            }
            #expect(events == 1 - round % 2)
            var byte: UInt8 = 0
            if round % 2 == 0 { _ = read(pair.left, &byte, 1) }
        }
        // It has learnt to look; with nothing to find it still waits for as long as it was told, and no longer.
        let started = nanoseconds()
        loop.wait(timeout: 50) { _ in Issue.record("nothing happened") }
        let waited = nanoseconds() - started
        #expect(waited > 40_000_000 && waited < 60_000_000_000)
    }

    @Test func `what a descriptor is ready for comes with its token, until the interest goes`() throws {
        let loop = try EventLoop()
        let pair = Pair()
        try loop.add(pair.left, token: 77, [.read, .write])
        var events: [EventLoop.Event] = []
        loop.wait(timeout: 60_000) { events.append($0) }
        #expect(events.map(\.token) == [77])
        #expect(events[0].isWritable && !events[0].isReadable && !events[0].isClosed)
        loop.modify(pair.left, token: 78, .read)
        events = []
        loop.wait(timeout: 0) { events.append($0) }
        #expect(events.isEmpty)
        #expect(write(pair.right, "x", 1) == 1)
        for _ in 0..<2 {
            // Level-triggered: as long as it is not read it comes up again.
            events = []
            loop.wait(timeout: 60_000) { events.append($0) }
            #expect(events.map(\.token) == [78] && events[0].isReadable)
        }
        loop.remove(pair.left)
        events = []
        loop.wait(timeout: 0) { events.append($0) }
        #expect(events.isEmpty)
    }

    @Test func `a half close is readable, a full one is closed`() throws {
        let loop = try EventLoop()
        let pair = Pair()
        try loop.add(pair.left, token: 5, .read)
        shutdown(pair.right, Int32(SHUT_WR))
        var event: EventLoop.Event?
        loop.wait(timeout: 60_000) { event = $0 }
        #expect(event?.isReadable == true && event?.isClosed == false)
        shutdown(pair.right, Int32(SHUT_RDWR))
        loop.modify(pair.left, token: 5, [])
        loop.wait(timeout: 60_000) { event = $0 }
        #expect(event?.isClosed == true)
    }

    @Test func `only the thread that adopted the loop is its own`() throws {
        let loop = try EventLoop()
        loop.adoptThread()
        #expect(loop.isIsolatingCurrentContext() == true)
        let elsewhere = Atomic<Bool>(true)
        Threads(1) { _ in elsewhere.store(loop.isIsolatingCurrentContext() ?? true, ordering: .relaxed) }.join()
        let isElsewhere = elsewhere.load(ordering: .relaxed)
        #expect(!isElsewhere)
    }
}
