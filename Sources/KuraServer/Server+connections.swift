import Glibc
import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage
import KuraTransport

/// Connections come and go.
extension Server {
    func admit(_ socket: consuming Socket, by door: DaemonSocket) {
        let descriptor = socket.descriptor
        let peer = PeerCredentials(of: descriptor)
        let admission: AccessControl.Admission
        do throws(RPCError) {
            admission = try access.admit(peer, on: door.rule) { PeerCredentials.groups(of: descriptor) }
        } catch {
            refuse(socket, error)
            return
        }
        let use = crowd.users.use(of: peer?.uid ?? .max)
        guard
            admission.permissions == nil
                || UserShares.admits(held: use.connections, used: connections.count, of: limits.connections)
        else {
            turnAway(socket, user: use)
            return
        }
        var socket: Socket? = consume socket
        let connection = connections.insert { token in
            Connection(
                socket: socket.take()!, token: token, lineLimit: limits.lineBytes,
                client: ConnectedClient(peer: peer, admission: admission, use: use))
        }
        connection.client.door = door
        door.connections += 1
        use.connections += 1
        do throws(SystemError) {
            try loop.add(connection.socket.descriptor, token: connection.token, .read)
        } catch {
            journal.log(.warning, "a connection could not be registered", [("error", error.description)])
            connections.remove(connection.token)
            door.connections -= 1
            use.connections -= 1
            return
        }
        facts.traffic.letIn()
    }

    /// The other side is gone altogether, and epoll would say so in every turn: what it asked for is read and done, then it
    /// ends.
    func hangUp(_ connection: Connection) {
        call.changes.leave(connection)
        loop.remove(connection.socket.descriptor)
        connection.phase.unwatch()
        if let ticket = connection.begun?.ticket { storage.assumeIsolated { _ = $0.cancel(ticket) } }
        // Nobody is there to bring what it has claimed, nor to be told.
        connection.outstanding.unparkAll()
        if connection.outstanding.holdsCaches { call.parkedReplies.depart(connection.token) }
        if connection.outstanding.transfers > 0 { transfers.cancel(of: connection.token) }
    }

    func close(_ connection: Connection) {
        guard !connection.phase.isClosed else { return }
        let isWatched = connection.phase.close()
        if facts.traffic.isTapped { for tap in facts.traffic.taps { tap.closed(connection) } }
        waits.remove(connection.token)
        discharge(connection)
        crowd.stalls.unwatch(connection)
        crowd.memory.close(connection)
        crowd.slices.endBatch(of: connection)
        call.changes.leave(connection)
        // The ring lets it go when it comes to it; until then its descriptor is open.
        if connection.crowd.queues.contains(.feed) { call.changes.wake() }
        if let ticket = connection.begun?.ticket { storage.assumeIsolated { $0.forget(ticket) } }
        if connection.outstanding.holdsCaches { call.parkedReplies.depart(connection.token) }
        if connection.outstanding.transfers > 0 { transfers.cancel(of: connection.token) }
        facts.uploads.end(of: connection.token)
        if isWatched { loop.remove(connection.socket.descriptor) }
        connection.socket.shutdown()
        connections.remove(connection.token)
        connection.client.door?.connections -= 1
        connection.client.use.connections -= 1
        crowd.users.forget(connection.client.use)
    }
}
