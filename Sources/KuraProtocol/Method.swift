/// A parameter's or result member's type, with its limits. Sizes are bytes of UTF-8.
public indirect enum ValueType: Sendable {
    /// An identifier: 1…`maxBytes` bytes, no control characters (U+0000…U+001F, U+007F…U+009F).
    case name(maxBytes: Int)
    /// Text of at most `maxBytes` bytes.
    case text(maxBytes: Int)
    /// Any JSON value. Its limit is the store's, which is an error of its own.
    case json
    /// A whole number; `5.0` is one, as in JSON Schema.
    case integer(ClosedRange<Int64>)
    case boolean
    /// RFC 3339 UTC with milliseconds; results only.
    case timestamp
    /// Members by name, each of the same type.
    case map(of: ValueType)
    case list(of: ValueType, maxItems: Int)
    case object([Field])
    /// One of these words.
    case word([String])
}

/// A parameter or a member of a result.
public struct Field: Sendable {
    public let name: String
    public let type: ValueType
    public let isRequired: Bool
    public let summary: String
    /// Nobody but the two ends may see it: the command line reads it from standard input or asks for it without an echo, and the daemon
    /// zeroes the memory that it came through.
    public let isSecret: Bool

    public init(
        _ name: String, _ type: ValueType, required: Bool = false, secret: Bool = false, _ summary: String
    ) {
        self.name = name
        self.type = type
        self.isRequired = required
        self.summary = summary
        isSecret = secret
    }
}

/// One method, declared once. Dispatch, validation, `rpc.discover`, the tables of proto-docs, CLI help and the coverage
/// test are all made from this.
public struct Method: Sendable {
    public enum Access: String, Sendable {
        case read, write
    }
    /// What the audit of secrets is told of it.
    public enum Audit: Sendable {
        case nothing
        /// It is done whether the audit can take it or not: it locks, looks into the audit, or mends it.
        case told
        /// It is not done when the audit cannot take it.
        case required
        /// Its handler tells, where there are secrets in what it hands out.
        case byHandler
    }

    public let name: String
    public let store: Store
    public let access: Access
    /// What the connection must have been granted.
    public let need: Need
    /// One line, for lists and help.
    public let summary: String
    /// In the order in which they may be given by position.
    public let parameters: [Field]
    public let result: [Field]
    /// Kinds that this method adds to those that any request can meet.
    public let errors: [ErrorKind]
    /// Parameters of an example request, as JSON text; the CLI's help shows it.
    public let example: String
    /// Position of `requestKey`, which every write takes but the long jobs; nil for others.
    public let requestKeyPosition: Int?
    /// May be answered ahead of requests of the same connection that came before and wait.
    public let isOutOfBand: Bool
    /// What it changes is not in the log: it has no part in transactions, and takes no request key.
    public let isApart: Bool
    /// It changes one collection, which may have come to a version that the connection does not know.
    public let changesCollection: Bool
    /// It is the work on a single item: one request takes much less time than others may.
    let isSingle: Bool
    public let audit: Audit

    /// `audit`: `required` for all that is about secrets, when it is not said.
    public init(
        _ name: String, _ store: Store, _ access: Access, needs need: Need, _ summary: String, parameters: [Field] = [],
        result: [Field], errors: [ErrorKind] = [], example: String = "{}",
        outOfBand: Bool = false, apart: Bool = false, single: Bool = false, audit: Audit? = nil
    ) {
        self.name = name
        self.store = store
        self.access = access
        self.need = need
        self.summary = summary
        // A long job is resumed, not answered again: its result is not in one commit with its changes.
        let takesKey = access == .write && !outOfBand && !apart
        requestKeyPosition = takesKey ? parameters.count : nil
        self.parameters = takesKey ? parameters + [.requestKey] : parameters
        self.result = result
        changesCollection = store == .documents && access == .write && parameters.first?.name == "collection"
        var errors = errors
        if changesCollection, !errors.contains(.schemaTooNew) { errors.append(.schemaTooNew) }
        if takesKey { errors.append(.requestKeyReused) }
        self.errors = errors
        self.example = example
        self.isOutOfBand = outOfBand
        isApart = apart
        isSingle = single
        self.audit = audit ?? (store == .secrets ? .required : .nothing)
    }

    /// Some parameter or result is a secret.
    public var hasSecrets: Bool { parameters.contains(where: \.isSecret) || result.contains(where: \.isSecret) }

