/// What went wrong, as `error.data.kind` names it: stable, camelCase, one meaning each.
///
/// JSON-RPC's own faults have JSON-RPC's codes; ours are -32000…-32099.
public enum ErrorKind: UInt8, CaseIterable, Sendable {
    case parseError, invalidRequest, methodNotFound, invalidParams, internalError
    case lineTooLong, batchTooLarge
    case conflict, valueTooLarge, quotaExceeded, typeMismatch, outOfRange
    case requestKeyReused
    case locked, schemaViolation, uniqueViolation
    case forbidden
    case noSpace, outcomeUnknown, overloaded, shuttingDown, replyTooLarge
    case compacted, epochChanged, tooManySubscriptions, liveQueryTooLarge
    case indexNeeded, timeout, cancelled
    case descriptorMissing, pathDenied, badRecord, transferFailed
    case notFound, patchFailed
    case referenced, tooManyDocuments
    case schemaTooNew
    case indexBuilding
    case sealed, integrity, wrongKey
    case installationMismatch
    case protocolMismatch
    case forged, tokenUnusable
    case tokenInvalid
    case digestMismatch, rangeNotSatisfiable, uploadNotFound
    case notSupported

    /// Any request may meet it, whether its method lists it or not.
    public var isAnywhere: Bool {
        switch self {
        case .parseError, .invalidRequest, .methodNotFound, .invalidParams, .internalError, .lineTooLong,
            .batchTooLarge,
            .forbidden, .outcomeUnknown, .overloaded, .shuttingDown, .cancelled, .integrity:
            true
        default: false
        }
    }

    public struct Facts: Sendable {
        public let name: StaticString
        public let code: Int
        public let message: StaticString
        /// The same request may succeed later as it is.
        public let retryable: Bool
        public let when: StaticString
        public let remedy: StaticString
    }

