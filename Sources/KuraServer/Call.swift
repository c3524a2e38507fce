import KuraBytes
import KuraJSON
import KuraProtocol
import KuraSocket
import KuraStorage
import KuraTransport
import SQLite

/// What a handler gets: the request that is being answered, and the notes that its answer needs. One instance serves all
/// requests, one after the other.
final class Call {
    let reader: RequestReader
    let server: ServerFacts
    var clock: Clock { server.clock }
    let changes: ChangeFeed
    /// The reply comes later, from somewhere else.
    var isDeferred = false
    /// What leaves with the reply's first byte.
    var replyDescriptor: PassedDescriptor?
    /// Newest revision that the answer shows; it leaves when that is synced.
    private(set) var shownRev: UInt64 = 0
    /// Newest revision of a relaxed change that the answer shows; it leaves when that is in the log.
    private(set) var relaxedRev: UInt64 = 0
    var connection: Connection?
    var identifiers = UUIDv7Generator()
    /// For walking over list and map parameters, one a level.
    let walk = WalkStorage()
    let innerWalk = WalkStorage()
    /// Bytes that a handler needs while it answers.
    var scratch = ByteBuffer()
    var otherScratch = ByteBuffer()
    /// A secret that is being read or rendered; zeroed when the request is through.
    var plaintext = ByteBuffer()
    /// The request, or an operation of it, has or had a secret in it.
    var holdsSecrets = false
    /// The handler has noted by itself what the request has come to.
    var isNoted = false
    /// What the request has changed is not undone with the turn.
    var keepsTurn = false
    /// Another request of the connection waits, and this one is answered before it.
    private(set) var isAhead = false
    /// Replies to other requests, which this turn or earlier ones have brought about.
    var parkedReplies = ParkedReplies()
    /// The reply waits until the turn is in the audit.
    var isAudited = false
    /// The secret that the request was about, when its parameters do not name it: service, account and group, the latter two from there on.
    var auditedName = ByteBuffer()
    var auditedParts = (0, 0)
    /// The request's key with its role.
    var keyOfRole = ByteBuffer()
    /// The result as it is kept under a request key.
    var recordedResult = ByteBuffer()
    /// The request, or an operation of its transaction, is about secrets.
    var isAboutSecrets = false
    /// The handlers in the order of the method table, for transactions.
    let handlers: ContiguousArray<Handler>
    /// The call of one operation within a transaction.
    private(set) lazy var operation = Call(
        reader: RequestReader(table: reader.table), server: server, handlers: handlers, isOperation: true)
    /// This is a call within a transaction.
    let isOperation: Bool
    /// Text of the errors that are being answered: they only point at theirs.
    var faultPath = ByteBuffer()
    var faultText = ByteBuffer()
    /// What stands in the way: an index, or documents that refer. The place in the request may be told besides.
    var faultName = ByteBuffer()
    /// What changes documents in place.
    var jsonPatch = JSONPatch()
    var increment = Increment()

    init(
        reader: RequestReader, server: ServerFacts, handlers: ContiguousArray<Handler>, isOperation: Bool = false
    ) {
        self.isOperation = isOperation
        self.reader = reader
        self.server = server
        self.handlers = handlers
        changes = ChangeFeed(limits: server.limits)
        plaintext.wipes = true
        auditedName.wipes = true
    }

    /// Appends the result of the request that the reader holds.
    func perform(_ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        if reader.hasSecrets { holdsSecrets = true }
        storage.setRemoving(server.removals[reader.methodIndex])
        if let rule = server.auditRules[reader.methodIndex] { return try perform(rule, &out, storage) }
        try performAnything(&out, storage)
    }

    func performAnything(_ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        if let permissions = connection?.permissions {
            try perform(permissions, &out, storage)
            return
        }
        if let versions = connection?.client.declaredVersions { try check(versions, storage) }
        try handle(&out, storage)
    }