    /// Whether `transaction.apply` takes it as an operation.
    public var isOperation: Bool { access == .write && store != .transaction && !isOutOfBand && !isApart }
}

/// The limits that the wire states; `session.hello` and `storage.status` repeat them.
public enum WireLimits {
    /// Version of the protocol: one more when a client of the version before could be misled.
    public static let protocolVersion = 1
    /// Name of a domain, a collection.
    public static let scopeBytes = 128
    /// A settings key, a document id.
    public static let keyBytes = 512
    /// What an application calls itself, and its version; a change's writer is `client/version`.
    public static let clientBytes = 128
    public static let versionBytes = 64
    /// Names of the members in which a document differs, together.
    public static let changedMembersBytes = 1024
    public static let settingsValueBytes = 1 << 20
    public static let settingsTotalBytes = 64 << 20
    public static let documentBytes = 8 << 20
    /// An attachment, and one that is sent or returned within JSON.
    public static let attachmentBytes = 512 << 20
    public static let inlineAttachmentBytes = 8 << 20
    public static let attachmentNameBytes = 255
    /// A media type.
    public static let contentTypeBytes = 127
    /// A blob, or a piece of one, that is sent or returned within JSON.
    public static let inlineBlobBytes = 11 << 20
    /// Operations of a JSON patch.
    public static let patchOperations = 1000
    public static let requestKeyBytes = 128
    /// A secret, as base64, and sealed; text of an attribute of one, and of all of them.
    public static let secretBytes = 1 << 20
    public static let secretBase64Bytes = 1_398_104
    public static let secretSealedBytes = 2_900_000
    public static let attributeBytes = 1024
    public static let attributesBytes = 8 << 10
    public static let secretsPage = 1000
    /// What a stored key signs, hashes or seals at once, the same as base64, what it makes of that by sealing, as base64, and what that
    /// belongs to.
    public static let dataBytes = 256 << 10
    public static let dataBase64Bytes = 349_528
    public static let ciphertextBytes = 349_588
    public static let associatedBytes = 4096
    /// Longest that a token for a secret is good.
    public static let tokenSeconds: Int64 = 86_400
    public static let passphraseBytes = 4096
    public static let slotLabelBytes = 128
    public static let transactionItems = 1000
    /// The most items that one undo restores.
    public static let undoneItems = 5000
    public static let getManyItems = 1000
    public static let listItems = 10_000
    /// Documents of a page of `documents.find`.
    public static let findItems = 1000
    /// Bytes of what is searched for, and of a mark around what was found.
    public static let searchBytes = 4096
    public static let markBytes = 64
    /// A path in a document.
    public static let pathBytes = 1024
    /// A cursor of a query: it may hold values of a document.
    public static let cursorBytes = 65_536
    /// Bytes of a selector.
    public static let selectorBytes = 512 << 10
    /// Longest that a query may take.
    public static let queryMilliseconds: Int64 = 600_000
    /// What a number of days can be.
    public static let days: ClosedRange<Int64> = 1...36_500
    /// Former versions of a document that a collection keeps, and bytes of all of them.
    public static let historyVersions: ClosedRange<Int64> = 1...10_000
    public static let historyBytes: ClosedRange<Int64> = 65_536...(1 << 40)
    /// Bytes where nobody says.
    public static let standardHistoryBytes = 256 << 20
    /// Seconds after which a relaxed change is synced.
    public static let flushSeconds: ClosedRange<Int64> = 1...3600
    /// Seconds that an entry of a cache is fresh, or stale.
    public static let cacheSeconds: ClosedRange<Int64> = 0...315_360_000
    /// Longest that `changes.wait` waits.
    public static let waitMilliseconds: Int64 = 600_000
    /// Largest integer that every JSON reader keeps exactly, 2^53 − 1 (RFC 7493, 2.2).
    public static let safeInteger: Int64 = 9_007_199_254_740_991
    /// A value of the model cache, its entity tag, and a tag.
    public static let modelBytes = 8 << 20
    public static let etagBytes = 512
    public static let tagBytes = 128
    public static let tags = 16
    public static let replyBytes = 32 << 20
    /// No line of the daemon's is longer: a batch that is nearly full may end with an aggregation that is full itself, or with one long item.
    /// Clients end a connection that brings more without a line end.
    public static let replyLineBytes = 4 * replyBytes
}
