import KuraBytes
import SQLite
import Synchronization

/// Work on the cache's files: made on the loop, run on a cache thread, and looked at on the loop again. It carries its input in and its outcome
/// back, and has one user at any moment.
protocol CacheJob: AnyObject, Sendable {
    func run(_ files: CacheFiles) throws(SQLiteError)
}

/// A job that has been run.
struct CacheOutcome: Sendable {
    var job: any CacheJob
    /// Nothing of what it was to write is there.
    var error: SQLiteError?
    /// Files that were dropped meanwhile, since they were damaged.
    var dropped: [String] = []
    /// Files that a thread which only reads has found damaged.
    var damaged: [String] = []
}

/// A thread that does jobs on the cache's files, in the order in which they come: `kura-cache`, the only writer of cache/*.sqlite and of the names in
/// cache/blobs, and `kura-cacheread`, which looks up for whoever waits.
///
/// Nothing that the loop answers waits for the writer: what waits to be written is bounded in bytes, and beyond that blobs are
/// not stored, and models live in memory only.
package final class CacheThread: Sendable {
    private struct State {
        var jobs: [(job: any CacheJob, bytes: Int)] = []
        var isStopping = false
        var hasEnded = false
    }
    private let state = Guarded(State())
    private let pending = Semaphore()
    private let waitingBytes = Atomic<Int>(0)
    private let done = Outbox<CacheOutcome>()
    private let thread: OwnedThread
    private let makeFiles: @Sendable () -> CacheFiles
    private let wake: @Sendable () -> Void

    /// Bytes of jobs that may wait.
    let limit: Int

    /// `limit`: bytes of jobs that may wait. `makeFiles`: makes the thread's files, on the thread. `wake`: called when a job is done.
    init(
        name: String, isBackground: Bool, limit: Int = .max, makeFiles: @escaping @Sendable () -> CacheFiles,
        wake: @escaping @Sendable () -> Void
    ) {
        self.limit = limit
        self.makeFiles = makeFiles
        self.wake = wake
        thread = OwnedThread(name: name, isBackground: isBackground)
    }

    /// Starts the thread. Jobs that were submitted earlier run now.
    func begin() throws(StorageFault) { try thread.begin { [unowned self] in run(makeFiles()) } }

    // MARK: For the loop

    /// Whether more may wait to be written.
    var admits: Bool { waitingBytes.load(ordering: .relaxed) < limit }
    /// Bytes that wait.
    var waiting: Int { waitingBytes.load(ordering: .relaxed) }

    /// `bytes`: what the job keeps in memory until it is done.
    /// - Returns: false when the thread has ended: nobody does it.
    @discardableResult
    func submit(_ job: any CacheJob, bytes: Int = 0) -> Bool {
        let isTaken = state.withLock { state in
            guard !state.hasEnded else { return false }
            state.jobs.append((job, bytes))
            return true
        }
        guard isTaken else { return false }
        waitingBytes.wrappingAdd(bytes, ordering: .relaxed)
        pending.signal()
        return true
    }

    /// What has been done since this was asked for last; nil when nothing has.
    func takeDone() -> [CacheOutcome]? { done.take() }

    /// Ends the thread after all that was submitted.
    func stop() {
        state.withLock { $0.isStopping = true }
        pending.signal()
        thread.join()
    }

    // MARK: The thread

    private func run(_ files: CacheFiles) {
        while true {
            if let wait = files.wait {
                guard pending.wait(until: files.clock.deadline(milliseconds: wait)) else {
                    shrink(files)
                    continue
                }
            } else {
                pending.wait()
            }
            let (jobs, isStopping) = state.withLock { state in
                defer { state.jobs = [] }
                return (state.jobs, state.isStopping)
            }
            for (job, bytes) in jobs {
                var outcome = CacheOutcome(job: job)
                do throws(SQLiteError) { try job.run(files) } catch { outcome.error = error }
                files.dropDamaged()
                outcome.dropped = files.takeDropped()
                outcome.damaged = files.takeDamaged()
                waitingBytes.wrappingSubtract(bytes, ordering: .relaxed)
                done.append(outcome)
            }
            if !jobs.isEmpty {
                files.noteChanged()
                wake()
            }
            guard isStopping else { continue }
            let hasEnded = state.withLock { state in
                state.hasEnded = state.jobs.isEmpty
                return state.hasEnded
            }
            if hasEnded { break }
        }
        files.endCompactions()
        files.closeAll()
    }

    /// A piece of what is done while there are no jobs.
    private func shrink(_ files: CacheFiles) {
        let job = CacheShrunk()
        var outcome = CacheOutcome(job: job)
        job.run(files)
        files.dropDamaged()
        outcome.dropped = files.takeDropped()
        guard !outcome.dropped.isEmpty else { return }
        done.append(outcome)
        wake()
    }
}