    /// Has the request answered by its handler, or by what that has said of how it goes on.
    func handle(_ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        // No closure is picked first: that would make another one.
        if let proceed = begun?.progress.proceed {
            try proceed(self, &out, storage)
        } else {
            try handlers[reader.methodIndex](self, &out, storage)
        }
    }

    /// Where in the output the reply begins.
    private(set) var replyStart = 0

    func begin(_ connection: Connection, isAhead: Bool, replyAt start: Int) {
        // Mostly it is the one of the request before: to say so again costs two atomic operations.
        if self.connection !== connection { self.connection = connection }
        self.isAhead = isAhead
        replyStart = start
        shownRev = 0
        isDeferred = false
        if replyDescriptor != nil { replyDescriptor = nil }
        relaxedRev = 0
        isAudited = false
        keepsTurn = false
        if !auditedName.isEmpty { auditedName.removeAll() }
    }

    func shows(_ rev: UInt64) {
        shownRev = max(shownRev, rev)
    }

    /// `isRelaxed`: the revision is that of a change which may be shown before it is synced.
    func shows(_ rev: UInt64, isRelaxed: Bool) {
        if isRelaxed { relaxedRev = max(relaxedRev, rev) } else { shownRev = max(shownRev, rev) }
    }

    func shows(_ found: Lookup) { shows(found.shownRev, isRelaxed: found.isRelaxed) }

    /// What a call shows, an operation of the transaction that this one answers.
    func shows(_ operation: Call) {
        shows(operation.shownRev)
        shows(operation.relaxedRev, isRelaxed: true)
        if operation.isAudited { isAudited = true }
    }

    /// The answer reports a transaction that has ended; nil: it has changed nothing.
    /// - Returns: whether it is acknowledged before it is durable.
    func shows(transaction rev: UInt64?, _ storage: isolated Storage) -> Bool {
        guard let rev, !isOperation, reader.requestKey == nil, rev > storage.strictRev else {
            shows(rev ?? storage.rev)
            return false
        }
        // What has this revision is the transaction's own.
        forgetsShown(above: rev - 1)
        shows(rev, isRelaxed: true)
        return true
    }

    /// The answer reports a write: its revision, and `"durable":false` when it is acknowledged before it is durable.
    /// The caller opens and closes the object.
    func append(durabilityOf result: WriteResult, to out: inout ByteBuffer, _ storage: isolated Storage) {
        shows(result.rev, isRelaxed: result.isRelaxed)
        // An operation's is its transaction's, and what is kept under a request key is durable.
        guard result.isRelaxed, !isOperation, reader.requestKey == nil, result.rev > storage.syncedRev else { return }
        out.append(.durable, false)
    }

    /// What was shown above `rev` has been taken back: the answer does not wait for it.
    func forgetsShown(above rev: UInt64) {
        shownRev = min(shownRev, rev)
        relaxedRev = min(relaxedRev, rev)
    }

    /// Whose request it is, as the kernel tells.
    var uid: UInt32 { connection?.client.uid ?? .max }
}

/// Why a handler gave no result.
enum Refusal: Error {
    /// The reply is this error.
    case error(RPCError)
    /// Not yet. What the reply has so far stays, when it is being gathered and waits for no thread.
    case waits(Need)
    /// Not here: a thread does it, and the reply comes when it has.
    case transfer(any TransferWork)
}

/// What a request needs in order to go on.
enum Need {
    /// Nothing but another turn.
    case turn
    /// The end of the turn: what it does is not taken back, and what came before it may be.
    case commit
    /// Its place in the order of the requests.
    case order
    /// Room for changes.
    case room
    /// A moment in which its client may write again.
    case slot
    /// What it has looked for and is being read in.
    case page
    /// The query with this ticket; `Call.answer` is that then.
    case answer(UInt64)
    /// That can be told who refers to documents by a reference of this collection.
    case reference([UInt8], index: [UInt8])
    /// The end of the transfer with this ticket.
    case transfer(UInt64)
}

