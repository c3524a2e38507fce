extension DocumentCollection {
    /// How the collection's indexes stand, whoever has made them, in the order in which they were configured.
    public func indexes() async throws(KuraError) -> [DocumentIndexStatus] {
        try await described(waiting: false).indexes
    }

    /// Has the collection have indexes, and waits until they are built.
    ///
    /// Those that are there as they are to be stay as they are, so every start of an application can say the same; one of the same name
    /// that is different, or has failed, is built anew. Indexes of other names, which somebody else may have made, stay, also
    /// those that are being added at the very same moment. Documents are read and written while an index is built, in the background; a
    /// task that is cancelled stops waiting, and not that.
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
        var present = try await reconfigured { present in
            let isThere = wanted.allSatisfy { definition in
                present.contains { $0.definition == definition && !$0.hasFailed }
            }
            if isThere { return nil }
            return present.filter { !$0.isOfReference && !names.contains($0.name) }.map(\.definition) + wanted
        }
        while present.contains(where: { names.contains($0.name) && $0.isBuilding }) {
            present = try await described(waiting: true).indexes
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
        var isThere = false
        _ = try await reconfigured { all in
            let present = all.filter { !$0.isOfReference }
            isThere = present.contains { $0.name == index }
            return isThere ? present.filter { $0.name != index }.map(\.definition) : nil
        }
        return isThere
    }

    /// Takes the whole collection away: its documents, the deleted ones, its indexes and whatever else is configured for it. To empty it and
    /// keep these, `deleteMany(allowingScan: true) { _ in .everything }`.
    /// - Returns: whether there was something.
    @discardableResult
    public func drop() async throws(KuraError) -> Bool {
        try await kura.call("documents.drop", parameters).boolean("dropped") ?? false
    }

    /// Has the collection have other indexes, references' own aside, and tells how they stand then.
    ///
    /// The daemon takes the whole list, on condition that nobody has changed it meanwhile; else it is made again from what is there now. Each
    /// attempt that is in vain is somebody else's success, so that it ends.
    /// - Parameter change: the list of those that there are to be; nil when they are as they should be.
    /// - Returns: all of them, as they stand then.
    /// - Throws: what the daemon refuses, but for `conflict`.
    private func reconfigured(
        _ change: ([DocumentIndexStatus]) -> [IndexDefinition]?
    ) async throws(KuraError) -> [DocumentIndexStatus] {
        while true {
            let (present, rev) = try await described(waiting: false)
            guard let list = change(present) else { return present }
            var parameters = self.parameters
            parameters.add("indexes", json: JSONElements.array(list.map(\.text)))
            parameters.add("ifRev", rev)
            do throws(KuraError) {
                _ = try await kura.call("documents.configure", parameters)
            } catch {
                guard error.kind == .conflict else { throw error }
                continue
            }
            return try await described(waiting: false).indexes
        }
    }

    private func described(waiting: Bool) async throws(KuraError) -> (indexes: [DocumentIndexStatus], rev: Int64) {
        var parameters = self.parameters
        if waiting { parameters.add("waitMs", 10_000) }
        let answer = try await kura.call("documents.describe", parameters)
        guard let texts = answer["indexes"].flatMap(JSONElements.read), let rev = answer.integer("rev") else {
            throw .badAnswer("documents.describe")
        }
        return (texts.compactMap(DocumentIndexStatus.init), rev)
    }
}
