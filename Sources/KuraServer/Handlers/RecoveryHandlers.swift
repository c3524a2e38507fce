import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers what concerns recovered starts: `storage.quarantine`, `storage.acknowledge`, and `recovered` of `storage.status`.
extension StorageHandlers {
    static func quarantine(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        throw call.wait(for: storage.lookIntoQuarantine(for: call.uid)) {
            (call, look: QuarantineLook, error, out, _) throws(Refusal) in
            if let error { throw Refusal(error, call: call) }
            guard look.failure == nil else {
                throw .error(RPCError(.internalError, hint: "the quarantine could not be read"))
            }
            append(look, to: &out)
        }
    }

    private static func append(_ look: QuarantineLook, to out: inout ByteBuffer) {
        out.openObject()
        out.openList(.items)
        for entry in look.entries {
            out.openObject()
            out.append(.name, entry.name)
            out.append(.at, entry.at)
            out.append(.reason, entry.reason)
            out.append(.bytes, entry.bytes)
            out.append(.files, entry.files)
            out.closeObject()
        }
        out.closeList()
        out.append(.bytes, look.entries.reduce(0) { $0 + $1.bytes })
        out.closeObject()
    }

    static func acknowledge(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.mustBeInOrder()
        throw call.wait(for: storage.acknowledge(for: call.uid), hasEffect: true) {
            (call, done: Acknowledgement, error, out, _) throws(Refusal) in
            if let error { throw Refusal(error, call: call) }
            if let failure = done.failure {
                throw .error(
                    failure.isFull
                        ? RPCError(.noSpace) : RPCError(.internalError, hint: "the notices could not be written"))
            }
            out.append(only: .acknowledged, done.count)
        }
    }

    /// Items that a snapshot does not have.
    private static func append(_ leftOut: [RecoveredOmission], to out: inout ByteBuffer) {
        guard !leftOut.isEmpty else { return }
        out.openList(.leftOut)
        for omission in leftOut {
            out.openObject()
            out.append(.store, omission.store)
            if !omission.scope.isEmpty { out.append(.scope, omission.scope) }
            out.append(.count, omission.count)
            out.append(.reason, omission.reason.rawValue)
            out.closeObject()
        }
        out.closeList()
    }

    /// What the run before this one ended by, as `storage.status` tells it.
    static func append(_ trap: TrapNote, to out: inout ByteBuffer) {
        out.openObject(.lastTrap)
        out.append(.at, trap.at)
        out.append(.signal, trap.signal)
        out.append(.thread, trap.thread)
        if let served = trap.served { out.append(.servedMilliseconds, served) }
        if let rev = trap.rev { out.append(.rev, Int(clamping: rev)) }
        out.append(.line, trap.line)
        out.append(.help, trap.advice)
        out.closeObject()
    }

    /// What the seed bundle was to this start, as `storage.status` tells it.
    static func append(_ seed: SeedStatus, to out: inout ByteBuffer) {
        out.openObject(.seedBundle)
        out.append(.file, seed.file)
        out.append(.state, seed.state.rawValue)
        out.openList(.stores)
        for store in seed.stores { out.append(element: store) }
        out.closeList()
        if !seed.problem.isEmpty { out.append(.problem, seed.problem) }
        out.closeObject()
    }

    /// The notices that stand, as `storage.status` tells them.
    static func append(_ notices: [RecoveredNotice], to out: inout ByteBuffer) {
        guard !notices.isEmpty else { return }
        out.openList(.recovered)
        for notice in notices {
            out.openObject()
            out.append(.at, notice.at)
            out.append(.what, notice.what.rawValue)
            out.append(.phase, notice.phase)
            out.append(.reason, notice.reason)
            switch notice.what {
            case .caches:
                out.openList(.files)
                for file in notice.files { out.append(element: file) }
                out.closeList()
            case .log, .durable:
                out.append(.quarantine, notice.quarantine)
                out.append(.startedFrom, notice.origin.rawValue)
                if !notice.snapshot.isEmpty { out.append(.snapshot, notice.snapshot) }
                append(notice.leftOut, to: &out)
                out.append(.savedRev, notice.savedRev)
                out.append(.newestRev, notice.newestRev)
                append(notice.missing, to: &out)
            }
            out.closeObject()
        }
        out.closeList()
    }

    private static func append(_ missing: [RecoveredNotice.Missing], to out: inout ByteBuffer) {
        guard !missing.isEmpty else { return }
        out.openList(.missing)
        for one in missing {
            out.openObject()
            if let store = one.store { out.append(.store, store) }
            if let scope = one.scope { out.append(.scope, scope) }
            out.append(.fromRev, one.fromRev)
            out.append(.toRev, one.toRev)
            out.closeObject()
        }
        out.closeList()
    }
}
