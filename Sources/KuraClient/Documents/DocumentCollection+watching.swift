extension DocumentCollection {
    /// What changes in the collection, from now on or behind `afterRev`. `Change.document(in:)` has a change's document as a plain value.
    ///
    ///     for try await event in cards.watch() {
    ///         guard case .changes(let changes, rev: _) = event else { continue }
    ///         for change in changes { print(change.key ?? "all", try change.document(in: cards)?.due ?? "gone") }
    ///     }
    public func watch(afterRev: Int64? = nil, values: Bool = true) -> ChangeStream {
        kura.changes(.documents(name, values: values), afterRev: afterRev)
    }

    /// One document as it is, and then each time it has become another one; nil while there is none. What changes faster than it is read is read once.
    /// - Throws: while iterating, `wrongType` when it cannot be read as `Model`; whatever any call throws.
    public func watch(_ id: Model.ID) -> DocumentStates<Model> { DocumentStates(collection: self, id: id) }
}

extension Change {
    /// The document that was written, when the change is one of `collection` and has its value; nil when it was deleted, or is another's.
    /// - Throws: `wrongType` when it cannot be read as `Model`.
    public func document<Model>(in collection: DocumentCollection<Model>) throws(KuraError) -> StoredDocument<Model>? {
        guard store == ChangeFilter.Store.documents.rawValue, scope == collection.name, let key, let value else {
            return nil
        }
        return try collection.read(DocumentRow(key: key, rev: rev, text: value.text))
    }
}

/// A document's states, one after the other, for as long as somebody iterates. It goes on over reconnects and restarts of the daemon.
public struct DocumentStates<Model>: AsyncSequence, Sendable
where Model: Codable & Identifiable & Sendable, Model.ID: Codable & Sendable {
    public typealias Element = StoredDocument<Model>?
    public typealias Failure = KuraError

    let collection: DocumentCollection<Model>
    let id: Model.ID

    public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
        private let collection: DocumentCollection<Model>
        private let id: Model.ID
        // It begins before the first reading: what happens in between is told.
        private let events: ChangeStream.AsyncIterator
        private var told: Int64?

        init(_ collection: DocumentCollection<Model>, _ id: Model.ID) {
            self.collection = collection
            self.id = id
            events = collection.watch(values: false).makeAsyncIterator()
        }

        public mutating func next() async throws(KuraError) -> StoredDocument<Model>?? {
            let key = try DocumentKey.text(id)
            while true {
                if told != nil {
                    guard let event = try await events.next() else { return nil }
                    switch event {
                    case .changes(let changes, rev: _):
                        guard changes.contains(where: { $0.key == key || $0.key == nil }) else { continue }
                    case .resync(let resync): if resync.reason == .epochChanged { told = -1 }
                    case .progress: continue
                    }
                }
                let state = try await collection.stored(id)
                let rev = state?.rev ?? 0
                guard told != rev else { continue }
                told = rev
                return .some(state)
            }
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(KuraError) -> StoredDocument<
            Model
        >?? { try await next() }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(collection, id) }
}
