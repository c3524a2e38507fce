import KuraBytes
import KuraProtocol
import KuraStorage

/// What a handler gets: the request that is being answered, and the notes that its answer needs. One instance serves all
/// requests, one after the other.
final class Call {
    let reader: RequestReader
    let server: ServerFacts
    var clock: Clock { server.clock }
    let changes: ChangeFeed
    var attempt = Attempt()
    /// What the answer shows.
    private(set) var shown = ShownRev()
    var connection: Connection?
    var memory = WorkMemory()
    var audit = RequestAudit()
    /// Replies to other requests, which this turn or earlier ones have brought about: handlers tell others by it.
    var parkedReplies = ParkedReplies()
    var keyed = KeyedRequest()
    /// The call of one operation within a transaction.
    private(set) lazy var operation = Call(operationsOf: self)
    /// This is a call within a transaction.
    let isOperation: Bool
    var errorTexts = ErrorTexts()
    var edits = DocumentEdits()

    init(reader: RequestReader, server: ServerFacts) {
        self.reader = reader
        self.server = server
        changes = ChangeFeed(limits: server.limits)
        isOperation = false
    }

    private init(operationsOf transaction: Call) {
        reader = RequestReader(table: transaction.reader.table)
        server = transaction.server
        changes = transaction.changes
        isOperation = true
    }

    /// Appends the result of the request that the reader holds.
    func perform(_ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        if reader.hasSecrets { memory.meetsSecrets() }
        if let rule = server.methods.audit(reader.methodIndex) { return try perform(rule, &out, storage) }
        try performAnything(&out, storage)
    }

    func performAnything(_ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard begun == nil else { return try goOn(&out, storage) }
        if let permissions = connection?.permissions {
            try perform(permissions, &out, storage)
            return
        }
        if let versions = connection?.client.declaredVersions { try check(versions, storage) }
        try server.methods.answer(self, &out, storage)
    }

    /// Goes on with a request that has waited. Its permissions are checked again, unless it has changed something: then a refusal would hide the outcome.
    private func goOn(_ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard begun?.progress.hasEffect != true else { return try handle(&out, storage) }
        if let permissions = connection?.permissions { return try perform(permissions, &out, storage) }
        if let versions = connection?.client.declaredVersions { try check(versions, storage) }
        try handle(&out, storage)
    }

    /// Has the request answered by its handler, or by what that has said of how it goes on; that is not about an operation of it.
    func handle(_ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        if !isOperation, let proceed = begun?.progress.proceed {
            try proceed(self, &out, storage)
        } else {
            try server.methods.answer(self, &out, storage)
        }
    }

    func begin(_ connection: Connection, isAhead: Bool, replyAt start: Int) {
        // Mostly it is the one of the request before: to say so again costs two atomic operations.
        if self.connection !== connection { self.connection = connection }
        attempt.begin(isAhead: isAhead, replyAt: start, takesAway: server.methods.isRemoval(reader.methodIndex))
        shown = ShownRev()
        audit.begin()
    }

    func shows(_ rev: UInt64) { shown.add(rev) }

    func shows(_ found: Lookup) { shown.add(found.shownRev, isRelaxed: found.isRelaxed) }

    func shows(_ part: ShownRev) { shown.add(part) }

    /// What a call shows, an operation of the transaction that this one answers.
    func shows(_ operation: Call) {
        shown.add(operation.shown)
        if operation.audit.isAwaited { audit.awaitsLog() }
    }

    /// The answer reports a transaction that has ended; nil: it has changed nothing.
    /// - Returns: whether it is acknowledged before it is durable.
    func shows(transaction rev: UInt64?, _ storage: isolated Storage) -> Bool {
        guard let rev, !isOperation, reader.requestKey == nil, !storage.strictRev.reaches(rev) else {
            shows(rev ?? storage.rev)
            return false
        }
        // What has this revision is the transaction's own.
        forgetsShown(above: rev - 1)
        shown.add(rev, isRelaxed: true)
        return true
    }

    /// The answer reports a write: its revision, and `"durable":false` when it is acknowledged before it is durable.
    /// The caller opens and closes the object.
    func append(durabilityOf result: WriteResult, to out: inout ByteBuffer, _ storage: isolated Storage) {
        shown.add(result.rev, isRelaxed: result.isRelaxed)
        // An operation's is its transaction's, and what is kept under a request key is durable.
        guard result.isRelaxed, !isOperation, reader.requestKey == nil, !storage.syncedRev.has(result.rev) else {
            return
        }
        out.append(.durable, false)
    }

    /// What was shown above `rev` has been taken back: the answer does not wait for it.
    func forgetsShown(above rev: UInt64) { shown.forget(above: rev) }

    /// Whose request it is, as the kernel tells.
    var uid: UInt32 { connection?.client.uid ?? .max }
}
