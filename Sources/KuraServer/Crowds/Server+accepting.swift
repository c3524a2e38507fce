import KuraBytes
import KuraProtocol
import KuraTransport

/// Letting clients in: a few a turn, behind the requests of those who are there, and telling those for whom there is no room.
extension Server {
    /// While there is no room: so many are told so at once, then the listener is left alone for a while, in which the kernel
    /// keeps the others waiting.
    private static let refusals = 16
    private static let pause: UInt64 = 4_000_000

    func accept() {
        crowd.isAcceptDue = false
        var refused = 0
        for _ in 0..<(crowd.wasBusy ? Crowd.acceptsBusy : Crowd.acceptsIdle) {
            let isFull = connections.count >= limits.connections
            switch listener?.accept() ?? .nothing {
            case .nothing: return
            case .connection(let descriptor):
                let socket = Socket(owning: descriptor)
                if isFull {
                    refuse(socket)
                    refused += 1
                } else {
                    admit(socket)
                }
            case .exhausted:
                guard refuseForWantOfDescriptors() else { return pauseAccepting() }
                refused += 1
            }
            if refused >= Self.refusals { return pauseAccepting() }
        }
    }

    /// Takes the spare descriptor's place to tell the next client.
    private func refuseForWantOfDescriptors() -> Bool {
        guard crowd.spare.lend() else {
            crowd.spare.refill()
            return false
        }
        defer { crowd.spare.refill() }
        guard case .connection(let descriptor)? = listener?.accept() else { return false }
        refuse(Socket(owning: descriptor))
        return true
    }

    /// Level-triggered: without a pause the loop would do nothing else but refuse.
    private func pauseAccepting() {
        guard crowd.acceptAgainAt == nil, let descriptor = listener?.descriptor else { return }
        loop.remove(descriptor)
        crowd.acceptAgainAt = monotonicNow() + Self.pause
    }

    func resumeAccepting() {
        crowd.acceptAgainAt = nil
        crowd.spare.refill()
        guard let descriptor = listener?.descriptor else { return }
        try? loop.add(descriptor, token: Self.listenerToken, .read)
    }

    /// Tells one client too many so, as far as its socket takes it, and lets it go.
    private func refuse(_ socket: borrowing Socket) {
        var line = ByteBuffer()
        line.append(
            error: RPCError(.overloaded, limit: limits.connections), id: Bytes())
        line.append(0x0A)
        _ = socket.send(line.bytes)
        // What it has sent already goes unread, and would have its end reported as a failure.
        crowd.scratch.removeAll()
        _ = socket.receive(into: &crowd.scratch)
        facts.buffers.turnedAway += 1
        if let count = crowd.refusalLog.note(at: monotonicNow()) {
            journal.log(
                .warning, "clients were turned away: no room for more connections",
                [
                    ("clients", String(count)), ("open", String(connections.count)),
                    ("limit", String(limits.connections)),
                ])
        }
    }
}
