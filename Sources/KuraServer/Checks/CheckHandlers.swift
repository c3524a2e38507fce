import KuraBytes
import KuraCheck
import KuraProtocol
import KuraStorage
import KuraTransport

/// Answers `storage.check`: secrets are looked through here, in slices, everything else by a thread.
extension StorageHandlers {
    static func check(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.refuseUnlessTransferFree()
        var checkup: SecretsCheckup?
        var reason = ""
        do throws(Refusal) { checkup = try SecretsHandlers.run(call, service: nil, storage) } catch {
            // Without their keys nobody can tell; that is no problem of the data.
            guard case .error(let error) = error else { throw error }
            reason = "\(error.kind)"
        }
        let check = storage.makeCheck()
        if let checkup { take(checkup.findings, into: check) } else { check.skip("secrets: \(reason)") }
        // Contents of attachments are looked at by what the tables say, which are to have every document that was acknowledged.
        let folded = FoldSignal()
        folded.foldedTo = storage.rev
        call.shows(storage.rev)
        _ = storage.submit(folded)
        throw .transfer(StorageChecking(check, folded, storage.start.boot, storage.start.damage))
    }

    /// Rows by what they are called on the disk: `secrets.verify` tells whose they are.
    private static func take(_ found: borrowing CheckupFindings, into check: StorageCheck) {
        check.counts.secrets = found.items
        for damage in found.damages {
            let row = damage.row.isEmpty ? "store" : String(decoding: damage.row, as: UTF8.self)
            let version = damage.version > 0 ? ", version \(damage.version)" : ""
            check.note(.secret, row, "\(damage.what.word)\(version): its seal does not hold; secrets.verify tells more")
        }
        if found.otherHostKey > 0 { check.skip("secrets: \(found.otherHostKey) values of another keys/host.key") }
    }
}

/// A check on its thread.
final class StorageChecking: TransferWork, @unchecked Sendable {
    // Made on the loop, then the thread's alone.

    private let check: StorageCheck
    private let folded: FoldSignal
    private let boot: Boot
    private let damage: DamageBook

    init(_ check: StorageCheck, _ folded: FoldSignal, _ boot: Boot, _ damage: DamageBook) {
        (self.check, self.folded, self.boot, self.damage) = (check, folded, boot, damage)
    }

    var need: (verbs: Verbs, collection: [UInt8]) { ([], []) }

    func mayGoOn(_ permissions: Permissions) -> Bool { permissions.verbs(onWhole: .storage).contains(.admin) }

    func cancel() { folded.release(.cancelled) }

    func run(_ channel: TransferChannel) -> TransferOutcome {
        do throws(EngineError) {
            if let error = folded.wait() {
                guard error != .cancelled else { throw error }
                // Why that is so shows in what follows.
                check.skip("attachments: of documents that the tables do not have yet")
            }
            try check.run(
                isCancelled: { channel.interruption.isInterrupted },
                report: { done, total in
                    channel.report(TransferProgress(unit: .bytes, done: done, total: total, imported: nil, rev: 0))
                })
        } catch {
            let refusal =
                switch error {
                case .cancelled: RPCError(.shuttingDown, hint: "the check was called off")
                case .unreadable: RPCError(unreadable: error)
                case .noSpace, .conflict, .valueTooLarge, .quotaExceeded, .accountFull, .tooLargeForRoom, .cold,
                    .busy, .duplicate, .overloaded, .interrupted:
                    RPCError(.internalError, hint: "the data directory could not be read")
                }
            return TransferOutcome(answer: .error(refusal))
        }
        boot.checked(problems: check.problemCount)
        damage.note(check.problems, count: check.problemCount)
        return TransferOutcome(answer: .result(Array(result.bytes)))
    }

    private var result: ByteBuffer {
        var out = ByteBuffer()
        out.openObject()
        out.openList(.problems)
        for problem in check.problems {
            out.openObject()
            out.append(.what, problem.what.rawValue)
            out.append(.where, problem.place)
            out.append(.problem, problem.text)
            out.closeObject()
        }
        out.closeList()
        out.append(.problemCount, check.problemCount)
        let counts = check.counts
        out.openObject(.checked)
        out.append(.tables, counts.tables)
        out.append(.documents, counts.documents)
        out.append(.segments, counts.segments)
        out.append(.changes, counts.changes)
        out.append(.caches, counts.caches)
        out.append(.blobs, counts.blobs)
        out.append(.attachments, counts.attachments)
        out.append(.secrets, counts.secrets)
        out.closeObject()
        out.openList(.skipped)
        for what in check.skipped { out.append(element: what) }
        out.closeList()
        return out
    }
}
