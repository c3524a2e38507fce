extension DocumentCollection {
    /// How the collection's indexes stand, whoever has made them, in the order in which they were configured.
    public func indexes() async throws(KuraError) -> [DocumentIndexStatus] { try await described(waiting: false) }

    /// Has the collection have indexes, and waits until they are built.
    ///
    /// Those that are there as they are to be stay as they are, so every start of an application can say the same; one of the same name
    /// that is different, or has failed, is built anew. Indexes of other names, which somebody else may have made, stay; but the daemon is
    /// told the whole list, so of two who add different ones at the very same moment one may have to add its own again. Documents are
    /// read and written while an index is built, in the background; a task that is cancelled stops waiting, and not that.
    ///
    ///     try await chores.addIndexes([.init("byDue", on: { [$0.due] }), .init("byTitle", unique: true, on: { [$0.title] })])
    ///
    /// - Parameter indexes: at most 64 with those that are there; no name twice.
    /// - Returns: all indexes of the collection.
    /// - Throws: `uniqueViolation` when two documents stand in the way of a unique one, which stays as failed.
    @discardableResult
    public func addIndexes(_ indexes: [DocumentIndex<Model>]) async throws(KuraError) -> [DocumentIndexStatus] {
        var wanted: [IndexDefinition] = []
        for index in indexes { wanted.append(try index.definition(fields)) }
        let names = Set(wanted.map(\.name))
        guard names.count == wanted.count else {
            throw KuraError(
                .invalidParams, "two indexes of \(name) are to have one name", method: "documents.configure")
        }
        var present = try await described(waiting: false)
        let isThere = wanted.allSatisfy { definition in
            present.contains { $0.definition == definition && !$0.hasFailed }
        }
        if !isThere {
            let others = present.filter { !$0.isOfReference && !names.contains($0.name) }
            present = try await configure(others.map(\.definition) + wanted)
        }
        while present.contains(where: { names.contains($0.name) && $0.isBuilding }) {
            present = try await described(waiting: true)
        }
        for status in present where names.contains(status.name) {
            guard case .failed(let conflict) = status.state else { continue }
            throw KuraError(
                .uniqueViolation,
                "index \(status.name) of \(name) cannot be unique: \(conflict.joined(separator: " and ")) are equal",
                method: "documents.configure", advice: "Change or delete one of the two, then add the index again.")
        }
        return present
    }

    /// Takes an index away.
    /// - Returns: whether there was one.
    @discardableResult
    public func removeIndex(_ index: String) async throws(KuraError) -> Bool {
        let present = try await described(waiting: false).filter { !$0.isOfReference }
        guard present.contains(where: { $0.name == index }) else { return false }
        _ = try await configure(present.filter { $0.name != index }.map(\.definition))
        return true
    }

    /// Takes the whole collection away: its documents, the deleted ones, its indexes and whatever else is configured for it. To empty it and
    /// keep these, `deleteMany(allowingScan: true) { _ in .everything }`.
    /// - Returns: whether there was something.
    @discardableResult
    public func drop() async throws(KuraError) -> Bool {
        try await kura.call("documents.drop", parameters).boolean("dropped") ?? false
    }

    /// Has the collection have these and no others (references' own aside), and tells how they stand then.
    private func configure(_ list: [IndexDefinition]) async throws(KuraError) -> [DocumentIndexStatus] {
        var parameters = self.parameters
        parameters.add("indexes", json: JSONElements.array(list.map(\.text)))
        _ = try await kura.call("documents.configure", parameters)
        return try await described(waiting: false)
    }

    private func described(waiting: Bool) async throws(KuraError) -> [DocumentIndexStatus] {
        var parameters = self.parameters
        if waiting { parameters.add("waitMs", 10_000) }
        let answer = try await kura.call("documents.describe", parameters)
        guard let texts = answer["indexes"].flatMap(JSONElements.read) else { throw .badAnswer("documents.describe") }
        return texts.compactMap(DocumentIndexStatus.init)
    }
}
