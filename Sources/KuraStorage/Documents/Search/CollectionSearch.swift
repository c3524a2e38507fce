public import KuraBytes

/// How the full text index of a collection stands in the tables; the fold thread tells.
struct SearchStatus: Sendable {
    /// What is in the table `searches`; raw values are on disk.
    enum State: UInt8, Sendable {
        case building = 1
        case ready = 2
        /// The collection is searched otherwise now, or not at all; its table goes in slices.
        case dropping = 3
    }

    /// Its table is `search_N`.
    var number: Int64
    var collection: UInt32
    /// What it was built from.
    var tableText: [UInt8]
    var state: State
    /// Documents that the build has gone through, deleted ones counted, as far as one can tell.
    var done: Int
    /// Documents that have text.
    var entries: Int

    /// What the operator is told at the end of a build.
    func line(took time: UInt64, longestPiece: UInt64) -> String {
        let pieces = "in \(time / 1_000_000) ms, pieces of at most \(longestPiece / 1_000_000) ms"
        return state == .ready
            ? "search index \(number) is built: \(entries) entries \(pieces)" : "search index \(number) was given up"
    }
}

/// The full text search of one collection: how it is configured now, joined with what the tables have. Belongs to the loop.
public final class CollectionSearch {
    /// How it is configured.
    public let definition: SearchDefinition
    private let status: SearchStatus?

    init(_ definition: SearchDefinition, _ statuses: [SearchStatus]) {
        self.definition = definition
        status = statuses.last { $0.tableText == definition.tableText && $0.state != .dropping }
    }

    /// All documents are in it, as of any revision that the tables can be read at from now on.
    public var isReady: Bool { status?.state == .ready }
    /// Documents that the build has gone through, deleted ones counted.
    public var done: Int { status?.done ?? 0 }
    /// Documents that have text.
    public var entries: Int { status?.entries ?? 0 }
    /// Its table is `search_N`; 0 while it has none.
    var number: Int64 { status?.number ?? 0 }
}

/// What a collection's scope keeps to tell how it is searched.
struct ScopeSearch {
    /// As it is configured and stands in the tables; nil when the collection is not searched.
    private(set) var current: CollectionSearch?
    private var text: [UInt8] = []
    private var definition: SearchDefinition?
    private var statuses: [SearchStatus] = []

    /// Takes in what is configured.
    mutating func define(_ text: Bytes) {
        guard !self.text.withBytes({ $0.equals(text) }) else { return }
        self.text = Array(text)
        // A text that this version does not understand never stops anybody.
        definition = text.isEmpty ? nil : SearchDefinition(stored: text)
        join()
    }

    /// Takes in what the tables have.
    mutating func publish(_ statuses: [SearchStatus]) {
        self.statuses = statuses
        join()
    }

    private mutating func join() { current = definition.map { CollectionSearch($0, statuses) } }
}

extension DocumentsStore {
    /// How the collection is searched; nil when it is not.
    public func search(_ collection: Bytes) -> CollectionSearch? {
        ledger.scopes.find(.documents, collection)?.collection.search.current
    }
}
