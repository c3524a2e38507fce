import KuraBytes

/// One index of a collection as the loop knows it: what it is to be, and what the fold thread has made of it so far.
public struct CollectionIndex: Sendable {
    public enum State: String, Sendable {
        /// Not all documents are in it.
        case building
        /// It has every document, as of any revision that the tables can be read at from now on.
        case ready
        /// It was to be unique, and two documents have the same key.
        case failed
    }

    public let definition: IndexDefinition
    /// Its table is `index_N`; 0 while it has none. Numbers are never used again.
    public internal(set) var number: Int64 = 0
    public internal(set) var state = State.building
    /// Documents that the build has gone through, deleted ones counted, as far as one can tell.
    public internal(set) var done = 0
    /// Entries, and bytes of their keys.
    public internal(set) var entries = 0
    public internal(set) var bytes = 0
    /// The ids of two documents with the same key, for which it has failed.
    public internal(set) var conflict: IndexConflict?
}

/// Two documents that cannot both be in a unique index.
public struct IndexConflict: Sendable, Equatable {
    public var first: [UInt8]
    public var second: [UInt8]
}

/// How an index stands in the tables; the fold thread tells.
struct IndexStatus: Sendable {
    /// What is in the table `indexes`; raw values are on disk.
    enum State: UInt8, Sendable {
        case building = 1
        /// Complete and unique so far. What was written before the loop knew that it was complete may not have been checked;
        /// when that is folded without a conflict, it is ready.
        case built = 2
        case ready = 3
        case failed = 4
        /// Its definition is gone, its table goes in slices.
        case dropping = 5
    }

    var number: Int64
    var collection: UInt32
    var name: [UInt8]
    /// The definition's text.
    var text: [UInt8]
    var state: State
    var done: Int
    var entries: Int
    var bytes: Int
    var conflict: IndexConflict?

    /// What the operator is told at the end of a build.
    func line(took time: UInt64, longestPiece: UInt64) -> String {
        let what = "index \(number) (\(name.withBytes { String($0) }))"
        let pieces = "in \(time / 1_000_000) ms, pieces of at most \(longestPiece / 1_000_000) ms"
        return switch state {
        case .ready: "\(what) is built: \(entries) entries \(pieces)"
        case .failed: "\(what) is not unique: its build ended"
        case .building, .built, .dropping: "\(what) was given up"
        }
    }
}

/// The indexes of one collection: definitions as they are configured now, joined with what the tables have. Belongs to the
/// loop.
public final class CollectionIndexes {
    public private(set) var all: [CollectionIndex] = []
    /// Those of them that writes are held against.
    private(set) var uniques: [UniqueIndex] = []
    /// Those of them that queries may walk over.
    private(set) var usable: [QueryIndex] = []
    /// What was configured last, as text.
    private var text: [UInt8] = []
    private var definitions: [IndexDefinition] = []
    private var statuses: [IndexStatus] = []

    /// Nothing is being built or removed.
    public var isSettled: Bool { all.allSatisfy { $0.state != .building } }

    /// Takes in what is configured.
    func define(_ text: Bytes) {
        guard !self.text.withBytes({ $0.equals(text) }) else { return }
        self.text = Array(text)
        // A text that this version does not understand never stops anybody.
        definitions = text.isEmpty ? [] : (try? IndexDefinition.list(text)) ?? []
        join()
    }

    /// Takes in what the tables have.
    func publish(_ statuses: [IndexStatus]) {
        self.statuses = statuses
        join()
    }

    private func join() {
        all = definitions.map { definition in
            var index = CollectionIndex(definition: definition)
            if let status = statuses.last(where: { $0.text == definition.text && $0.state != .dropping }) {
                index.number = status.number
                index.state =
                    switch status.state {
                    case .ready: .ready
                    case .failed: .failed
                    case .building, .built, .dropping: .building
                    }
                index.done = status.done
                index.entries = status.entries
                index.bytes = status.bytes
                index.conflict = status.conflict
            }
            return index
        }
        usable = all.compactMap { index in
            guard index.state == .ready, !index.definition.isEach else { return nil }
            let definition = index.definition
            return QueryIndex(
                number: index.number, name: definition.name, fields: definition.fields, filter: definition.filter,
                isUnique: definition.isUnique)
        }
        uniques = all.compactMap { index in
            guard index.definition.isUnique, index.state != .failed else { return nil }
            return UniqueIndex(index.definition, number: index.number)
        }
    }
}

/// A unique index as writes are held against it.
struct UniqueIndex {
    let definition: IndexDefinition
    /// 0 while it has no table.
    let number: Int64
    /// Tells its keys from those of others.
    let seed: UInt64

    init(_ definition: IndexDefinition, number: Int64) {
        self.definition = definition
        self.number = number
        seed = definition.text.withBytes { Hash.bytes($0, seed: 0) }
    }
}
