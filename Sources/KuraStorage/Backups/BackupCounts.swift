extension BackupManifest {
    /// The items of each store that is counted, as of the revision, and the scopes that have any.
    public struct Counts: Equatable, Sendable {
        private var items = [Int](repeating: 0, count: Store.allCases.count)
        private var scopes = [Int](repeating: 0, count: Store.allCases.count)

        public init() {}

        public subscript(store: Store) -> Int {
            get { items[store.place] }
            set { items[store.place] = newValue }
        }

        /// Counts a scope, too, unless it is empty, or the number of the store's scopes has no name to be written under.
        mutating func add(_ store: Store, _ count: Int) {
            items[store.place] += count
            if count > 0, store.scopesName != nil { scopes[store.place] += 1 }
        }

        /// Each number by its name, of the stores that have all of the traits: first those that are no part of another.
        /// Scopes are counted where they may be named.
        public func named(_ traits: StoreDescription.Traits = .counted) -> [(String, Int)] {
            let stores = Store.all(traits)
            return (stores.filter { !$0.isPart } + stores.filter(\.isPart)).flatMap { store in
                let items = (store.roomName, self[store])
                return store.scopesName.map { [($0, scopes[store.place]), items] } ?? [items]
            }
        }

        /// Takes a number of a manifest over; one of an unknown name says nothing.
        mutating func set(_ name: String, _ number: Int) {
            for store in Store.all(.counted) {
                if store.roomName == name { items[store.place] = number }
                if store.scopesName == name { scopes[store.place] = number }
            }
        }
    }
}

extension Store {
    fileprivate var place: Int { Int(rawValue) - 1 }
    /// What the number of its scopes is called; nil where they may not be named, or their items are called so.
    fileprivate var scopesName: String? {
        let name = "\(described.scopeWord)s"
        return isPublic && name != roomName ? name : nil
    }
}