/// Answers one method: appends the result's JSON to the output, or throws and has changed nothing.
typealias Handler = @Sendable (Call, inout ByteBuffer, isolated Storage) throws(Refusal) -> Void

extension Refusal {
    /// What has been gathered of the reply stays.
    var keepsGathered: Bool {
        switch self {
        case .waits(.turn), .waits(.commit), .waits(.room), .waits(.page): true
        case .error, .waits, .transfer: false
        }
    }

    /// It has met what is not in memory, and is being read in.
    var isCold: Bool { if case .waits(.page) = self { true } else { false } }

    /// A store's error in the words of the wire. This is the one place where they meet.
    init(_ error: StoreError, call: Call) {
        switch error {
        case .conflict(let currentRev):
            call.shows(currentRev)
            self = .error(RPCError(.conflict, currentRev: currentRev))
        case .uniqueViolation(let violation): self = .error(call.fault(violation))
        case .referenced(let document): self = .error(call.fault(document))
        case .unfit(let document): self = .error(call.fault(document))
        case .tooManyDocuments(let limit):
            self = .error(
                RPCError(
                    .tooManyDocuments, hint: "so many would be deleted or changed along with it, by references",
                    limit: limit))
        case .referencesBuilding(let collection, let index): self = .waits(.reference(collection, index: index))
        case .valueTooLarge(let limit):
            self = .error(RPCError(.valueTooLarge, parameter: call.reader.valueName, limit: limit))
        case .quotaExceeded(let limit): self = .error(RPCError(.quotaExceeded, limit: limit))
        case .accountFull(let limit, let measure):
            self = .error(.quotaExceeded(limit: limit, of: measure))
        case .absent(let shownRev):
            call.shows(shownRev)
            self = .error(RPCError(.notFound))
        case .attachmentsFull(let limit, let measure):
            let hint: StaticString =
                measure == .bytes
                ? "a document's attachments have at most `limit` bytes" : "a document has at most `limit` attachments"
            self = .error(RPCError(.quotaExceeded, hint: hint, limit: limit))
        case .typeMismatch: self = .error(RPCError(.typeMismatch, hint: "the stored value is no integer"))
        case .outOfRange: self = .error(RPCError(.outOfRange))
        case .noSpace: self = .error(RPCError(.noSpace))
        case .tooLargeForRoom(let items?):
            self = .error(
                RPCError(
                    .noSpace, hint: "one transaction may remove `limit` items for now: fewer at once", limit: items))
        case .tooLargeForRoom(nil):
            self = .error(RPCError(.noSpace, hint: "the transaction is larger than the room: less at once may do"))
        case .sealed: self = .error(RPCError(.sealed))
        case .preparing: self = .waits(.turn)
        case .integrity:
            self = .error(
                RPCError(
                    .integrity,
                    hint:
                        "secrets have been altered, removed or set back: 'kura secrets verify' tells which, 'kura secrets repair' goes on with what is whole"
                ))
        case .otherHostKey:
            self = .error(
                RPCError(
                    .integrity,
                    hint:
                        "it is deviceOnly, and keys/host.key is not the one that it is sealed with: put the old one back and start kurad again. Nothing is damaged, and 'kura secrets repair' leaves it"
                ))
        case .noSuchVersion(let shownRev):
            call.shows(shownRev)
            self = .error(RPCError(.notFound, hint: "there is no such version, or its value is gone"))
        case .unusableKey: self = .error(RPCError(.invalidParams, hint: "nothing can be sealed to this public key"))
        case .wrongKind:
            self = .error(
                RPCError(.typeMismatch, hint: "the secret is no key for this: see kind and algorithm in secrets.list"))
        case .forged: self = .error(RPCError(.forged))
        case .unusableToken(let why):
            var error = RPCError(.tokenUnusable)
            error.reason = why.word
            self = .error(error)
        case .cold: self = .waits(.page)
        case .busy: self = .waits(.room)
        case .duplicate(let index):
            self = .error(RPCError(.invalidParams, hint: "the same item comes twice", index: index))
        case .compacted(let oldestRev):
            var error = RPCError(.compacted)
            error.oldestRev = oldestRev
            self = .error(error)
        case .overloaded: self = .error(RPCError(.overloaded, hint: "this part of the log cannot be read yet"))
        case .damagedLog:
            self = .error(
                RPCError(
                    .integrity,
                    hint:
                        "a part of the log is damaged, and the rest is served: 'kura doctor' names the command that helps"
                ))
        case .unreadable: self = .error(RPCError(unreadable: error))
        case .cancelled: self = .error(RPCError(.shuttingDown))
        case .timeout(let milliseconds): self = .error(RPCError(.timeout, limit: milliseconds))
        case .unresponsive:
            self = .error(RPCError(.transferFailed, hint: "the file behind the descriptor does not answer"))
        case .hanging:
            self = .error(
                RPCError(
                    .overloaded, hint: "files that this user has passed do not answer: no other is read until they do",
                    limit: Storage.hangingReads))
        case .interrupted: self = .error(RPCError(.cancelled))
        case .patternTooComplex(let place):
            var error = RPCError(
                .invalidParams, hint: "holding a text against a $regex of the selector would take too long")
            call.name(&error, "where", at: place)
            self = .error(error)
        case .indexGone:
            self = .error(
                RPCError(.invalidParams, hint: "the index that the cursor stands in is gone: begin at the first page"))
        case .searchNotDeclared: self = .error(call.searchFault(.indexNeeded, "the collection has no searchFields"))
        case .searchBuilding(let done, let total):
            self = .error(call.searchFault(.indexBuilding, "the search index has \(done) of \(total) documents"))
        case .indexNeeded(let limit, _): self = .error(RPCError(.indexNeeded, limit: limit))
        case .migrating:
            self = .error(RPCError(.overloaded, hint: "the document is being migrated: send it again a moment later"))
        case .liveQueryTooLarge(let limit, let isBytes): self = .error(.liveQueryTooLarge(limit, isBytes: isBytes))
        case .tooManyGroups(let limit):
            self = .error(
                RPCError(
                    .replyTooLarge, hint: "too many groups, or too much in them: group by less, or narrow them down",
                    limit: limit))
        }
    }
}

