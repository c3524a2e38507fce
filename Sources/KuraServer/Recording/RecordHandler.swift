import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage
import Sodium

/// Answers `storage.record`, and tells recordings what comes and leaves.
extension StorageHandlers {
    static func record(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard let connection = call.connection else { throw .error(RPCError(.internalError)) }
        // Taken first, whatever else is wrong: the next request's descriptor is another one.
        let taken = call[StorageRecord.fd] ? connection.descriptors.take() : .missing
        guard call[StorageRecord.fd] else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "a recording goes to a descriptor: fd is true",
                    parameter: call.name(StorageRecord.fd)))
        }
        let end = TransferEnd(try call.passed(taken, fd: StorageRecord.fd.position))
        try call.refuseUnlessTransferFree()
        let work: RecordingWork
        do throws(SodiumError) {
            work = try RecordingWork(to: end, seconds: call[StorageRecord.seconds], call, rev: storage.rev)
        } catch {
            throw .error(RPCError(.overloaded, hint: "there is no memory for a key"))
        }
        throw .transfer(work)
    }
}

extension Server {
    /// The connection has sent something.
    func tellRecordings(of connection: Connection, added: Int, heldBefore: Int) {
        let descriptors = max(0, connection.descriptors.held - heldBefore)
        for tap in facts.traffic.taps { tap.received(connection, added: added, descriptors: descriptors) }
    }

    /// What the connection is answered may leave, as far as it is synced.
    func tellRecordings(of connection: Connection, leavingAt synced: SyncedRev) {
        guard !connection.output.isEmpty else { return }
        let end = connection.state.sendable(syncedRev: synced, end: connection.outputEnd)
        for tap in facts.traffic.taps { tap.leaves(connection, upTo: end) }
    }
}
