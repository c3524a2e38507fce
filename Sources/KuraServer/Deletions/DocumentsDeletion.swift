import Glibc
import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage
import KuraTransport
import SQLite
import Synchronization

/// Deletes what a selector finds, slice by slice, each a transaction of its own: for more documents than one transaction may take.
///
/// The thread looks for documents and hands them over; the loop deletes a slice a turn, behind the turn's requests. It stops between
/// two slices: when nobody is there any more to hear of it, when it is called off, and when a slice cannot be deleted. What is deleted
/// by then stays deleted.
final class DocumentsDeletion: TransferWork, @unchecked Sendable {
    // Made on the loop. `matched` and what follows it are the thread's alone, `selector` and `staged` the loop's; `state` is guarded.

    /// Documents of a slice; fewer where there is little room.
    private var sliceItems = 256

    let collection: [UInt8]
    /// Which of those that have had this name one after the other.
    let incarnation: UInt32
    /// The loop's own: patterns are asked by one at a time.
    let selector: Selector
    var need: (verbs: Verbs, collection: [UInt8]) { ([.list, .read, .delete], collection) }
    var isInPlace: Bool { true }
    /// What the slice that is in the turn has done.
    var staged = Sums()

    private var matched: MatchedDocuments
    private let milliseconds: Int
    private let configuration: StorageConfiguration
    private let control = Guarded<QueryControl?>(nil)
    private let isCalledOff = Atomic<Bool>(false)
    private let state = Guarded(State())
    private let changed = Semaphore()
    private var sums = Sums()
    private var slices = 0
    private var rev: UInt64?
    private var reportAt: UInt64

    struct Sums: Sendable {
        var deleted = 0
        var cascaded = 0
        var nullified = 0
    }

    enum Verdict: Sendable {
        case stored(rev: UInt64, Sums)
        case cold(ColdLook)
        /// An index of a reference is being built.
        case later
        case failed(DocumentsError)
    }

    private struct State {
        enum Phase {
            case idle
            /// The loop may take the slice.
            case offered
            /// It is in the turn that is under way.
            case taken
            case judged(Verdict)
        }
        var slice: [MatchedDocument] = []
        var phase = Phase.idle
    }

    /// `matched`: the first documents, and where to go on. `milliseconds`: that looking for more may take each time.
    init(
        _ collection: [UInt8], _ incarnation: UInt32, _ matched: MatchedDocuments, _ selector: Selector,
        milliseconds: Int, _ configuration: StorageConfiguration
    ) {
        self.collection = collection
        self.incarnation = incarnation
        self.matched = matched
        self.selector = selector
        self.milliseconds = milliseconds
        self.configuration = configuration
        reportAt = configuration.clock.monotonic + 500_000_000
    }

    // MARK: The thread

    func run(_ channel: TransferChannel) -> TransferOutcome {
        do throws(DocumentsError) { try deleteAll(channel) } catch {
            let wasCalledOff = error == .engine(.cancelled) && isCalledOff.load(ordering: .relaxed)
            let error = wasCalledOff ? .engine(.interrupted) : error
            return TransferOutcome(answer: .store(error), deleted: sums.deleted, rev: rev)
        }
        var text = ByteBuffer()
        text.openObject()
        text.append(.deleted, sums.deleted)
        text.append(.slices, slices)
        text.append(cascaded: sums.cascaded, nullified: sums.nullified)
        return TransferOutcome(answer: .result(Array(text.bytes)), deleted: sums.deleted, rev: rev)
    }

    private func deleteAll(_ channel: TransferChannel) throws(DocumentsError) {
        let tables: TableReader
        do throws(EngineError) {
            tables = try TableReader(configuration) { channel.interruption.isInterrupted }
        } catch { throw .engine(error) }
        while true {
            var left = matched.found[...]
            while !left.isEmpty {
                let slice = left.prefix(sliceItems)
                do throws(DocumentsError) { try delete(Array(slice), tables, channel) } catch {
                    guard case .engine(.tooLargeForRoom) = error, slice.count > 1 else { throw error }
                    sliceItems = slice.count / 2
                    continue
                }
                left = left.dropFirst(slice.count)
                report(channel)
            }
            let control = QueryControl(milliseconds: milliseconds, configuration.clock)
            guard let next = matched.following(control) else { return }
            self.control.withLock { $0 = control }
            if channel.interruption.isInterrupted { throw .engine(.cancelled) }
            do throws(QueryError) { try next.run(tables) } catch {
                // What was left of it went with the collection.
                if error == .indexGone { return }
                // The caller looks for `.cancelled`: what the engine refuses is wrapped once.
                if case .engine(let error) = error { throw .engine(error) }
                throw .query(error)
            }
            matched = next
        }
    }

    /// Has a slice deleted, and waits until it is in the log.
    private func delete(
        _ slice: [MatchedDocument], _ tables: TableReader, _ channel: TransferChannel
    ) throws(DocumentsError) {
        while true {
            if channel.interruption.isInterrupted { throw .engine(.cancelled) }
            state.withLock { $0 = State(slice: slice, phase: .offered) }
            channel.wakeLoop()
            switch verdict(channel) {
            case .stored(let rev, let sums):
                self.sums.deleted += sums.deleted
                self.sums.cascaded += sums.cascaded
                self.sums.nullified += sums.nullified
                if sums.deleted > 0 {
                    slices += 1
                    self.rev = rev
                }
                return
            case .cold(let look):
                // A failure is no answer: the loop's own look-up meets it again.
                try? tables.warm(look)
            case .later: usleep(20_000)
            case .failed(let error): throw error
            }
        }
    }

    private func verdict(_ channel: TransferChannel) -> Verdict {
        while true {
            let verdict: Verdict? = state.withLock { state in
                switch state.phase {
                case .judged(let verdict):
                    state.phase = .idle
                    return verdict
                case .offered where channel.interruption.isInterrupted:
                    state.phase = .idle
                    return .failed(.engine(.cancelled))
                case .idle, .offered, .taken: return nil
                }
            }
            if let verdict { return verdict }
            changed.wait()
        }
    }

    private func report(_ channel: TransferChannel) {
        let time = configuration.clock.monotonic
        guard time >= reportAt else { return }
        reportAt = time + 500_000_000
        channel.report(
            TransferProgress(unit: .documents, done: sums.deleted, total: nil, imported: nil, rev: rev ?? 0))
    }

    // MARK: For the loop

    /// The slice to delete next is there.
    var isOffered: Bool {
        state.withLock { state in if case .offered = state.phase { true } else { false } }
    }

    /// Takes the slice into the turn; `judge` says what became of it.
    func takeSlice() -> [MatchedDocument]? {
        state.withLock { state in
            guard case .offered = state.phase else { return nil }
            state.phase = .taken
            return state.slice
        }
    }

    /// Gives the slice back: another turn may take it.
    func putBack() {
        state.withLock { state in if case .taken = state.phase { state.phase = .offered } }
    }

    func judge(_ verdict: Verdict) {
        state.withLock { state in if case .taken = state.phase { state.phase = .judged(verdict) } }
        changed.signal()
    }

    func callOff() { isCalledOff.store(true, ordering: .relaxed) }

    func cancel() {
        control.withLock { $0?.stop() }
        changed.signal()
    }
}