extension RPCError {
    /// The tables could not be read.
    init(unreadable error: StoreError) {
        switch error.unreadable {
        case .want:
            self.init(.overloaded, hint: "the tables cannot be read now: too many files are open, or memory is short")
        case .damage:
            self.init(
                .integrity,
                hint:
                    "the tables are damaged where this lies, and the rest is served; 'kura doctor' names the command that brings it back, such as kura restore --at newest --log"
            )
        case .other, nil: self.init(.internalError, hint: "the tables could not be read")
        }
    }
}

extension Call {
    /// Names a parameter, and a place in it as a JSON pointer, when the method has a parameter of this name.
    func name(_ error: inout RPCError, _ parameter: StaticString, at pointer: String) {
        guard let position = reader.position(of: parameter) else { return }
        faultPath.removeAll()
        faultPath.append(text: pointer)
        // Safety: the table's names are there for good, and the call keeps its texts until the next request.
        unsafe error.parameter = reader.name(position)
        unsafe error.path = faultPath.bytes
    }

    /// Runs what touches a store and translates its errors.
    func run<R>(_ body: () throws(StoreError) -> R) throws(Refusal) -> R {
        do throws(StoreError) { return try body() } catch { throw Refusal(error, call: self) }
    }
}

/// What handlers may say about the daemon itself.
final class ServerFacts {
    let version: String
    let clock: Clock
    let limits: ServerLimits
    let profile: String
    /// The result of `rpc.discover`, on one line. It is made for the first request: milliseconds that most daemons never spend.
    private(set) lazy var openRPC = OpenRPC.compactDocument(table, version: version)
    private let table: MethodTable
    let importRoots: ImportRoots
    /// In the order of the method table.
    let accessRules: ContiguousArray<AccessRule>
    let auditRules: ContiguousArray<AuditRule?>
    /// Methods that only take something away.
    let removals: ContiguousArray<Bool>
    let access: AccessControl
    /// Refusals that the audit has at once.
    var refusals = RefusalBudgets()
    var sockets: [DaemonSocket] = []
    var backupHealth = BackupHealth()
    var connections = 0
    var accepted: UInt64 = 0
    var requests: UInt64 = 0
    /// Bytes of memory that were to be had when the daemon started; nil when nobody knows.
    let freeMemoryAtStart: Int? = {
        let free = HostMemory.free()
        return free == .max ? nil : free
    }()
    /// Starts of applications that were announced.
    var launches: UInt64 = 0
    /// Everything is being looked through, unasked.
    var isChecking = false
    var isDraining = false
    /// What the buffers of all connections take.
    let buffers: BufferBudget
    /// Transfers that have been taken on and are not over.
    var transfers = 0
    /// Which scheduled snapshots are kept.
    var backupsKeep = BackupDirectory.Keep()
    /// What the host's administrator has fixed.
    var locks = SettingsLocks()
    /// Blobs that come in pieces.
    var uploads: BlobUploads
    /// Bytes of the overrides of all connections.
    var overrideBytes = 0
    /// What requests take.
    let latencies: Latencies
    /// How many wait for what, as of now.
    var queues: () -> QueueDepths = { QueueDepths() }

