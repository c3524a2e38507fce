import KuraBytes

/// Which part of everything is meant: stores that the log has (`settings`) and scopes (`documents/notes`). Of a seed bundle those in clear, and
/// `models`.
public struct BackupSelection: Sendable, Equatable {
    /// As they were written; empty for everything.
    public let words: [[UInt8]]
    private let isBundle: Bool
    private var stores: Set<[UInt8]> = []
    private var scopes: Set<[UInt8]> = []

    /// Everything.
    public init(isBundle: Bool = false) {
        words = []
        self.isBundle = isBundle
    }

    /// - Throws: `refused` when a word names no such store. Secrets go together or not at all: their sums are of all of a service.
    public init(_ words: [[UInt8]], isBundle: Bool = false) throws(BackupFault) {
        self.words = words
        self.isBundle = isBundle
        let known = isBundle ? Store.all(.clear).map(\.roomName) + ["models"] : Store.published.map(\.roomName)
        for word in words {
            let store = Array(word.prefix { $0 != UInt8(ascii: "/") })
            let name = String(decoding: store, as: UTF8.self)
            guard known.contains(name) else {
                let others = known.dropLast().joined(separator: ", ")
                throw .refused("'\(name)' is none of \(others) and \(known.last ?? "")")
            }
            if store.count == word.count {
                stores.insert(store)
            } else {
                guard name != "secrets" else { throw .refused("secrets are taken all together, or left out") }
                guard word.count > store.count + 1 else { throw .refused("'\(name)/' names no scope") }
                scopes.insert(word)
            }
        }
    }

    var isEverything: Bool { words.isEmpty && !isBundle }
    public var hasSecrets: Bool { !isBundle && (words.isEmpty || stores.contains(Array("secrets".utf8))) }

    /// The namespaces of the model cache that are meant; nil for all, none for a backup.
    public var namespaces: [[UInt8]]? {
        guard isBundle else { return [] }
        guard !words.isEmpty, !names("models") else { return nil }
        let room = Array("models/".utf8)
        return scopes.filter { $0.starts(with: room) }.map { Array($0.dropFirst(room.count)) }
    }

    /// Whether a store is named, as a whole.
    public func names(_ store: String) -> Bool { stores.contains(Array(store.utf8)) }

    /// Whether items of that store and scope are meant.
    func contains(_ store: Store, _ scope: Bytes) -> Bool {
        guard store.has(.backedUp) else { return false }
        guard !store.isSealed else { return hasSecrets }
        guard store == .configuration else { return contains(store.owner.roomName, scope) }
        // Named after what it is about; what is about the storage itself goes along.
        guard let slash = scope.firstIndex(of: UInt8(ascii: "/")) else { return true }
        let room = String(scope.extracting(0..<slash))
        guard room != "secrets" else { return hasSecrets }
        return contains(room, scope.extracting(slash + 1..<scope.count))
    }

    /// The words that name nothing among what a backup has.
    func missing(among scopes: Set<[UInt8]>) -> [[UInt8]] {
        self.scopes.filter { !scopes.contains($0) }
    }

    /// What a word would have to be to mean items of that store and scope; nil where no word names these alone.
    static func word(_ store: Store, _ scope: Bytes) -> [UInt8]? {
        guard store.has(.backedUp), !store.isSealed else { return nil }
        return store == .configuration
            ? Array(scope) : Array("\(store.owner.described.name)/".utf8) + Array(scope)
    }

    /// Whether entries of a namespace of the model cache are meant: never of a backup.
    func contains(namespace: Bytes) -> Bool { isBundle && contains("models", namespace) }

    private func contains(_ room: String, _ scope: Bytes) -> Bool {
        guard !words.isEmpty else { return true }
        let name = Array(room.utf8)
        return stores.contains(name) || scopes.contains(name + [UInt8(ascii: "/")] + Array(scope))
    }
}
