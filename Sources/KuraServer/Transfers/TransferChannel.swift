import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage
import KuraTransport
import SQLite
import Synchronization

/// What a transfer's thread does; the rest of a transfer is the same for all.
protocol TransferWork: AnyObject, Sendable {
    /// Does all of it, on a thread of its own.
    func run(_ channel: TransferChannel) -> TransferOutcome
    /// What its connection has to be granted as long as it goes on, and on which collection.
    var need: (verbs: Verbs, collection: [UInt8]) { get }
    /// Where that is: the documents, unless it is about the daemon as a whole.
    var store: Method.Store { get }
    /// Whether its connection may still ask for it, when roles have changed.
    func mayGoOn(_ permissions: Permissions) -> Bool
    /// The request is answered in its turn: later ones of its connection wait.
    var isInPlace: Bool { get }
    /// `rpc.cancel` ends it.
    var isCancellable: Bool { get }
    /// Ends waits that the channel does not know of. On the loop, while `run` goes on.
    func cancel()
}

extension TransferWork {
    var isInPlace: Bool { false }
    var isCancellable: Bool { false }
    var store: Method.Store { .documents }

    func mayGoOn(_ permissions: Permissions) -> Bool {
        let (verbs, collection) = need
        return collection.withBytes { permissions.allows(verbs, store, $0) }
    }
}

/// How a transfer ended: what its request is answered.
struct TransferOutcome: Sendable {
    enum Answer {
        /// The result object's text without its bracket; `rev` follows.
        case result([UInt8])
        case error(RPCError)
        /// What came before the error is done.
        case store(DocumentsError)
    }
    var answer: Answer
    /// Documents that it has deleted; nil when it deletes none.
    var deleted: Int?
    /// Newest revision that the answer shows; nil when it shows the storage's, as of when it is given.
    var rev: UInt64?
}

/// How far a transfer has come.
struct TransferProgress: Sendable {
    enum Unit: String {
        case bytes, documents, secrets, items
    }
    var unit: Unit
    var done: Int
    var total: Int?
    /// Documents stored so far; an import's.
    var imported: Int?
    /// What it tells is true on the disk when this revision is synced.
    var rev: UInt64
}

/// Why a transfer's thread cannot go on.
enum TransferStop: Error {
    case cancelled
    case store(DocumentsError)
}

/// Who hands batches over, and helps when one cannot be stored as it is. On the transfer's thread.
protocol BatchSource: AnyObject {
    /// Reads what was looked for into the page cache.
    func warm(_ look: ColdLook)
    /// Takes the document at that position out, or it and all behind it.
    /// - Returns: whether later batches are to be stored.
    func refuse(_ position: Int, _ fault: RecordFault, of batch: ImportBatch) -> Bool
    /// No later batch is to be stored.
    var hasEnded: Bool { get }
}

/// Where a transfer's thread and the loop meet. The thread hands batches over and waits; the loop stores them and tells.
final class TransferChannel: Sendable {
    private struct State {
        /// Batches in their order; the first may be in the turn that is under way.
        var queue: [ImportBatch] = []
        /// The first batch's documents are on the disk and not in the page cache: the thread is to read them in.
        var cold: ColdLook?
        /// A document of the first batch cannot be stored: its position, and why.
        var refused: (position: Int, fault: RecordFault)?
        var stored = Stored()
        var failure: DocumentsError?
        var progress: TransferProgress?
        var outcome: TransferOutcome?
    }

    /// What the loop has stored.
    struct Stored {
        var documents = 0
        /// Where to go on, in bytes of the input; nil before the first batch.
        var end: Int?
        var rev: UInt64 = 0
    }

    enum Verdict {
        case stored(rev: UInt64)
        case cold(ColdLook)
        case refused(position: Int, RecordFault)
        case failed(DocumentsError)
    }

    /// Batches that wait at once: one is stored while the next is being made.
    static let queueLimit = 2

    let interruption: Interruption
    private let held = Atomic<Int>(0)
    private let isCalledOff = Atomic<Bool>(false)
    private let isForbidden = Atomic<Bool>(false)
    private let state = Guarded(State())
    private let changed = Semaphore()
    private let wake: @Sendable () -> Void