    init(
        version: String, clock: Clock, limits: ServerLimits, profile: String, importRoots: ImportRoots,
        accessRules: ContiguousArray<AccessRule>, auditRules: ContiguousArray<AuditRule?>, access: AccessControl,
        table: MethodTable
    ) {
        self.clock = clock
        uploads = BlobUploads(clock)
        latencies = Latencies(table, startedAt: clock.monotonic)
        self.accessRules = accessRules
        self.auditRules = auditRules
        removals = ContiguousArray(table.methods.map(\.isRemoval))
        self.access = access
        self.version = version
        self.limits = limits
        buffers = BufferBudget(limit: limits.bufferBytes)
        self.profile = profile
        self.table = table
        self.importRoots = importRoots
    }
}

/// Bounds of a connection and of all of them; `session.hello` and `storage.status` state them.
public struct ServerLimits: Sendable, Equatable {
    /// Bytes of a request line.
    public var lineBytes = 16 << 20
    public var batchItems = 1000
    public var connections = 16_384
    /// Bytes of replies that a client has not read; beyond them its requests wait.
    public var outputBytes = 1 << 20
    /// Bytes of requests that are read ahead while one waits.
    public var inputBytes = 256 << 10
    /// Bytes of all buffers of all connections; at most a quarter of what the process may use.
    public var bufferBytes = 256 << 20
    /// Descriptors that clients have passed and no request has taken, of all connections.
    public var passedDescriptors = 4096
    /// Imports and exports that run at once; each has a thread.
    public var transfers = 16
    /// Bytes of a reply; a single item may be longer. At most a fifth of `bufferBytes`.
    public internal(set) var replyBytes = WireLimits.replyBytes
    /// Seconds after which a client that reads nothing of `outputBytes` and more is let go.
    public var stallSeconds = 60
    /// Requests of one connection in one turn when nobody else is there; the rest come in the next.
    public var requestsPerTurn = 512
    /// Subscriptions and waits for changes of one connection, and of all.
    public var subscriptions = 1000
    public var totalSubscriptions = 65_536
    /// Documents that a live query without a limit may have, and bytes of keys and values that any may keep.
    public var liveDocuments = 100_000
    public var liveBytes = 16 << 20
    /// Seconds after which a subscription that has nothing to tell tells how far it is; not more often.
    public var progressSeconds = 10

    public init() {}
}
