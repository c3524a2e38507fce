import KuraBytes
import KuraProtocol
import KuraStorage
import SQLite

/// Answers `fault.*`.
extension FaultHandlers {
    static func inject(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let desk = try desk(call)
        guard let kind = Method.FaultKind(rawValue: String(decoding: call[FaultInject.kind], as: UTF8.self)) else {
            throw wrong(call, FaultInject.kind, "one of the words that the method's table gives")
        }
        let method = try method(call, kind)
        let count = call[FaultInject.count].map { Int($0) }
        let milliseconds = call[FaultInject.millis].map { Int($0) }
        if count != nil, !kind.strikesRequests {
            throw wrong(call, FaultInject.count, "only slow, conflict and overloaded strike requests")
        }
        if milliseconds != nil, !kind.takesTime {
            throw wrong(call, FaultInject.millis, "only slow, gone and full take time")
        }
        if milliseconds == nil, kind == .slow || kind == .gone {
            throw wrong(call, FaultInject.millis, "slow and gone take some time: say how much")
        }
        if kind == .sync || kind == .powerCut, let reason = desk.staysDown {
            throw .error(RPCError(.notSupported, hint: reason))
        }
        // Answered again with its turn it would be injected twice.
        try call.keepTurn()
        let time = call.clock.monotonic
        guard
            let id = desk.faults.add(kind, method: method, count: count, milliseconds: milliseconds, at: time)
        else {
            throw .error(RPCError(.overloaded, hint: "clear some of the faults", limit: InjectedFaults.most))
        }
        switch kind {
        case .full: storage.fillDisk(milliseconds: milliseconds)
        case .sync: FaultPoints.add("log.sync:fail", number: id)
        case .gone:
            desk.outage = desk.outage ?? .gone(until: time.later(by: .nanoseconds(milliseconds: milliseconds ?? 0)))
        case .powerCut: desk.outage = .powerCut
        case .slow, .conflict, .overloaded: break
        }
        out.openObject()
        out.append(.id, id)
        out.closeObject()
    }

    static func list(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let desk = try desk(call)
        desk.faults.expire(at: call.clock.monotonic)
        out.openObject()
        out.openList(.faults)
        for fault in desk.faults.all {
            out.openObject()
            out.append(.id, fault.id)
            out.append(.kind, fault.kind.rawValue)
            if let method = fault.method { out.append(.method, call.reader.table.methods[method].name) }
            if let left = fault.left { out.append(.left, left) }
            if let milliseconds = fault.milliseconds { out.append(.millis, milliseconds) }
            out.closeObject()
        }
        out.closeList()
        out.closeObject()
    }

    static func clear(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let desk = try desk(call)
        try call.keepTurn()
        let cleared = desk.faults.clear(call[FaultClear.id].map { Int($0) }, at: call.clock.monotonic)
        desk.withdraw(cleared, storage)
        let mayBeFull = cleared.contains { $0.kind == .full } && !desk.faults.all.contains { $0.kind == .full }
        let deadline = call.clock.monotonic.later(by: mayBeFull ? longestRecovery : 0)
        try tell(cleared.count, until: deadline, call, &out, storage)
    }

    /// Nanoseconds that changes may be refused for behind a full disk, until the storage has its reserve back.
    private static let longestRecovery: UInt64 = 5_000_000_000

    /// Answers `fault.clear`, when changes are admitted again: a test writes next.
    private static func tell(
        _ cleared: Int, until deadline: UInt64, _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        let time = call.clock.monotonic
        // Ahead of others it cannot wait.
        if storage.isOutOfSpace, time < deadline, !call.attempt.isAhead {
            call.goesOn(hasEffect: true) { (call, out, storage) throws(Refusal) in
                try tell(cleared, until: deadline, call, &out, storage)
            }
            throw .waits(.moment(time))
        }
        out.openObject()
        out.append(.cleared, cleared)
        out.closeObject()
    }

    private static func desk(_ call: Call) throws(Refusal) -> FaultDesk {
        if let desk = call.server.methods.faultDesk { return desk }
        throw .error(
            RPCError(.notSupported, hint: "faults are injected into ephemeral daemons alone: kurad --ephemeral"))
    }

    /// Position of the method that is named; nil: all.
    private static func method(_ call: Call, _ kind: Method.FaultKind) throws(Refusal) -> Int? {
        guard call.has(FaultInject.method) else { return nil }
        guard kind.strikesRequests else {
            throw wrong(call, FaultInject.method, "only slow, conflict and overloaded strike requests")
        }
        let table = call.reader.table
        guard let position = table.index(of: call[FaultInject.method]), FaultDesk.mayStrike(table.methods[position])
        else { throw wrong(call, FaultInject.method, "a method of the table, but not of rpc, session or fault") }
        guard kind != .conflict || table.methods[position].parameters.contains(where: { $0.name == "ifRev" }) else {
            throw wrong(call, FaultInject.method, "a method that takes ifRev")
        }
        return position
    }

    private static func wrong(_ call: Call, _ parameter: some Parameter, _ hint: StaticString) -> Refusal {
        .error(RPCError(.invalidParams, hint: hint, parameter: call.name(parameter)))
    }
}
