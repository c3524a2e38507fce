import Glibc
import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct SemaphoreTests {
    private typealias Semaphore = KuraStorage.Semaphore

    @Test func `a wait ends when its clock says so, whatever the system's does, or with a signal`() throws {
        let time = ManualTime()
        let clock = Clock(time)
        let semaphore = Semaphore()
        #expect(!semaphore.wait(until: clock.deadline(after: 0)))
        let later = clock.deadline(milliseconds: 3_600_000)
        let mover = try WorkerThread(name: "kura-test", isBackground: false) {
            usleep(20_000)
            time.advance(by: 3_600_000_000_000)
        }
        #expect(!semaphore.wait(until: later))
        mover.join()
        semaphore.signal()
        #expect(semaphore.wait(until: clock.deadline(milliseconds: 1)))
        let start = Clock.system.monotonic
        #expect(!semaphore.wait(until: Clock.system.deadline(milliseconds: 30)))
        #expect(Clock.system.monotonic - start >= 30_000_000)
    }
}
