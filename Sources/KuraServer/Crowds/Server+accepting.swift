import KuraBytes
import KuraProtocol
import KuraSocket
import KuraTransport

/// Letting clients in: a few a turn, behind the requests of those who are there, and telling those for whom there is no room.
extension Server {
    /// While there is no room: so many are told so at once, then the listener is left alone for a while, in which the kernel
    /// keeps the others waiting.
    private static let refusals = 16

    func accept() {
        crowd.doors.isDue = false
        var refused = 0
        var left = crowd.slices.accepts(clock)
        for door in crowd.doors.inOrder(turn: crowd.slices.turn) {
            guard accept(from: door, &left, &refused) else { return crowd.doors.pause(loop, clock) }
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
                crowd.doors.hasTakenIn()
                let socket = Socket(owning: descriptor, isAccepted: true)
                if isFull {
                    turnAway(socket)
                    refused += 1
                } else {
                    admit(socket, by: door)
                }
            case .exhausted:
                switch crowd.doors.exhausted(loop, clock) {
                case .again: continue
                case .pause: return false
                case .refuse:
                    guard refuseForWantOfDescriptors(at: door) else { return false }
                    refused += 1
                }
            }
            if refused >= Self.refusals { return false }
        }
        return true
    }

    /// Takes the spare descriptor's place to tell the next client.
    private func refuseForWantOfDescriptors(at door: DaemonSocket) -> Bool {
        guard crowd.doors.lendSpare() else { return false }
        defer { crowd.doors.returnSpare() }
        guard case .connection(let descriptor) = door.listener.accept() else { return false }
        turnAway(Socket(owning: descriptor, isAccepted: true), lingers: false)
        return true
    }

    /// Tells a client that is not let in why, as far as its socket takes it, and lets it go.
    /// `lingers`: the socket may stay open until the client has seen it.
    func refuse(_ socket: consuming Socket, _ error: RPCError, lingers: Bool = true) {
        var line = ByteBuffer()
        line.append(error: error, id: Bytes())
        line.append(0x0A)
        guard socket.send(line.bytes) != nil else { return }
        if lingers, !drain.hasBegun {
            crowd.doors.linger(socket, loop, clock)
            return
        }
        // What it has sent already goes unread, and would have its end reported as a failure.
        crowd.scratch.removeAll()
        _ = socket.receive(into: &crowd.scratch)
    }

    /// Refuses a client that has its user's share already.
    func turnAway(_ socket: consuming Socket, user: UserUse) {
        let hint: StaticString = "the last connections are for users who have few: this one has its share"
        refuse(socket, RPCError(.overloaded, hint: hint, limit: limits.connections))
        facts.buffers.turnedAway += 1
        if let count = crowd.doors.shareLog.note(at: clock.monotonic) {
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
        if let count = crowd.doors.refusalLog.note(at: clock.monotonic) {
            journal.log(
                .warning, "clients were turned away: no room for more connections",
                [
                    ("clients", String(count)), ("open", String(connections.count)),
                    ("limit", String(limits.connections)),
                ])
        }
    }
}