    init(wake: @escaping @Sendable () -> Void) throws(SystemError) {
        interruption = try Interruption()
        self.wake = wake
    }

    // MARK: For the thread

    /// Hands a batch over; waits while the loop has enough of them. Batches are stored in this order.
    func hand(_ batch: ImportBatch, from source: some BatchSource) throws(TransferStop) {
        try wait(until: Self.queueLimit - 1, source)
        if interruption.isInterrupted || source.hasEnded { throw .cancelled }
        state.withLock { $0.queue.append(batch) }
        wake()
    }

    /// Waits until every batch is stored.
    func settle(_ source: some BatchSource) throws(TransferStop) {
        try wait(until: 0, source)
    }

    private func wait(until count: Int, _ source: some BatchSource) throws(TransferStop) {
        while true {
            let (first, cold, refused, failure) = state.withLock { state in
                (state.queue.first, state.cold, state.refused, state.failure)
            }
            if let failure { throw .store(failure) }
            if let cold {
                source.warm(cold)
                state.withLock { $0.cold = nil }
                wake()
            } else if let first, let refused {
                let goesOn = source.refuse(refused.position, refused.fault, of: first)
                state.withLock { state in
                    if !goesOn { state.queue.removeLast(state.queue.count - 1) }
                    state.refused = nil
                }
                wake()
            } else if state.withLock({ $0.queue.count }) <= count {
                return
            } else {
                changed.wait()
            }
        }
    }

    var stored: Stored { state.withLock { $0.stored } }

    /// Tells how many bytes of memory the thread holds.
    func hold(_ bytes: Int) { held.store(bytes, ordering: .relaxed) }

    /// There is something for the loop to do.
    func wakeLoop() { wake() }

    func report(_ progress: TransferProgress) {
        state.withLock { $0.progress = progress }
        wake()
    }

    /// The thread's last word.
    func end(_ outcome: TransferOutcome) {
        state.withLock { $0.outcome = outcome }
        wake()
    }

    // MARK: For the loop

    /// Bytes of memory that the transfer takes: what the thread holds, and at most as much in batches.
    var footprint: Int { held.load(ordering: .relaxed) * 2 }

    /// The batch to store next.
    var readyBatch: ImportBatch? { state.withLock { $0.cold == nil && $0.refused == nil ? $0.queue.first : nil } }

    /// What became of the batch that `readyBatch` gave.
    func judge(_ verdict: Verdict) {
        state.withLock { state in
            switch verdict {
            case .stored(let rev):
                let batch = state.queue.removeFirst()
                state.stored.documents += batch.count
                state.stored.end = batch.end
                state.stored.rev = rev
            case .cold(let look):
                state.cold = look
            case .refused(let position, let fault):
                state.refused = (position, fault)
            case .failed(let error):
                state.queue = []
                state.failure = error
            }
        }
        changed.signal()
    }

    func takeProgress() -> TransferProgress? {
        state.withLock { state in
            defer { state.progress = nil }
            return state.progress
        }
    }

    var outcome: TransferOutcome? { state.withLock { $0.outcome } }

    func cancel() {
        interruption.raise()
        changed.signal()
    }

    /// From now on it ends because its client has asked for that, and not because the daemon stops.
    func callOff() { isCalledOff.store(true, ordering: .relaxed) }

    /// From now on it ends because its role may not have it done any more.
    func forbid() { isForbidden.store(true, ordering: .relaxed) }

    /// What the request is answered: `forbidden` or `cancelled` when that is why it has ended.
    func judged(_ outcome: TransferOutcome) -> TransferOutcome {
        let hasLostRight = isForbidden.load(ordering: .relaxed)
        guard case .error(let error) = outcome.answer, [.shuttingDown, .cancelled].contains(error.kind),
            hasLostRight || isCalledOff.load(ordering: .relaxed)
        else { return outcome }
        var judged =
            hasLostRight
            ? RPCError(.forbidden, hint: "the role has lost the right to it meanwhile") : RPCError(.cancelled)
        judged.offset = error.offset
        return TransferOutcome(answer: .error(judged), deleted: outcome.deleted, rev: outcome.rev)
    }
}
