import Glibc
import KuraBytes
import Synchronization
import Testing

@testable import KuraStorage

@Suite struct ContentPoolTests {
    private let directory = TemporaryDirectory()
    private typealias Semaphore = KuraStorage.Semaphore
    private let answered = Semaphore()

    /// A copy whose pieces are the test's.
    private final class Copy: PiecewiseCopy, @unchecked Sendable {
        // Used by one thread at a time, as the pool sees to.
        let foreign: ForeignCalls?
        let pieces = Atomic<Int>(0)
        let isStopped = Atomic<Bool>(false)
        private let piece: (Copy) -> Bool

        init(isForeign: Bool = true, _ piece: @escaping (Copy) -> Bool) {
            foreign = isForeign ? ForeignCalls(.system) : nil
            self.piece = piece
        }

        var foldedTo: UInt64 { 0 }
        func stop() { isStopped.store(true, ordering: .relaxed) }

        func advance(_ isEnding: () -> Bool) -> Bool {
            pieces.add(1, ordering: .relaxed)
            guard !isStopped.load(ordering: .relaxed), !isEnding() else { return false }
            return piece(self)
        }

        /// Inside of a call on what a client has passed, until the semaphore is signalled.
        static func hanging(until gate: Semaphore) -> Copy {
            Copy { copy in
                copy.foreign!.call { gate.wait() }
                return true
            }
        }

        /// Has always more to do.
        static func endless() -> Copy {
            Copy { copy in
                copy.foreign!.call { _ = usleep(1000) }
                return true
            }
        }

        static func short() -> Copy { Copy { copy in copy.foreign!.call { false } } }

        /// Of what a client has passed, which is not asked for anything: however late its thread is, no call is given up.
        static func silent() -> Copy { Copy { _ in false } }
    }

    private final class Lines: Sendable {
        let all = Mutex<[String]>([])
    }
    private let lines = Lines()

    private func makePool(_ times: ContentPool.Times = ContentPool.Times()) -> ContentPool {
        ContentPool(.tiny(directory.path), times: times, wake: { [answered] in answered.signal() }) { [lines] line in
            lines.all.withLock { $0.append(line) }
        }
    }

    /// What is answered next, while the pool is looked after as the loop does.
    private func next(_ pool: ContentPool) throws -> [QueryAnswer] {
        let deadline = monotonicNanoseconds() + 60_000_000_000
        while monotonicNanoseconds() < deadline {
            _ = pool.tend(at: monotonicNanoseconds())
            if let done = pool.takeDone() { return done }
            _ = answered.wait(until: Clock.system.deadline(milliseconds: 10))
        }
        Issue.record("nothing is answered")
        throw CancellationError()
    }

    /// So that a call is given up at once.
    private static let hasty = ContentPool.Times(patience: 1_000_000, limit: 20_000_000, stop: 1_000_000)
    /// So that none is given up.
    private static let patient = ContentPool.Times(patience: 1_000_000, limit: .max, stop: 1_000_000)

    @Test func `a short copy waits for a piece of the long ones, and not for their end`() throws {
        let pool = makePool()
        let long = (1...12).map { _ in Copy.endless() }
        for (number, copy) in long.enumerated() { pool.submit(copy, ticket: UInt64(number), of: 1) }
        // Of the same user, and of another one.
        for user in [UInt32(1), 2] {
            pool.submit(Copy.short(), ticket: 100, of: user)
            #expect(try next(pool).map(\.ticket) == [100])
        }
        // All of the long ones have their turns.
        while long.contains(where: { $0.pieces.load(ordering: .relaxed) < 3 }) { usleep(1000) }
        pool.stop()
    }

    @Test func `calls that hang hold up no other user, and are answered`() throws {
        let pool = makePool(Self.hasty)
        let gate = Semaphore()
        for ticket in UInt64(1)...3 { pool.submit(Copy.hanging(until: gate), ticket: ticket, of: 1) }
        var told: [UInt64: QueryError] = [:]
        while told.count < 3 {
            for answer in try next(pool) { told[answer.ticket] = answer.error }
        }
        // The third was not begun.
        #expect(told.values.count { $0 == .unresponsive } == ContentPool.asideLimit)
        #expect(told.values.count { $0 == .hanging } == 1)
        #expect(lines.all.withLock { $0.count } == ContentPool.asideLimit)
        // Nor is another one, while another user's is.
        pool.submit(Copy.silent(), ticket: 4, of: 1)
        #expect(try next(pool).map(\.error) == [.hanging])
        pool.submit(Copy.silent(), ticket: 5, of: 2)
        let answer = try #require(try next(pool).first)
        #expect(answer.ticket == 5 && answer.error == nil)
        // What is no stranger's file is read for everybody.
        pool.submit(Copy(isForeign: false) { _ in false }, ticket: 6, of: 1)
        #expect(try next(pool).first?.error == nil)
        for _ in 0..<2 { gate.signal() }
        // The calls have returned: the user is served again.
        var error: QueryError? = .hanging
        while error != nil {
            pool.submit(Copy.silent(), ticket: 7, of: 1)
            error = try next(pool).first?.error
        }
        pool.stop()
    }

    @Test func `a user's calls that hang for a while leave threads to others at once`() throws {
        let pool = makePool(Self.patient)
        let gate = Semaphore()
        for user in UInt32(1)...8 {
            for ticket in 0..<3 {
                pool.submit(Copy.hanging(until: gate), ticket: UInt64(user) * 10 + UInt64(ticket), of: user)
            }
        }
        pool.submit(Copy.short(), ticket: 1, of: 9)
        #expect(try next(pool).map(\.ticket) == [1])
        for _ in 0..<100 { gate.signal() }
        pool.stop()
    }

    @Test func `what its client does not want any more is not begun, or ends with its piece`() throws {
        let pool = makePool(Self.patient)
        let long = Copy.endless()
        pool.submit(long, ticket: 1, of: 1)
        while long.pieces.load(ordering: .relaxed) < 2 { usleep(1000) }
        #expect(pool.cancel(1))
        #expect(try next(pool).map(\.ticket) == [1])
        let gate = Semaphore()
        for ticket in UInt64(2)...4 { pool.submit(Copy.hanging(until: gate), ticket: ticket, of: 1) }
        #expect(pool.cancel(4) && !pool.cancel(5))
        #expect(try next(pool).map(\.error) == [.engine(.interrupted)])
        for _ in 0..<100 { gate.signal() }
        pool.stop()
    }

    @Test func `the end does not wait for a call that hangs`() throws {
        let pool = makePool(Self.patient)
        let gate = Semaphore()
        let hanging = Copy.hanging(until: gate)
        pool.submit(hanging, ticket: 1, of: 1)
        while hanging.foreign!.since == 0 { usleep(1000) }
        pool.stop()
        gate.signal()
        #expect(pool.takeDone() == nil)
    }
}