    public var facts: Facts {
        switch self {
        case .parseError:
            Facts(
                name: "parseError", code: -32700, message: "Parse error", retryable: false,
                when: """
                    The line is not one JSON text, or not I-JSON: invalid UTF-8, a lone surrogate, a repeated name, \
                    nesting over the limit. `data.reason` and `data.offset` (bytes) say where.
                    """,
                remedy: "Send one compact UTF-8 JSON object or batch array a line.")
        case .invalidRequest:
            Facts(
                name: "invalidRequest", code: -32600, message: "Invalid Request", retryable: false,
                when: """
                    Valid JSON, but not a JSON-RPC 2.0 request: wrong or missing `jsonrpc`, a method that is no string, \
                    an id that is no string, number or null, params that are no object or array, unknown members, `[]`.
                    """,
                remedy: "Send `{\"jsonrpc\":\"2.0\",\"id\":…,\"method\":…,\"params\":{…}}`.")
        case .methodNotFound:
            Facts(
                name: "methodNotFound", code: -32601, message: "Method not found", retryable: false,
                when: "No method has that name.", remedy: "Ask `rpc.discover` for the list.")
        case .invalidParams:
            Facts(
                name: "invalidParams", code: -32602, message: "Invalid params", retryable: false,
                when: """
                    A parameter is unknown, missing, given twice, of the wrong type or outside its limits; \
                    `data.parameter` names it, `data.hint` says what is expected. `data.index` is the position in a list, \
                    `data.operation` that in a transaction.
                    """,
                remedy: "Compare with the method's table; nothing was changed.")
        case .internalError:
            Facts(
                name: "internalError", code: -32603, message: "Internal error", retryable: false,
                when: "A fault of the daemon's own, or of the disk under a read; the log has a line on it.",
                remedy: "Look at the daemon's log and report it.")
        case .lineTooLong:
            Facts(
                name: "lineTooLong", code: -32001, message: "Line too long", retryable: false,
                when:
                    "A request line is longer than `data.limit` bytes. It was skipped to its end; its id is known when it stands before the long part.",
                remedy: "Split the request; `session.hello` tells the limits.")
        case .batchTooLarge:
            Facts(
                name: "batchTooLarge", code: -32002, message: "Batch too large", retryable: false,
                when: "A batch has more than `data.limit` members; none was begun.", remedy: "Send smaller batches.")
        case .conflict:
            Facts(
                name: "conflict", code: -32003, message: "Conflict", retryable: false,
                when:
                    "`ifRev` is not the item's revision; `data.currentRev` is (0: the item is absent). Nothing was written.",
                remedy: "Read the item again, apply the change to what is there, write with its `rev`.")
        case .valueTooLarge:
            Facts(
                name: "valueTooLarge", code: -32004, message: "Value too large", retryable: false,
                when: "A value's JSON text is longer than `data.limit` bytes.", remedy: "Store less under one key.")
        case .quotaExceeded:
            Facts(
                name: "quotaExceeded", code: -32005, message: "Quota exceeded", retryable: false,
                when: """
                    The store as a whole would grow over `data.limit` bytes, or what the connection's role or user may fill over \
                    `data.limit` bytes or items, as `data.hint` says. Nothing else is touched.
                    """,
                remedy: "Delete what is not needed; settings are for small values, documents and blobs for large ones.")
        case .typeMismatch:
            Facts(
                name: "typeMismatch", code: -32006, message: "Type mismatch", retryable: false,
                when: """
                    `increment` met a stored value that is no integer; in a document something that is no number, or that can have no \
                    parts: `data.path` is the place. A secret is no key, or one of another algorithm than is asked for, or would become one: \
                    what is a key stays one for the same.
                    """,
                remedy: "Put a number first; `secrets.list` shows what a secret is.")
        case .outOfRange:
            Facts(
                name: "outOfRange", code: -32007, message: "Out of range", retryable: false,
                when: """
                    `increment` would leave the range of safe integers, ±(2^53 − 1); in a document the sum, without its point, would, or \
                    would have more than 15 digits behind it.
                    """,
                remedy: "Use a smaller step.")
        case .requestKeyReused:
            Facts(
                name: "requestKeyReused", code: -32016, message: "Request key reused", retryable: false,
                when: """
                    `requestKey` has been used within a day for another write: by another method, or with other parameters. \
                    Nothing was written.
                    """,
                remedy: "Make a new key for each write, and repeat it only when the same write is sent again.")
        case .locked:
            Facts(
                name: "locked", code: -32020, message: "Locked", retryable: false,
                when: """
                    The host's administrator has fixed this setting: `data.layer` is `locked`, `data.reason` says why. \
                    Nothing was written.
                    """,
                remedy: "Use the value that is there; only the host's file of locks can change it.")
        case .schemaViolation:
            Facts(
                name: "schemaViolation", code: -32021, message: "Schema violation", retryable: false,
                when: """
                    A value breaks the schema of its domain or collection, which is enforced: `data.path` is the place in the \
                    value (a JSON pointer, empty for the whole), `data.reason` what the schema asks for there. For a deletion \
                    it is what a document would be that loses its reference: `data.collection` and `data.ids` name it. \
                    Nothing was written.
                    """,
                remedy: "Write a value that fits; `settings.describe` and `documents.describe` show the schema.")
        case .uniqueViolation:
            Facts(
                name: "uniqueViolation", code: -32023, message: "Unique violation", retryable: false,
                when: """
                    Another document has the same values in the fields of a unique index: `data.indexName` names the index, \
                    `data.id` the document, for whoever may read there. Nothing was written.
                    """,
                remedy: "Write other values, or change that document first; `documents.describe` shows the indexes.")
        case .forbidden:
            Facts(
                name: "forbidden", code: -32022, message: "Forbidden", retryable: false,
                when: """
                    The connection's role has not been granted this: `data.grant` is what is missing, by store, scope (left \
                    out: any would do), access group of secrets (left out: none) and verbs. It says nothing of whether the thing exists. Of a deletion in slices that loses its \
                    right meanwhile `data.deleted` documents were deleted. With id null: this user has no \
                    role on this socket, and the connection ends.
                    """,
                remedy: "`session.hello` shows the role and its grants; the daemon's administrator gives them.")
        case .noSpace:
            Facts(
                name: "noSpace", code: -32008, message: "No space left on the disk", retryable: true,
                when: """
                    The disk is full: this change was not stored, and nobody else's was touched. Reads and deletions go on. With \
                    `data.hint`, it is too much for one transaction, and less at once may do; `data.limit` items may be removed.
                    """,
                remedy:
                    "Free space, by deletions for example, and send it again: `storage.status` says how much is missing and what takes it (`space`)."
            )
        case .outcomeUnknown:
            Facts(
                name: "outcomeUnknown", code: -32009, message: "Outcome unknown", retryable: false,
                when:
                    "The disk failed to sync: whether this change survives is not known. The daemon stops after saying so.",
                remedy: "Reconnect when it runs again, read the item and its `rev`, then decide.")
        case .overloaded:
            Facts(
                name: "overloaded", code: -32010, message: "Overloaded", retryable: true,
                when: "A bound on connections or memory is reached.",
                remedy: "Try again after a pause; close idle connections.")
        case .shuttingDown:
            Facts(
                name: "shuttingDown", code: -32011, message: "Shutting down", retryable: true,
                when: "The daemon is draining: this request was not begun.", remedy: "Reconnect and send it again.")
        case .replyTooLarge:
            Facts(
                name: "replyTooLarge", code: -32012, message: "Reply too large", retryable: false,
                when: "The reply would be longer than `data.limit` bytes.", remedy: "Ask for fewer items at once.")
        case .compacted:
            Facts(
                name: "compacted", code: -32013, message: "Changes no longer kept", retryable: false,
                when: """
                    The changes that follow `afterRev` are no longer all kept, or those that tell what there was at `atRev` or before `rev`; \
                    from `data.oldestRev` on they are.
                    """,
                remedy: "Read the items themselves, then go on with the `rev` of what was read.")
        case .epochChanged:
            Facts(
                name: "epochChanged", code: -32014, message: "Another history", retryable: false,
                when: "`epoch` is not this daemon's: a restore or a quarantine has begun another history.",
                remedy: "Forget the revisions, read the items anew, and remember the epoch of `session.hello`.")
        case .tooManySubscriptions:
            Facts(
                name: "tooManySubscriptions", code: -32015, message: "Too many subscriptions", retryable: false,
                when: "The connection, or all of them together, have `data.limit` subscriptions and waits under way.",
                remedy: "End some with `changes.unwatch`; one subscription can cover many items.")
        case .liveQueryTooLarge:
            Facts(
                name: "liveQueryTooLarge", code: -32019, message: "Live query too large", retryable: false,
                when: """
                    A live query would keep more than `data.limit` documents or bytes, as `data.hint` says: when it begins, or when \
                    so many have come to match.
                    """,
                remedy: "Narrow its `where`, or give it a `limit`: then it keeps the first few documents alone.")
        case .indexNeeded:
            Facts(
                name: "indexNeeded", code: -32024, message: "Index needed", retryable: false,
                when: """
                    A query would have to look at every document of a collection with more than `data.limit`: no index fits it, \
                    and `allowScan` does not say that it may. `data.reason` names the fields that an index should have. Or a collection is \
                    searched that has no `searchFields`.
                    """,
                remedy: "Configure that index, or send `allowScan: true` when it may take long.")
        case .indexBuilding:
            Facts(
                name: "indexBuilding", code: -32026, message: "Index is being built", retryable: true,
                when: """
                    A collection is searched whose search index does not have all documents yet; `data.reason` says how far it is.
                    """,
                remedy: "Try again later; `documents.describe` with `waitMs` waits until it is ready.")
        case .timeout:
            Facts(
                name: "timeout", code: -32017, message: "Timeout", retryable: true,
                when: """
                    A query took longer than its `timeoutMs`, `data.limit` milliseconds. Nothing was changed, but for what \
                    `data.deleted` counts.
                    """,
                remedy: "Narrow it, give it an index, or more time.")
        case .cancelled:
            Facts(
                name: "cancelled", code: -32018, message: "Cancelled", retryable: false,
                when: "`rpc.cancel` has ended this query, transfer or wait.", remedy: "Nothing, when it was meant.")
        case .descriptorMissing:
            Facts(
                name: "descriptorMissing", code: -32030, message: "Descriptor missing", retryable: false,
                when: """
                    A request with `fd: true` found no descriptor: none came with its line or before it, they were taken by \
                    earlier requests, more than `data.limit` waited, or the kernel cut them off.
                    """,
                remedy: "Pass one descriptor a request (SCM_RIGHTS), in the same sendmsg as the request's first byte.")
        case .pathDenied:
            Facts(
                name: "pathDenied", code: -32031, message: "Path denied", retryable: false,
                when: """
                    The daemon opens no such path for this client: only for its own user, beneath one of its configured \
                    `importRoots`, past no symbolic link, and never inside its data directory.
                    """,
                remedy: "Open the file yourself and pass its descriptor (`fd: true`).")
        case .badRecord:
            Facts(
                name: "badRecord", code: -32032, message: "Bad record", retryable: false,
                when: """
                    An import with `onError: \"fail\"` met a record that cannot be stored; `data.line` and `data.offset` \
                    (bytes) say where it begins, `data.hint` what is wrong. What came before it is stored.
                    """,
                remedy: "Correct it and go on from `data.offset`, or import with `onError: \"skip\"`.")
        case .transferFailed:
            Facts(
                name: "transferFailed", code: -32033, message: "Transfer failed", retryable: false,
                when: """
                    The descriptor could not be read or written to its end; `data.hint` says why. An import has stored \
                    what came before `data.offset`.
                    """,
                remedy: "Look at the other end, then go on from `data.offset`, or begin anew.")
        case .notFound:
            Facts(
                name: "notFound", code: -32050, message: "Not found", retryable: false,
                when: """
                    What would be changed, brought back or read in parts is not there. Reading a document that is absent is \
                    no error.
                    """,
                remedy: """
                    `list` and `scopes` show what is there, and `put` makes it; `documents.restore` brings a document back while its \
                    tombstone is kept.
                    """)
        case .patchFailed:
            Facts(
                name: "patchFailed", code: -32051, message: "Patch failed", retryable: false,
                when: """
                    A patch does not fit the document: `data.index` is the operation, `data.path` the place (a JSON pointer), \
                    `data.reason` what is wrong there. Nothing was written.
                    """,
                remedy: "Read the document, and patch what is there.")
        case .referenced:
            Facts(
                name: "referenced", code: -32040, message: "Referenced", retryable: false,
                when: """
                    Others refer to a document that was to be deleted (`data.id`), and their collection is configured with \
                    `onDelete: "deny"`. For whoever may read there, `data.collection` and `data.field` say which, `data.ids` who (10 \
                    at most), `data.count` how many (1,000: or more). Nothing was deleted; of a deletion in slices `data.deleted` documents were.
                    """,
                remedy: "Delete or change those first.")
        case .tooManyDocuments:
            Facts(
                name: "tooManyDocuments", code: -32041, message: "Too many documents", retryable: false,
                when: """
                    What would be deleted, changed or undone in one transaction is more than `data.limit` documents or 64 MiB of values. \
                    Nothing was; of a deletion in slices `data.deleted` documents were.
                    """,
                remedy:
                    "Delete without `atomic`, so that it goes in slices; delete those first who refer to what is deleted."
            )
        case .schemaTooNew:
            Facts(
                name: "schemaTooNew", code: -32052, message: "Schema too new", retryable: false,
                when: """
                    The collection's documents are of `data.storedVersion`, and the client knows them up to \
                    `data.declaredVersion` only: it declared that with `documents.configure` or `documents.describe`, in this request \
                    or earlier on this connection. Nothing was written.
                    """,
                remedy: "Update the application: another one, which is newer, has migrated the collection.")
        case .sealed:
            Facts(
                name: "sealed", code: -32060, message: "Sealed", retryable: true,
                when: """
                    The secrets are sealed: no key is at hand that opens them, or they were locked. All else works. Nothing was looked up.
                    """,
                remedy:
                    "Have somebody unlock them (`secrets.unlock`), then send it again; `secrets.status` shows the state."
            )
        case .integrity:
            Facts(
                name: "integrity", code: -32061, message: "Integrity", retryable: false,
                when: """
                    What is on the disk is not what was written there: damaged, taken from another place, or an older state; \
                    `data.hint` says what. Nothing of it is shown; what goes out by descriptor its reader holds against its \
                    digest. What lies elsewhere is still served.
                    """,
                remedy:
                    "`kura doctor` names the command that brings it back: from the newest snapshot and the log. Look at the disk, and for who changed the data directory."
            )
        case .wrongKey:
            Facts(
                name: "wrongKey", code: -32062, message: "Wrong key", retryable: false,
                when: """
                    The passphrase opens no slot; without one: the keys that the daemon can read by itself open none.
                    """,
                remedy: "Say the right passphrase; `secrets.slots` shows which slots there are.")
        case .installationMismatch:
            Facts(
                name: "installationMismatch", code: -32067, message: "Installation mismatch", retryable: false,
                when: """
                    The service's secrets are those of another installation of the application than this connection has named in `session.hello`: \
                    it was installed anew while they stayed. Nothing of them is shown, and nothing was changed.
                    """,
                remedy:
                    "Ask the user: `secrets.clear` with that installation as `confirm` (`secrets.describe` tells it) empties the service, `secrets.configure` takes the secrets over."
            )
        case .protocolMismatch:
            Facts(
                name: "protocolMismatch", code: -32053, message: "Protocol mismatch", retryable: false,
                when: """
                    The client says in `session.hello` that it speaks another version of this protocol than the daemon: `data.protocol` is the \
                    daemon's. Nothing else of that request was done, and the connection goes on.
                    """,
                remedy:
                    "Update whichever is the older one. A client that knows the daemon's version too says that one instead."
            )
        case .forged:
            Facts(
                name: "forged", code: -32065, message: "Forged", retryable: false,
                when: """
                    A ciphertext is none, has changed, or was sealed by another key, for another `associatedData`, or under another \
                    name of the key. Nothing of what is inside is shown.
                    """,
                remedy: "Send the ciphertext as it came, with what it was sealed for.")
        case .tokenUnusable:
            Facts(
                name: "tokenUnusable", code: -32066, message: "Token unusable", retryable: false,
                when: """
                    A token for a secret leads to nothing; `data.reason` says why. `spent`: somebody has used it. `own`: it is for \
                    another connection than the one that asked for it. `unknown`: there is none, or it has expired, or the secrets were \
                    locked or the daemon started since.
                    """,
                remedy: "Have another one made; when it was `spent` and not by you, take the secret for stolen.")
        case .tokenInvalid:
            Facts(
                name: "tokenInvalid", code: -32070, message: "Token invalid", retryable: false,
                when: """
                    A win token is not one that counts here; `data.reason` says why. `unknown`: this daemon has not given it since it started. \
                    `ofAnotherKey`: it was given for another one. `spent`: its holder has used it, or it is long past. \
                    `lost`: it cannot be renewed, since its time was over, or somebody else brought a value. Nothing was changed. To put with \
                    such a token is no error: what comes is stored as stale, and a blob is declined.
                    """,
                remedy:
                    "Get the value again, with `claim`; put what you have without a token if it is to count as fresh.")
        case .digestMismatch:
            Facts(
                name: "digestMismatch", code: -32074, message: "Digest mismatch", retryable: false,
                when: "The content that came does not have the digest that the request states. Nothing was stored.",
                remedy: "Compute BLAKE2b-256 of the content once more, or send it once more.")
        case .rangeNotSatisfiable:
            Facts(
                name: "rangeNotSatisfiable", code: -32075, message: "Range not satisfiable", retryable: false,
                when: "`range` begins or ends behind the content's end, which is at `data.limit` bytes.",
                remedy: "Ask `blobs.stat` how long it is; without `length` the range goes to the end.")
        case .uploadNotFound:
            Facts(
                name: "uploadNotFound", code: -32076, message: "Upload not found", retryable: false,
                when: """
                    There is no such upload: it was committed or aborted, its connection or its lease has ended, or the daemon has started \
                    anew.
                    """,
                remedy: "Begin another one; with `leaseSeconds` it outlives its connection.")
        case .notSupported:
            Facts(
                name: "notSupported", code: -32080, message: "Not supported", retryable: false,
                when:
                    "This daemon does not do that as it was started, or nobody can undo that; `data.hint` says why. Nothing was changed.",
                remedy: "Start a daemon for it: faults are for ephemeral ones (`kurad --ephemeral`).")
        }
    }
}
