import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers what concerns recovered starts: `storage.quarantine`, `storage.acknowledge`, and `recovered` of `storage.status`.
enum RecoveryHandlers {
    static let all: [String: Handler] = ["storage.quarantine": quarantine, "storage.acknowledge": acknowledge]

    static func quarantine(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard let answer = call.takeAnswer() else { throw .query(ticket: storage.lookIntoQuarantine(for: call.uid)) }
        if let error = answer.error { throw Refusal(error, call: call) }
        guard let look = answer.query as? QuarantineLook, look.failure == nil else {
            throw .error(RPCError(.internalError, hint: "the quarantine could not be read"))
        }
        out.append("{\"items\":[")
        for (position, entry) in look.entries.enumerated() {
            if position > 0 { out.append(",") }
            var object = ObjectWriter(&out)
            object.text("name", entry.name, &out)
            object.name("at", &out)
            out.append(timestamp: entry.at)
            object.text("reason", entry.reason, &out)
            object.number("bytes", entry.bytes, &out)
            object.number("files", entry.files, &out)
            out.append("}")
        }
        out.append("],\"bytes\":")
        out.append(integer: Int64(look.entries.reduce(0) { $0 + $1.bytes }))
        out.append("}")
    }

    static func acknowledge(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard let answer = call.takeAnswer() else { throw .query(ticket: storage.acknowledge(for: call.uid)) }
        if let error = answer.error { throw Refusal(error, call: call) }
        guard let done = answer.query as? Acknowledgement else { throw .error(RPCError(.internalError)) }
        if let failure = done.failure {
            throw .error(
                failure.isFull
                    ? RPCError(.noSpace) : RPCError(.internalError, hint: "the notices could not be written"))
        }
        out.append("{\"acknowledged\":")
        out.append(integer: Int64(done.count))
        out.append("}")
    }

    /// Items that a snapshot does not have.
    private static func append(
        _ leftOut: [RecoveredOmission], to object: inout ObjectWriter, _ out: inout ByteBuffer
    ) {
        guard !leftOut.isEmpty else { return }
        object.name("leftOut", &out)
        out.append("[")
        for (position, omission) in leftOut.enumerated() {
            if position > 0 { out.append(",") }
            var inner = ObjectWriter(&out)
            inner.text("store", omission.store, &out)
            if !omission.scope.isEmpty { inner.text("scope", omission.scope, &out) }
            inner.number("count", omission.count, &out)
            inner.text("reason", omission.reason.rawValue, &out)
            out.append("}")
        }
        out.append("]")
    }

    /// What the run before this one ended by, as `storage.status` tells it.
    static func append(_ trap: TrapNote, to object: inout ObjectWriter, _ out: inout ByteBuffer) {
        object.name("lastTrap", &out)
        var inner = ObjectWriter(&out)
        inner.name("at", &out)
        out.append(timestamp: trap.at)
        inner.text("signal", trap.signal, &out)
        inner.text("thread", trap.thread, &out)
        if let served = trap.served { inner.number("servedMilliseconds", Int(served), &out) }
        if let rev = trap.rev { inner.number("rev", Int(clamping: rev), &out) }
        inner.text("line", trap.line, &out)
        inner.text("help", trap.advice, &out)
        out.append("}")
    }

    /// What the seed bundle was to this start, as `storage.status` tells it.
    static func append(_ seed: SeedStatus, to object: inout ObjectWriter, _ out: inout ByteBuffer) {
        object.name("seedBundle", &out)
        var inner = ObjectWriter(&out)
        inner.text("file", seed.file, &out)
        inner.text("state", seed.state.rawValue, &out)
        inner.name("stores", &out)
        out.append("[")
        for (position, store) in seed.stores.enumerated() {
            if position > 0 { out.append(",") }
            out.append(quoted: store)
        }
        out.append("]")
        if !seed.problem.isEmpty { inner.text("problem", seed.problem, &out) }
        out.append("}")
    }

    /// The notices that stand, as `storage.status` tells them.
    static func append(_ notices: [RecoveredNotice], to object: inout ObjectWriter, _ out: inout ByteBuffer) {
        guard !notices.isEmpty else { return }
        object.name("recovered", &out)
        out.append("[")
        for (position, notice) in notices.enumerated() {
            if position > 0 { out.append(",") }
            var object = ObjectWriter(&out)
            object.name("at", &out)
            out.append(timestamp: notice.at)
            object.text("what", notice.what.rawValue, &out)
            object.text("phase", notice.phase, &out)
            object.text("reason", notice.reason, &out)
            switch notice.what {
            case .caches:
                object.name("files", &out)
                out.append("[")
                for (position, file) in notice.files.enumerated() {
                    if position > 0 { out.append(",") }
                    out.append(quoted: file)
                }
                out.append("]")
            case .log, .durable:
                object.text("quarantine", notice.quarantine, &out)
                object.text("startedFrom", notice.origin.rawValue, &out)
                if !notice.snapshot.isEmpty { object.text("snapshot", notice.snapshot, &out) }
                append(notice.leftOut, to: &object, &out)
                object.number("savedRev", Int(notice.savedRev), &out)
                object.number("newestRev", Int(notice.newestRev), &out)
                append(notice.missing, to: &object, &out)
            }
            out.append("}")
        }
        out.append("]")
    }

    private static func append(
        _ missing: [RecoveredNotice.Missing], to object: inout ObjectWriter, _ out: inout ByteBuffer
    ) {
        guard !missing.isEmpty else { return }
        object.name("missing", &out)
        out.append("[")
        for (position, one) in missing.enumerated() {
            if position > 0 { out.append(",") }
            var object = ObjectWriter(&out)
            if let store = one.store { object.text("store", store, &out) }
            if let scope = one.scope { object.text("scope", scope, &out) }
            object.number("fromRev", Int(one.fromRev), &out)
            object.number("toRev", Int(one.toRev), &out)
            out.append("}")
        }
        out.append("]")
    }
}
