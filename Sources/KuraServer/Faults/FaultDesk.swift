import KuraBytes
import KuraProtocol
import KuraStorage
import SQLite

/// Where tests order what is to go wrong: whom a fault strikes, and what the server is to do at the end of the turn. Belongs to the loop.
///
/// Only a daemon whose data goes with it has one. The handlers of all others are called as they are, so that this costs them nothing.
final class FaultDesk {
    /// What happens to the daemon as a whole.
    enum Outage: Equatable {
        /// Nobody is answered until then.
        case gone(until: UInt64)
        case powerCut
    }
    var faults = InjectedFaults()
    /// Begins when the turn's replies have left.
    var outage: Outage?
    /// Why this daemon cannot start anew by itself; nil: it can.
    let staysDown: StaticString?

    init(staysDown: StaticString? = nil) { self.staysDown = staysDown }

    /// Its next sync was to fail: it starts anew when that has happened.
    var awaitsFailedSync: Bool { faults.all.contains { $0.kind == .sync } }

    // MARK: Ending

    /// Has what was injected into the storage go on as it should.
    func withdraw(_ cleared: some Sequence<InjectedFaults.Fault>, _ storage: isolated Storage) {
        for fault in cleared {
            switch fault.kind {
            case .full:
                // Another one may keep it full.
                if !faults.all.contains(where: { $0.kind == .full }) { storage.emptyDisk() }
            case .sync: FaultPoints.withdraw(fault.id)
            case .slow, .conflict, .overloaded, .gone, .powerCut: break
            }
        }
    }

    // MARK: Requests

    /// Whoever greets, looks what there is, or clears a fault gets through.
    static func mayStrike(_ method: Method) -> Bool { ![.rpc, .session, .fault].contains(method.store) }

    /// A handler that does what the other one does, unless a fault strikes the request.
    static func exposed(_ handler: @escaping Handler, of method: Method) -> Handler {
        guard mayStrike(method) else { return handler }
        let ifRev = method.parameters.firstIndex { $0.name == "ifRev" }
        return { (call, out, storage) throws(Refusal) in
            guard let desk = call.server.methods.faultDesk, !desk.faults.all.isEmpty else {
                return try handler(call, &out, storage)
            }
            // An operation waits and is refused with its transaction.
            if !call.isOperation, call.begun == nil { try desk.receive(call, handler, ifRev) }
            try desk.perform(call, handler, ifRev, &out, storage)
        }
    }

    /// The request has come: it may be refused, or have to wait.
    private func receive(_ call: Call, _ handler: @escaping Handler, _ ifRev: Int?) throws(Refusal) {
        let method = call.reader.methodIndex
        if let fault = faults.first(.overloaded, striking: method) {
            faults.strike(fault)
            throw .error(RPCError(.overloaded, hint: "a fault that was injected: see fault.list"))
        }
        guard let fault = faults.first(.slow, striking: method) else { return }
        // Answered ahead it would be begun again in its turn, and be slow twice.
        try call.mustBeInOrder()
        faults.strike(fault)
        call.goesOn { (call, out, storage) throws(Refusal) in
            try call.server.methods.faultDesk?.perform(call, handler, ifRev, &out, storage)
        }
        let milliseconds = fault.milliseconds ?? 0
        throw .waits(.moment(call.clock.monotonic.later(by: .nanoseconds(milliseconds: milliseconds))))
    }

    /// Has the handler find that its condition does not hold, when a conflict is due. What it answers then is the storage's own: nothing is changed,
    /// and the revision that it tells is the item's.
    private func perform(
        _ call: Call, _ handler: Handler, _ ifRev: Int?, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        let method = call.reader.methodIndex
        guard let ifRev, call.reader.has(ifRev), let fault = faults.first(.conflict, striking: method) else {
            return try handler(call, &out, storage)
        }
        // `settings.putMany` asks that nothing has changed since; the others ask for one revision.
        let unmet = method == SettingsPutMany.methodIndex ? 0 : WireLimits.safeInteger
        let asked = call.reader.replace(ifRev, with: unmet)
        // It may wait, and is asked for its grants again by what it has said.
        defer { _ = call.reader.replace(ifRev, with: asked) }
        do throws(Refusal) { try handler(call, &out, storage) } catch {
            if case .error(let refusal) = error, refusal.kind == .conflict { faults.strike(fault) }
            throw error
        }
    }
}
