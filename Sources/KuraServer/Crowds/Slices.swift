import KuraBytes
import KuraProtocol

/// How much of the loop each connection gets, and who has to stand back so that others get their turn: decides without I/O.
///
/// A connection's turn is a slice: so many requests, weighed by their bytes. While several connections are active a slice
/// is small, smaller still when one of them asks one thing after the other and so waits for every slice of the rest; and one
/// whose slice took much longer than that (a large value, a thousand items: what cannot be split) waits for twice as long before
/// its next, so that the others have two thirds of the loop. Alone, a connection has it all.
struct Slices {
    /// Requests in a slice when several connections are active.
    static let sharedSlice = 48
    /// The same when somebody waits for each single reply.
    static let attentiveSlice = 24
    /// Bytes read of one connection at once when several are active, and when somebody waits for each single reply.
    static let sharedPiece = 64 << 10
    static let attentivePiece = 16 << 10
    /// Bytes of request and reply that count as one more request.
    static let bytesPerUnit = 256
    /// A slice that takes longer puts off the next one.
    static let sliceTime: UInt64 = 100_000
    /// Somebody counts as active for so long after being served.
    static let presence: UInt64 = 5_000_000
    static let longestDeferral: UInt64 = 500_000_000
    /// Requests between two looks at the clock.
    static let looks = 8
    /// Bytes read in one turn beyond which those that send long lines have to wait for the next.
    static let readBytes = 512 << 10
    /// Bytes of memory given back to the system in one turn when several are active, and when one is: as much as it may have sent.
    static let sharedReturn = 512 << 10
    static let loneReturn = 2 << 20
    /// Connections accepted in a turn while others are active, and while nobody is: letting one in and out again costs as much as
    /// twenty requests.
    static let acceptsBusy = 3
    static let acceptsIdle = 64

    /// Numbers the turns.
    private(set) var turn: UInt32 = 0
    var bytesRead = 0

    /// Connections that wait for `deferredUntil`.
    private(set) var deferred: ContiguousArray<Connection> = []
    /// The batch that goes on while all buffers are full; 0 without.
    private var batchToken: UInt64 = 0
    private var sliceBegan: UInt64 = 0
    /// Bytes that the request which is being answered has written and taken back: they cost as much as those that stay.
    private var discarded = 0
    private var lastToken: UInt64 = 0
    private var sharedAt: UInt64 = 0
    /// When somebody last had one request, and no more behind it.
    private var attentiveAt: UInt64 = 0
    private var now: UInt64 = 0
    /// The turn in which somebody was last answered.
    private var servedTurn: UInt32 = 0

    mutating func beginTurn() {
        turn &+= 1
        bytesRead = 0
    }

    // MARK: Slices

    /// Takes those out whose time has come.
    mutating func takeDeferred(until time: UInt64) -> ContiguousArray<Connection> {
        let due = ContiguousArray(deferred.filter { $0.crowd.deferredUntil <= time })
        guard !due.isEmpty else { return [] }
        deferred.removeAll { $0.crowd.deferredUntil <= time }
        for connection in due { connection.crowd.deferredUntil = 0 }
        return due
    }

    /// Several connections have been active lately.
    var isShared: Bool { now &- sharedAt < Self.presence }

    /// One of them waits for each reply before it asks again.
    private var isAttentive: Bool { now &- attentiveAt < Self.presence }

    /// Requests that the connection has in this turn.
    func slice(of connection: Connection, atMost limit: Int) -> Int {
        guard isShared || connection.token != lastToken else { return limit }
        return min(isAttentive ? Self.attentiveSlice : Self.sharedSlice, limit)
    }

    /// Bytes that are read of a connection at once; `alone`: when it has the loop for itself.
    func piece(alone: Int) -> Int {
        isShared ? isAttentive ? Self.attentivePiece : Self.sharedPiece : alone
    }

    /// Bytes of memory to give back to the system in this turn.
    var returnedBytes: Int { isShared ? Self.sharedReturn : Self.loneReturn }

    /// Connections to accept in this turn. Who was served in it, or has been put off, is here whatever the clock says: on a machine
    /// that is short of processors a turn takes longer than anybody is remembered.
    func accepts(_ clock: Clock) -> Int {
        let isBusy = servedTurn == turn || !deferred.isEmpty || clock.monotonic &- now < Self.presence
        return isBusy ? Self.acceptsBusy : Self.acceptsIdle
    }

    /// A slice begins.
    mutating func beginSlice(at time: UInt64) { sliceBegan = time }

    /// Others wait, and the slice has had its time.
    func isSliceOver(_ clock: Clock) -> Bool { isShared && clock.monotonic - sliceBegan > Self.sliceTime }

    /// A request is answered next.
    mutating func beginRequest() { discarded = 0 }

    /// The request has written so many bytes and taken them back.
    mutating func discard(_ bytes: Int) { discarded += bytes }

    /// What the request counts beyond one.
    /// `bytes`: of it, and of its reply.
    func weight(bytes: Int, _ reader: RequestReader) -> Int {
        (bytes + discarded) / Self.bytesPerUnit + (reader.isExtensive ? 15 : 0)
    }

    /// The connection's slice is over, in which it had so many requests answered.
    /// - Returns: the time.
    mutating func noteSlice(
        of connection: Connection, since start: UInt64, answered: UInt64, _ clock: Clock
    ) -> UInt64 {
        now = clock.monotonic
        connection.crowd.spent += now - start
        // Who only came, or sent half a line, takes nothing from anybody.
        guard answered > 0 else { return now }
        servedTurn = turn
        if answered == 1, !connection.state.lines.hasMore { attentiveAt = now }
        if connection.token != lastToken {
            if lastToken != 0 { sharedAt = now }
            lastToken = connection.token
        }
        return now
    }

    /// Puts the next slice off when this one was long and others wait for theirs.
    mutating func judgeSlice(of connection: Connection) {
        let spent = connection.crowd.spent
        connection.crowd.spent = 0
        guard spent > Self.sliceTime, isShared, connection.crowd.deferredUntil == 0 else { return }
        putOff(connection, until: now + min(spent * 2, Self.longestDeferral))
    }

    /// The connection's requests wait until then.
    mutating func putOff(_ connection: Connection, until time: UInt64) {
        guard connection.crowd.deferredUntil == 0 else { return }
        connection.crowd.deferredUntil = time
        deferred.append(connection)
    }

    // MARK: Batches

    /// Whether the connection's batch is the one that goes on while all buffers are full; the first that asks is.
    mutating func admits(batchOf connection: Connection) -> Bool {
        if batchToken == 0 { batchToken = connection.token }
        return batchToken == connection.token
    }

    /// It is over, or waits for something else.
    mutating func endBatch(of connection: Connection) {
        if batchToken == connection.token { batchToken = 0 }
    }

    /// When the first of those who were put off goes on; `UInt64.max`: nobody was.
    var nextDeferred: UInt64 {
        var next = UInt64.max
        for connection in deferred { next = min(next, connection.crowd.deferredUntil) }
        return next
    }
}
