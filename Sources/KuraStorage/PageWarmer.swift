import KuraBytes
import SQLite

/// The reader thread: pulls the pages of documents into the page cache that the loop found missing, by looking them up
/// with a connection that waits. What it reads it throws away: the loop asks again and gets it without waiting, so no
/// stale answer can ever come from here.
final class PageWarmer: Sendable {
    private struct State {
        var requests: [(ticket: UInt64, looks: ArraySlice<ColdLook>)] = []
        var isStopping = false
    }
    private let state = Guarded(State())
    private let done = Outbox<UInt64>()
    private let pending = Semaphore()
    private let thread = OwnedThread(name: "kura-reader", isBackground: false)
    private let path: String
    private let wake: @Sendable () -> Void

    /// `wake`: called when a request is done.
    init(path: String, wake: @escaping @Sendable () -> Void) {
        self.path = path
        self.wake = wake
    }

    func begin() throws(StorageFault) { try thread.begin { [unowned self] in run() } }

    func warm(_ ticket: UInt64, _ look: ColdLook) {
        state.withLock { $0.requests.append((ticket, look.each[...])) }
        pending.signal()
    }

    /// Tickets of the requests that are done; nil when none is.
    func takeDone() -> [UInt64]? { done.take() }

    func stop() {
        state.withLock { $0.isStopping = true }
        pending.signal()
        thread.join()
    }

    /// Looks of a request that are read in before others come in between.
    private static let piece = 16

    private func run() {
        var reader: DocumentReader?
        while true {
            pending.wait()
            let (request, isStopping) = state.withLock { state in
                (state.requests.isEmpty ? nil : state.requests.removeFirst(), state.isStopping)
            }
            guard let request else {
                if isStopping { return }
                continue
            }
            // A failure here is no answer: the loop's own try meets it again and reports it.
            if reader == nil { reader = try? DocumentReader(path: path, mayWait: true) }
            for look in request.looks.prefix(Self.piece) { read(look, reader) }
            let rest = request.looks.dropFirst(Self.piece)
            let isDone = state.withLock { state in
                guard rest.isEmpty || state.isStopping else {
                    state.requests.append((request.ticket, rest))
                    return false
                }
                done.append(request.ticket)
                return true
            }
            if isDone { wake() } else { pending.signal() }
        }
    }

    private func read(_ look: ColdLook, _ reader: DocumentReader?) {
        switch look {
        case .document(let scope, let id): id.withBytes { id in try? reader?.warm(scope: scope, id: id) }
        case .behind(let scope, let id): id.withBytes { id in try? reader?.warm(behind: id, scope: scope) }
        case .index(let number, let key): key.withBytes { key in try? reader?.warm(index: number, key: key) }
        case .referring(let number, let key, let scope):
            key.withBytes { key in try? reader?.warm(referring: number, key: key, scope: scope) }
        case .several(let looks): for look in looks { read(look, reader) }
        }
    }
}
