extension Kura {
    /// The documents of one collection, as values of a type of your own.
    ///
    /// The type is a plain value: nothing of Kura's is on it. A document is what the value is encoded as, under the value's `id`
    /// (a text, a number, a `UUID`, …). Making this costs nothing and asks nothing of the daemon; a collection comes to be with its
    /// first document.
    ///
    ///     struct Card: Codable, Identifiable, Sendable {
    ///         var id: String
    ///         var front: String
    ///         var due: Int
    ///     }
    ///     let cards = kura.documents("cards", of: Card.self)
    ///     try await cards.put(Card(id: "7", front: "neko", due: 3))
    ///     for try await card in cards.find({ $0.due < 5 }) { print(card.front) }
    ///
    /// - Parameters:
    ///   - name: the collection's, 1 to 128 bytes.
    ///   - type: what its documents are read as.
    ///   - example: a value whose fields stand for those that cannot be made up when a query has to find out what they are
    ///     called: an enum that does not list its cases, say. Most types need none.
    /// - Returns: the collection, a value.
    public func documents<Model>(
        _ name: String, of type: Model.Type = Model.self, example: Model? = nil
    ) -> DocumentCollection<Model> {
        DocumentCollection(kura: self, name: name, names: FieldNames.of(type, example: example))
    }
}

