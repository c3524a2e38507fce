import KuraBytes
import KuraProtocol
import KuraStorage

/// The first request of a connection that waits, as `rpc.cancel` knows it.
struct WaitingRequest {
    /// As it was written.
    private var id: [UInt8] = []
    /// What `Storage` runs for it; nil when it waits for something else.
    var ticket: UInt64?
    /// `rpc.cancel` has ended its wait: when it is begun again, it is answered `cancelled`.
    private(set) var isCalledOff = false

    func isNamed(_ id: Bytes) -> Bool { self.id.withBytes { $0.equals(id) } }

    mutating func begin(_ id: Bytes) {
        self.id = Array(id)
        isCalledOff = false
    }

    mutating func end() { isCalledOff = false }

    /// Ends a wait that nothing has been begun for: the request has had no effect, and has none later.
    /// - Returns: whether it was such a wait.
    mutating func callOff(_ wait: ConnectionState.Wait, _ storage: isolated Storage) -> Bool {
        // Twice in a turn, or again in one that was taken back.
        guard !isCalledOff else { return true }
        switch wait {
        case .room, .slot, .page: isCalledOff = true
        case .answer(let ticket): isCalledOff = storage.abandon(ticket)
        case .transfer, .none: return false
        }
        return isCalledOff
    }
}

extension Connection {
    /// The request that has just been read waits. One behind it that has to wait as well is begun again in its turn.
    func waits(for cause: ConnectionState.Wait, _ id: Bytes) {
        if state.wait == .none { waiting.begin(id) }
        state.wait = cause
    }
}

extension Server {
    /// The request whose wait `rpc.cancel` has ended is begun again, whatever it has waited for.
    func resume(_ connection: Connection) {
        switch connection.state.wait {
        case .room, .slot, .page, .answer: waits.remove(connection.token)
        case .transfer, .none: return
        }
        connection.state.wait = .none
        connection.waiting.ticket = nil
        connection.hasMore = true
    }

    /// Answers the request whose wait has been ended. It has brought no descriptor: none is answered ahead of one that has.
    func refuseCalledOff(_ connection: Connection, _ out: inout ByteBuffer) {
        connection.waiting.end()
        connection.dropAnswer()
        connection.waits = []
        facts.requests += 1
        facts.latencies.refused(.cancelled, reader.methodIndex)
        if reader.hasID { out.append(error: RPCError(.cancelled), id: reader.replyID) }
    }
}
