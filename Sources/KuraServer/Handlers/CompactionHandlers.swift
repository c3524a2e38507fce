import KuraBytes
import KuraProtocol
import KuraStorage
import KuraTransport
import SQLite

/// Answers `storage.compact`.
extension StorageHandlers {
    static func compact(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.refuseUnlessTransferFree()
        throw .transfer(CompactionTransfer(storage.compact(), call.clock))
    }
}

/// Waits for a compaction, and tells how far it is.
final class CompactionTransfer: TransferWork, Sendable {
    private let compaction: Compaction
    private let clock: Clock

    init(_ compaction: Compaction, _ clock: Clock) { (self.compaction, self.clock) = (compaction, clock) }

    var need: (verbs: Verbs, collection: [UInt8]) { ([], []) }

    func mayGoOn(_ permissions: Permissions) -> Bool { permissions.verbs(onWhole: .storage).contains(.admin) }

    func cancel() { compaction.cancel() }

    func run(_ channel: TransferChannel) -> TransferOutcome {
        while !compaction.wait(until: clock.deadline(milliseconds: 1000)) {
            if channel.interruption.isInterrupted {
                return TransferOutcome(
                    answer: .error(RPCError(.shuttingDown, hint: "the compaction was called off")))
            }
            let (done, total) = compaction.progress
            channel.report(TransferProgress(unit: .bytes, done: done, total: total, imported: nil, rev: 0))
        }
        if let failure = compaction.failure {
            let refusal =
                failure.isFull
                ? RPCError(.noSpace) : RPCError(.shuttingDown, hint: "the compaction has not come to its end")
            return TransferOutcome(answer: .error(refusal))
        }
        return TransferOutcome(answer: .result(Array(result.bytes)))
    }

    private var result: ByteBuffer {
        let files = compaction.files
        var out = ByteBuffer()
        out.openObject()
        out.append(.before, files.reduce(0) { $0 + $1.before })
        out.append(.after, files.reduce(0) { $0 + $1.after })
        out.openList(.files)
        for file in files {
            out.openObject()
            out.append(.name, file.name)
            out.append(.before, file.before)
            out.append(.after, file.after)
            out.closeObject()
        }
        out.closeList()
        return out
    }
}