/// The documents of one collection as values of one type.
///
/// A value that was read is a copy: editing it changes nothing but the copy, from any task or thread, and it stays what it is when
/// the document changes or goes. Every call is a request of its own, so a collection can be used from many tasks at once.
public struct DocumentCollection<Model>: Sendable
where Model: Codable & Identifiable & Sendable, Model.ID: Codable & Sendable {
    /// The collection's name.
    public let name: String
    let kura: Kura
    let names: FieldNames

    init(kura: Kura, name: String, names: FieldNames) {
        self.kura = kura
        self.name = name
        self.names = names
    }

    // MARK: Reading

    /// One document's value; nil when there is none.
    /// - Throws: `wrongType` when what is stored is no `Model`.
    public func get(_ id: Model.ID) async throws(KuraError) -> Model? { try await stored(id)?.value }

    /// One document with its revision; nil when there is none.
    /// - Throws: `wrongType` when what is stored is no `Model`.
    public func stored(_ id: Model.ID) async throws(KuraError) -> StoredDocument<Model>? {
        guard let row = try await row(try DocumentKey.text(id)) else { return nil }
        return try read(row)
    }

    /// Several documents as of one moment: those that are there, in the order asked for. At most 1,000.
    public func getMany(_ ids: some Sequence<Model.ID> & Sendable) async throws(KuraError) -> [StoredDocument<Model>] {
        var keys: [String] = []
        for id in ids { keys.append(try DocumentKey.text(id)) }
        var parameters = self.parameters
        parameters.add("ids", strings: keys)
        let answer = try await kura.call("documents.getMany", parameters)
        var documents: [StoredDocument<Model>] = []
        for row in try DocumentRow.rows(answer["documents"], "documents.getMany") { documents.append(try read(row)) }
        return documents
    }

    /// Whether there is a document. Its value is not sent, and need be no `Model`.
    public func exists(_ id: Model.ID) async throws(KuraError) -> Bool {
        var test = ParameterText()
        test.add("_id", try DocumentKey.text(id))
        var parameters = self.parameters
        parameters.add("where", json: test.object)
        guard let count = try await kura.call("documents.count", parameters).integer("count") else {
            throw .badAnswer("documents.count")
        }
        return count > 0
    }

    /// How many documents there are, or match.
    nonisolated(nonsending) public func count(
        _ condition: (Fields<Model>) -> Condition<Model> = { _ in .everything }
    ) async throws(KuraError) -> Int {
        try await find(condition).count()
    }

    /// All documents in the order of their ids' bytes, a page at a time.
    public func list(pageSize: Int = 100) -> DocumentQuery<Model> {
        DocumentQuery(collection: self, selector: .success(nil), sort: .success([]), isList: true).pageSize(pageSize)
    }

    /// The documents that match, fetched a page at a time while they are iterated over.
    ///
    ///     for try await card in cards.find({ $0.deck == "fr" && $0.due < now }, sort: { [$0.due.ascending] }).limit(20) { … }
    ///
    /// Nothing is asked before the first element. A collection of more than 10,000 documents needs an index for it, or
    /// `allowingScan()`.
    /// - Parameters:
    ///   - condition: what they have; all of them when it is left out.
    ///   - sort: the fields to sort by, the first counts first; in the order of the access when it is left out.
    /// - Returns: the query, a value that can be iterated over any number of times.
    public func find(
        _ condition: (Fields<Model>) -> Condition<Model> = { _ in .everything },
        sort: (Fields<Model>) -> [SortKey<Model>] = { _ in [] }
    ) -> DocumentQuery<Model> {
        let selector = Result { () throws(KuraError) in try condition(fields).selector() }
        let keys = Result { () throws(KuraError) in
            var keys: [[UInt8]] = []
            for key in sort(fields) { keys.append(try key.text()) }
            return keys
        }
        return DocumentQuery(collection: self, selector: selector, sort: keys, isList: false)
    }

    /// The first document that matches; nil when none does.
    ///
    ///     let next = try await cards.first(where: { !$0.isDone }, sort: { [$0.due.ascending] })
    nonisolated(nonsending) public func first(
        where condition: (Fields<Model>) -> Condition<Model>,
        sort: (Fields<Model>) -> [SortKey<Model>] = { _ in [] }
    ) async throws(KuraError) -> StoredDocument<Model>? {
        try await find(condition, sort: sort).first()
    }

    var fields: Fields<Model> { Fields(names: names) }

    // MARK: Writing

    /// Stores a value as its id's document, whole, whatever was there.
    /// - Returns: the document's new revision, also when it already had this value.
    @discardableResult
    public func put(_ value: Model) async throws(KuraError) -> Int64 {
        try await put(key: try DocumentKey.text(value.id), try FaceCoding.encode(value), ifRev: nil)
    }

    /// Stores a value only when its document is at a revision; 0: only when there is none.
    ///
    /// That somebody else was faster is an answer and no error: read again, or use `mutate`, which does so by itself.
    public func put(_ value: Model, ifRev rev: Int64) async throws(KuraError) -> ConditionalWrite {
        let (key, text) = (try DocumentKey.text(value.id), try FaceCoding.encode(value))
        do throws(KuraError) {
            return .done(rev: try await put(key: key, text, ifRev: rev))
        } catch {
            return try Self.conflict(error)
        }
    }

    /// Stores several values in one step: all or none, under one revision, which is returned. At most 10,000, no id twice.
    @discardableResult
    public func putMany(_ values: some Sequence<Model> & Sendable) async throws(KuraError) -> Int64 {
        var documents: [[UInt8]] = []
        for value in values {
            var document = ParameterText()
            document.add("id", try DocumentKey.text(value.id))
            document.add("value", json: try FaceCoding.encode(value))
            documents.append(document.object)
        }
        var parameters = self.parameters
        parameters.add("documents", json: JSONElements.array(documents))
        return try Self.rev(try await kura.call("documents.putMany", parameters), "documents.putMany")
    }

    /// Deletes a document.
    /// - Returns: whether there was one.
    @discardableResult
    public func delete(_ id: Model.ID) async throws(KuraError) -> Bool {
        var parameters = self.parameters
        parameters.add("id", try DocumentKey.text(id))
        return try await kura.call("documents.delete", parameters).boolean("deleted") ?? false
    }

    /// Deletes a document only when it is at a revision.
    public func delete(_ id: Model.ID, ifRev rev: Int64) async throws(KuraError) -> ConditionalWrite {
        var parameters = self.parameters
        parameters.add("id", try DocumentKey.text(id))
        parameters.add("ifRev", rev)
        do throws(KuraError) {
            return .done(rev: try Self.rev(try await kura.call("documents.delete", parameters), "documents.delete"))
        } catch {
            return try Self.conflict(error)
        }
    }

    /// Deletes several documents in one step, at most 10,000; ids of no documents are passed over.
    /// - Returns: how many there were.
    @discardableResult
    public func deleteMany(_ ids: some Sequence<Model.ID> & Sendable) async throws(KuraError) -> Int {
        var keys: [String] = []
        for id in ids { keys.append(try DocumentKey.text(id)) }
        var parameters = self.parameters
        parameters.add("ids", strings: keys)
        return Int(clamping: try await kura.call("documents.deleteMany", parameters).integer("deleted") ?? 0)
    }

    /// Deletes the documents that match: in one step up to 5,000 of them, more in several.
    /// - Returns: how many there were.
    @discardableResult
    nonisolated(nonsending) public func deleteMany(
        allowingScan: Bool = false, where condition: (Fields<Model>) -> Condition<Model>
    ) async throws(KuraError) -> Int {
        var parameters = self.parameters
        parameters.add("where", json: try condition(fields).selector() ?? Array("{}".utf8))
        parameters.add("allowScan", flag: allowingScan)
        return Int(clamping: try await kura.call("documents.deleteMany", parameters).integer("deleted") ?? 0)
    }

    // MARK: Calls

    var parameters: ParameterText {
        var parameters = ParameterText()
        parameters.add("collection", name)
        return parameters
    }

    func row(_ key: String) async throws(KuraError) -> DocumentRow? {
        var parameters = self.parameters
        parameters.add("id", key)
        let answer = try await kura.call("documents.get", parameters)
        guard let rev = answer.integer("rev") else { throw .badAnswer("documents.get") }
        guard rev > 0, let text = answer["value"] else { return nil }
        return DocumentRow(key: key, rev: rev, text: text)
    }

    /// The value of a row.
    func read(_ row: DocumentRow) throws(KuraError) -> StoredDocument<Model> {
        let place = "document \(row.key) of \(name)"
        let value: Model
        do throws(KuraError) {
            value = try FaceCoding.decode(Model.self, from: row.text)
        } catch {
            throw .mismatch(place, Model.self, error)
        }
        // Written back, it would be another document.
        let own = try DocumentKey.text(value.id)
        guard own == row.key else {
            throw KuraError(
                .wrongType, "\(place) has the id \(own) within", advice: "Store it under its own id, or correct that.")
        }
        return StoredDocument(value, rev: row.rev)
    }

    private func put(key: String, _ text: [UInt8], ifRev: Int64?) async throws(KuraError) -> Int64 {
        var parameters = self.parameters
        parameters.add("id", key)
        parameters.add("value", json: text)
        parameters.add("ifRev", ifRev)
        return try Self.rev(try await kura.call("documents.put", parameters), "documents.put")
    }

    static func rev(_ answer: JSONObject, _ method: String) throws(KuraError) -> Int64 {
        guard let rev = answer.integer("rev") else { throw .badAnswer(method) }
        return rev
    }

    /// A conflict as a value; other errors are thrown.
    static func conflict(_ error: KuraError) throws(KuraError) -> ConditionalWrite {
        switch error.kind {
        case .conflict: .conflict(currentRev: error.currentRev ?? 0)
        // A patch of what is gone.
        case .notFound: .conflict(currentRev: 0)
        default: throw error
        }
    }
}
