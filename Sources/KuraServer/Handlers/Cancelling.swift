import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

extension RpcHandlers {
    static func cancel(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        switch StoredValue(call[RpcCancel.id]).kind {
        case .string, .number, .null: break
        default:
            throw .error(
                RPCError(
                    .invalidParams, hint: "an id is a string, a number or null", parameter: call.name(RpcCancel.id)))
        }
        // What it ends is not begun again with the turn.
        try call.keepTurn()
        let isUnderWay = call.connection.map { cancel(call[RpcCancel.id], of: $0, call, storage) } ?? false
        out.openObject()
        out.append(.cancelled, isUnderWay)
        out.closeObject()
    }

    /// Ends what a request waits for.
    /// - Returns: whether there was something to end.
    private static func cancel(
        _ id: Bytes, of connection: Connection, _ call: Call, _ storage: isolated Storage
    ) -> Bool {
        if let waiting = connection.begun, waiting.isWaiting, waiting.isNamed(id) {
            if let ticket = waiting.ticket, storage.cancel(ticket) {
                waiting.isStopped = true
                return true
            }
            if waiting.callOff(storage) { return true }
        }
        if call.changes.cancelWait(of: connection, id: id) { return true }
        if let waiter = storage.caches.claims.cancel(id, of: connection.token) {
            call.parkedReplies.append(waiter, .refusal(.cancelled))
            return true
        }
        if let transfer = connection.outstanding.inPlace ?? connection.undo.starting.first(where: { $0.ticket != nil }),
            let work = transfer.work as? DocumentsDeletion, transfer.id.withBytes({ $0.equals(id) })
        {
            work.callOff()
            transfer.cancel()
            return true
        }
        let transfer = (connection.outstanding.cancellable + connection.undo.starting).first { transfer in
            transfer.work.isCancellable && transfer.id.withBytes { $0.equals(id) }
        }
        transfer?.channel.callOff()
        transfer?.cancel()
        return transfer != nil
    }
}
