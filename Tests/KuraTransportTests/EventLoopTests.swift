import Glibc
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
        let threads = Threads(4) { _ in
            let end = nanoseconds() + 1_000_000_000
            while nanoseconds() < end, !lost.load(ordering: .relaxed) {
                let mine = said.add(1, ordering: .sequentiallyConsistent).newValue
                loop.wake()
                let started = nanoseconds()
                while seen.load(ordering: .sequentiallyConsistent) < mine {
                    if nanoseconds() - started > 1_000_000_000 { lost.store(true, ordering: .relaxed); break }
                    sched_yield()
                }
            }
            running.subtract(1, ordering: .sequentiallyConsistent)
            loop.wake()
        }
        var turns = 0
        while running.load(ordering: .sequentiallyConsistent) > 0 {
            // Longer than a thread waits: the time limit only ends a test that has failed.
            loop.wait(timeout: 3000) { _ in }
            seen.store(said.load(ordering: .sequentiallyConsistent), ordering: .sequentiallyConsistent)
            turns += 1
            if lost.load(ordering: .relaxed) { break }
        }
        threads.join()
        let isLost = lost.load(ordering: .relaxed)
        #expect(!isLost, "a wake was lost after \(turns) turns")
        #expect(turns > 100)
    }

    @Test func `a wake in the midst of a turn makes the next wait return at once`() throws {
        let loop = try EventLoop()
        for _ in 0..<3 {
            loop.wake()
            loop.wake()
            let started = nanoseconds()
            loop.wait(timeout: 5000) { _ in Issue.record("a wake is no event") }
            #expect(nanoseconds() - started < 2_000_000_000)
        }
        let started = nanoseconds()
        loop.wait(timeout: 50) { _ in Issue.record("nothing happened") }
        #expect(nanoseconds() - started > 40_000_000)
    }

    @Test func `what a descriptor is ready for comes with its token, until the interest goes`() throws {
        let loop = try EventLoop()
        let pair = Pair()
        try loop.add(pair.left, token: 77, [.read, .write])
        var events: [EventLoop.Event] = []
        loop.wait(timeout: 1000) { events.append($0) }
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
            loop.wait(timeout: 1000) { events.append($0) }
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
        loop.wait(timeout: 1000) { event = $0 }
        #expect(event?.isReadable == true && event?.isClosed == false)
        shutdown(pair.right, Int32(SHUT_RDWR))
        loop.modify(pair.left, token: 5, [])
        loop.wait(timeout: 1000) { event = $0 }
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
