import KuraBytes
import KuraProtocol
import KuraStorage

/// The connections of a turn, in the order in which they are answered, and those with which the next turn goes on.
///
/// A connection is in a turn once, from `insert` to `leave`. What it is answered leaves at once, or, when that depends on the turn's
/// commit, after it: then the connection is held. Belongs to the loop; decides without I/O.
struct TurnQueue {
    /// The turn's, in their order.
    private(set) var connections: ContiguousArray<Connection> = []
    /// Which of them is being answered.
    private(set) var position = 0
    /// Those whose replies depend on the turn's commit, or that wait.
    private(set) var held: ContiguousArray<Connection> = []
    /// Those whose input holds more requests than their budget allowed.
    private(set) var next: ContiguousArray<Connection> = []
    /// Those of `next` that go on in this turn; kept for their memory.
    private(set) var resuming: ContiguousArray<Connection> = []
    /// When the turn began to read from connections; 0 before.
    private(set) var readAt: UInt64 = 0
    /// Everything up to this revision is on the disk, as of the turn's beginning.
    var syncedRev: SyncedRev = 0
    private let glance: KeyGlance

    init(_ table: MethodTable) { glance = KeyGlance(table) }

    mutating func begin() { readAt = 0 }

    /// The turn reads from a connection.
    mutating func beginReading(_ clock: Clock) {
        if readAt == 0 { readAt = clock.monotonic }
    }

    /// Puts a connection into the turn.
    /// - Returns: false when it is in it already, or closed.
    mutating func insert(_ connection: Connection) -> Bool {
        guard !connection.crowd.queues.contains(.turn), !connection.phase.isClosed else { return false }
        connection.crowd.queues.insert(.turn)
        connections.append(connection)
        return true
    }

    /// The connection there is answered now.
    mutating func moveOn(to position: Int) { self.position = position }

    /// Nobody in the turn comes behind the one that is being answered.
    var isLast: Bool { position + 1 >= connections.count }

    /// The connection leaves when the turn is committed.
    mutating func hold(_ connection: Connection) { held.append(connection) }

    /// All have been answered once.
    mutating func endAnswers() {
        // One is the usual number, and cheaper to take out than all.
        if connections.count == 1 { connections.removeLast() } else { connections.removeAll(keepingCapacity: true) }
    }

    /// The turn is over for the connection.
    func leave(_ connection: Connection) { connection.crowd.queues.remove(.turn) }

    /// The turn is committed, and those that were held have left.
    mutating func end() {
        if !held.isEmpty { held.removeAll(keepingCapacity: true) }
    }

    // MARK: The next turn

    /// The next turn goes on with the connection, behind those that ask anew.
    mutating func goOn(with connection: Connection) {
        guard !connection.crowd.queues.contains(.ready) else { return }
        connection.crowd.queues.insert(.ready)
        next.append(connection)
    }

    /// Whether the turn that begins goes on with the connection anyway.
    func goesOn(with connection: Connection) -> Bool { connection.crowd.queues.contains(.ready) }

    /// Those of `next` are in `resuming` now, which the caller puts into the turn.
    mutating func beginResuming() {
        swap(&next, &resuming)
        for connection in resuming { connection.crowd.queues.remove(.ready) }
    }

    mutating func endResuming() {
        if !resuming.isEmpty { resuming.removeAll(keepingCapacity: true) }
    }

    // MARK: Looking ahead

    /// Has fetched what the next requests of the turn look up, this connection's and, when it has few, those of the connections behind it.
    func lookAhead(
        _ connection: Connection, from position: Int, _ reader: RequestReader, _ storage: isolated Storage
    ) {
        guard glance.begin(storage) else {
            // Not again with its next request.
            connection.state.lines.lookedAt = .max
            return
        }
        connection.state.lines.lookedAt = max(
            glance.look(at: connection.input.bytes, from: position, reader, storage), position + 1)
        var place = self.position + 1
        while place < connections.count, glance.hasRoom {
            let next = connections[place]
            let from = next.state.lines.consumed
            next.state.lines.lookedAt = max(glance.look(at: next.input.bytes, from: from, reader, storage), from + 1)
            place += 1
        }
        glance.fetch(storage)
    }
}
