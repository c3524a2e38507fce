import KuraBytes
import KuraProtocol
import KuraStorage

/// A reply that is made of many items, of which a bounded piece is made in a turn.
///
/// What a thousand items cost is known when they have been looked up: tens of milliseconds when they are large. So after a moment
/// the handler pauses; what it has stays in the output (`ConnectionState.Gathering`), and in the next turn the request is begun
/// again behind the last item. All of it is as of the moment when it was begun, and bears that revision: when an item turns out to
/// have changed since, the reply is begun anew, a few times at most.
struct GatheredReply {
    private(set) var state: ConnectionState.Gathering
    /// Nothing of it stands in the output yet.
    let isNew: Bool
    private let began: UInt64
    /// Looks at the clock are as far apart as this.
    private var looks = 0
    private var hasAdvanced = false

    /// Nanoseconds of one piece.
    private static let sliceTime: UInt64 = 75_000
    private static let looksBetween = 16
    /// Bytes of an item that count as one more.
    private static let bytesPerLook = 4 << 10
    /// With less the request is begun anew when it has to wait: that is no more than it costs to keep.
    private static let keptBytes = 64 << 10

    private static let mostRestarts = 8

    /// `basis`: what decides about the reply besides the items.
    init(_ call: Call, basis: AnyObject? = nil, _ storage: isolated Storage) {
        began = call.clock.monotonic
        let kept = call.connection?.state.gathering
        isNew = kept == nil
        state = kept ?? ConnectionState.Gathering(outputPosition: 0, rev: storage.rev)
        if isNew { state.basis = basis }
        call.shows(state.shown)
    }

    /// The reply's text before the first item is there.
    mutating func opened(_ end: Int, _ call: Call) { state.opened = end - call.attempt.replyStart }

    /// What is about to be added changed last at `rev`.
    /// - Throws: `.waits` when that is not as of the reply's moment, or `basis` is not the one that it was begun with;
    ///   `overloaded` when that was so too often.
    mutating func checkMoment(
        _ rev: UInt64, basis: AnyObject? = nil, _ out: inout ByteBuffer, _ call: Call, _ storage: isolated Storage
    ) throws(Refusal) {
        guard !isNew, rev > state.rev || basis !== state.basis, let connection = call.connection else { return }
        guard state.restarts < Self.mostRestarts else {
            throw .error(
                RPCError(.overloaded, hint: "what was asked for changes while it is read: ask for fewer at once"))
        }
        out.truncate(to: call.attempt.replyStart + state.opened)
        state = ConnectionState.Gathering(
            outputPosition: state.outputPosition, rev: storage.rev, opened: state.opened, restarts: state.restarts + 1,
            basis: basis)
        connection.state.gathering = state
        throw .waits(.turn)
    }

    /// Before an item.
    /// - Throws: `.waits` when the time is over.
    mutating func checkTime(_ end: Int, aside: borrowing ByteBuffer, _ call: Call) throws(Refusal) {
        guard looks >= Self.looksBetween else { return }
        looks = 0
        guard hasAdvanced, call.clock.monotonic - began > Self.sliceTime else { return }
        keep(end, aside: aside, call)
        throw .waits(.turn)
    }

    /// An item is done with.
    /// `bytes`: that it has added.
    mutating func advance(_ bytes: Int) {
        state.done += 1
        hasAdvanced = true
        looks += 1 + bytes / Self.bytesPerLook
    }

    mutating func addedFirst() { state.isFirst = false }

    /// The request has to wait for a page: what it has stays when that is much.
    mutating func keepIfMuch(_ end: Int, aside: borrowing ByteBuffer, _ call: Call) {
        if !isNew || end - call.attempt.replyStart > Self.keptBytes { keep(end, aside: aside, call) }
    }

    /// The same when making it again costs more than it takes.
    mutating func keepWhatThereIs(_ end: Int, aside: borrowing ByteBuffer, _ call: Call) {
        keep(end, aside: aside, call)
    }

    private mutating func keep(_ end: Int, aside: borrowing ByteBuffer, _ call: Call) {
        // A request that is answered ahead of another one has no place of its own to go on from.
        guard let connection = call.connection, !call.attempt.isAhead else { return }
        state.outputPosition = connection.sending.position(of: call.attempt.replyStart)
        state.aside = Array(aside.bytes)
        state.shown = call.shown
        connection.state.gathering = state
    }

    /// Before `bytes` are added that stand for one item; a single item may have any length.
    /// - Throws: `replyTooLarge`, `overloaded`.
    func checkRoom(for bytes: Int, _ end: Int, _ call: Call) throws(Refusal) {
        let limit = call.server.limits.replyBytes
        // The replies of a batch are one.
        let batch = call.connection.flatMap { connection in
            connection.state.batch.map { connection.sending.index(of: $0.outputPosition) }
        }
        guard state.isFirst || end - (batch ?? call.attempt.replyStart) + bytes <= limit else {
            throw .error(RPCError(.replyTooLarge, limit: limit))
        }
        // What it has from earlier turns has been counted.
        if !isNew { try call.refuseWhenTight() }
        try call.refuseUnlessRoom(for: bytes)
    }
}

extension Call {
    /// - Throws: `overloaded` when there is no memory for what the request would take.
    func refuseWhenTight() throws(Refusal) {
        if server.buffers.isTight { throw noMemory() }
    }

    /// Before a large value is copied into the reply.
    /// - Throws: `overloaded` when there is no memory for it.
    func refuseUnlessRoom(for bytes: Int) throws(Refusal) {
        guard bytes > BufferBudget.small, !server.buffers.admits(bytes, holding: BufferBudget.small) else { return }
        throw noMemory()
    }

    private func noMemory() -> Refusal {
        server.buffers.refused += 1
        return .error(RPCError(.overloaded, hint: BufferBudget.hint, limit: server.buffers.limit))
    }
}
