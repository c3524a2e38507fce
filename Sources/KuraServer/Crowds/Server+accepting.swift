import KuraBytes
import KuraProtocol
import KuraSocket
import KuraTransport

/// Letting clients in: a few a turn, behind the requests of those who are there, and telling those for whom there is no room.
extension Server {
    /// While there is no room: so many are told so at once, then the listener is left alone for a while, in which the kernel
    /// keeps the others waiting.
    private static let refusals = 16
    /// So many that wait to be closed may be with one who lets us wait for it.
    private static let fewDescriptors = 64
    private static let pause: UInt64 = 4_000_000
    private static let patience: UInt64 = 1_000_000_000

    func accept() {
        crowd.isAcceptDue = false
        var refused = 0
        var left = crowd.accepts(clock)
        // Each socket comes first in its turn, so that a crowd at one does not keep another waiting.
        for offset in sockets.indices {
            let door = sockets[(Int(crowd.turn) + offset) % sockets.count]
            guard accept(from: door, &left, &refused) else { return pauseAccepting() }
        }
    }

    /// Lets in who waits at a socket that is about to be closed.
    func letIn(from door: DaemonSocket, atMost count: Int) {
        var (left, refused) = (count, 0)
        _ = accept(from: door, &left, &refused)
    }

    /// - Returns: false when nobody can be taken in for now.
    private func accept(from door: DaemonSocket, _ left: inout Int, _ refused: inout Int) -> Bool {
        while left > 0 {
            left -= 1
            let isFull = connections.count >= limits.connections
            switch door.listener.accept() {
            case .nothing: return true
            case .connection(let descriptor):
                crowd.exhaustedAt = 0
                let socket = Socket(owning: descriptor, isAccepted: true)
                if isFull {
                    turnAway(socket)
                    refused += 1
                } else {
                    admit(socket, by: door)
                }
            case .exhausted:
                // Those who stay a while only to hear that they are refused make room first.
                if crowd.lingering.removeAll(loop) { continue }
                // Nor is anybody sent away for descriptors that are being closed: there is room in some milliseconds.
                // When there is none they are told.
                let time = clock.monotonic
                if crowd.exhaustedAt == 0 { crowd.exhaustedAt = time }
                let mayWait = time - crowd.exhaustedAt < Self.patience
                if mayWait, DescriptorCloser.waiting > Self.fewDescriptors { return false }
                guard refuseForWantOfDescriptors(at: door) else { return false }
                refused += 1
            }
            if refused >= Self.refusals { return false }
        }
        return true
    }

    /// Takes the spare descriptor's place to tell the next client.
    private func refuseForWantOfDescriptors(at door: DaemonSocket) -> Bool {
        guard crowd.spare.lend() else {
            crowd.spare.refill()
            return false
        }
        defer { crowd.spare.refill() }
        guard case .connection(let descriptor) = door.listener.accept() else { return false }
        turnAway(Socket(owning: descriptor, isAccepted: true), lingers: false)
        return true
    }

    /// Level-triggered: without a pause the loop would do nothing else but refuse.
    private func pauseAccepting() {
        guard crowd.acceptAgainAt == nil, !sockets.isEmpty else { return }
        for socket in sockets { loop.remove(socket.listener.descriptor) }
        crowd.acceptAgainAt = clock.monotonic + Self.pause
    }

    func resumeAccepting() {
        crowd.acceptAgainAt = nil
        crowd.spare.refill()
        do throws(SystemError) { try watchSockets() } catch {
            // Without memory for it now: later.
            for socket in sockets { loop.remove(socket.listener.descriptor) }
            crowd.acceptAgainAt = clock.monotonic + 1_000_000_000
        }
    }

    /// Tells a client that is not let in why, as far as its socket takes it, and lets it go.
    /// `lingers`: the socket may stay open until the client has seen it.
    func refuse(_ socket: consuming Socket, _ error: RPCError, lingers: Bool = true) {
        var line = ByteBuffer()
        line.append(error: error, id: Bytes())
        line.append(0x0A)
        guard socket.send(line.bytes) != nil else { return }
        if lingers, drainDeadline == nil {
            crowd.lingering.take(socket, at: clock.monotonic, loop, token: Self.lingeringToken)
            return
        }
        // What it has sent already goes unread, and would have its end reported as a failure.
        crowd.scratch.removeAll()
        _ = socket.receive(into: &crowd.scratch)
    }

    /// Reads on in the sockets of refused clients.
    func drainLingering() {
        guard !crowd.lingering.isEmpty else { return }
        let time = clock.monotonic
        guard crowd.isLingeringDue || crowd.lingering.timeToNext(at: time) == 0 else { return }
        crowd.isLingeringDue = false
        crowd.drainLingering(at: time, loop)
    }

    /// Refuses a client that has its user's share already.
    func turnAway(_ socket: consuming Socket, user: UserUse) {
        let hint: StaticString = "the last connections are for users who have few: this one has its share"
        refuse(socket, RPCError(.overloaded, hint: hint, limit: limits.connections))
        facts.buffers.turnedAway += 1
        if let count = crowd.shareLog.note(at: clock.monotonic) {
            journal.log(
                .warning, "clients were turned away: their user has its share of the connections",
                [
                    ("clients", String(count)), ("uid", String(user.uid)), ("has", String(user.connections)),
                    ("open", String(connections.count)), ("limit", String(limits.connections)),
                ])
        }
    }

    /// Refuses one client too many.
    private func turnAway(_ socket: consuming Socket, lingers: Bool = true) {
        refuse(socket, RPCError(.overloaded, limit: limits.connections), lingers: lingers)
        facts.buffers.turnedAway += 1
        if let count = crowd.refusalLog.note(at: clock.monotonic) {
            journal.log(
                .warning, "clients were turned away: no room for more connections",
                [
                    ("clients", String(count)), ("open", String(connections.count)),
                    ("limit", String(limits.connections)),
                ])
        }
    }
}
