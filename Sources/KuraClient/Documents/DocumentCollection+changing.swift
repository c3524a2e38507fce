extension DocumentCollection {
    // MARK: Changing

    /// Changes what is stored: reads, has `change` edit the value, and writes the members that differ; anew, with what is there
    /// then, when somebody else was faster. Members of the document that `Model` does not know stay as they are.
    /// - Parameters:
    ///   - id: the document's.
    ///   - change: edits the value, not its id; runs where the caller does, and may be called several times. A value left as it
    ///     was writes nothing.
    /// - Returns: the document as it is now; nil when there is none.
    /// - Throws: `wrongType` when what is stored is no `Model`, `invalidParams` when `change` gave it another id.
    @discardableResult
    nonisolated(nonsending) public func mutate(
        _ id: Model.ID, _ change: (inout Model) -> Void
    ) async throws(KuraError) -> StoredDocument<Model>? {
        try await mutated(id, change).get()
    }

    /// Changes what is stored, or refuses to: when `change` throws, nothing is written.
    ///
    ///     try await accounts.mutate("7") { account in
    ///         guard account.balance >= price else { throw Refusal.tooLittle }
    ///         account.balance -= price
    ///     }
    ///
    /// - Parameters:
    ///   - id: the document's.
    ///   - change: edits the value, not its id; runs where the caller does, and may be called several times.
    /// - Returns: the document as it is now; nil when there is none.
    /// - Throws: what `change` throws, as it is; else a `KuraError`.
    @discardableResult
    nonisolated(nonsending) public func mutate(
        _ id: Model.ID, _ change: (inout Model) throws -> Void
    ) async throws -> StoredDocument<Model>? {
        try await mutated(id, change).get()
    }

    /// Stores a value where there is none, else changes the one that is there, as `mutate` does.
    /// - Parameters:
    ///   - new: stored when its id has no document.
    ///   - change: edits the value that is there; it is not called for `new`.
    /// - Returns: the document as it is now.
    /// - Throws: as `mutate`.
    @discardableResult
    nonisolated(nonsending) public func upsert(
        _ new: Model, _ change: (inout Model) -> Void
    ) async throws(KuraError) -> StoredDocument<Model> {
        try await upserted(new, change).get()
    }

    /// Stores a value where there is none, else changes the one that is there, or refuses to, as `mutate` does.
    @discardableResult
    nonisolated(nonsending) public func upsert(
        _ new: Model, _ change: (inout Model) throws -> Void
    ) async throws -> StoredDocument<Model> {
        try await upserted(new, change).get()
    }

    /// `failure`: what `change` has thrown.
    nonisolated(nonsending) private func mutated<Failure>(
        _ id: Model.ID, _ change: (inout Model) throws(Failure) -> Void
    ) async throws(KuraError) -> Result<StoredDocument<Model>?, Failure> {
        let key = try DocumentKey.text(id)
        while true {
            guard let original = try await original(key) else { return .success(nil) }
            var value = original.stored.value
            do throws(Failure) { try change(&value) } catch { return .failure(error) }
            if let stored = try await save(value, over: original) { return .success(stored) }
        }
    }

    nonisolated(nonsending) private func upserted<Failure>(
        _ new: Model, _ change: (inout Model) throws(Failure) -> Void
    ) async throws(KuraError) -> Result<StoredDocument<Model>, Failure> {
        let key = try DocumentKey.text(new.id)
        while true {
            if let original = try await original(key) {
                var value = original.stored.value
                do throws(Failure) { try change(&value) } catch { return .failure(error) }
                if let stored = try await save(value, over: original) { return .success(stored) }
            } else if case .done(let rev) = try await put(new, ifRev: 0) {
                return .success(StoredDocument(new, rev: rev))
            }
        }
    }

    /// What a change begins with. Only the change itself runs where the caller does; nothing is decoded or encoded there.
    private func original(
        _ key: String
    ) async throws(KuraError) -> (stored: StoredDocument<Model>, row: DocumentRow)? {
        guard let row = try await row(key) else { return nil }
        return (try read(row), row)
    }

    /// Writes what differs; nil when somebody else was faster.
    private func save(
        _ value: Model, over original: (stored: StoredDocument<Model>, row: DocumentRow)
    ) async throws(KuraError) -> StoredDocument<Model>? {
        let row = original.row
        guard try DocumentKey.text(value.id) == row.key else {
            throw .otherID("a change of document \(row.key) of \(name) has given it another id")
        }
        let (old, new) = (try FaceCoding.encode(original.stored.value), try FaceCoding.encode(value))
        guard old != new, let write = DocumentWrite.change(key: row.key, from: old, to: new, over: row) else {
            return StoredDocument(value, rev: row.rev)
        }
        do throws(KuraError) {
            let answer = try await kura.call(write.method, write.parameters(collection: name))
            return StoredDocument(value, rev: try Self.rev(answer, write.method))
        } catch {
            guard case .conflict = try Self.conflict(error) else { throw error }
            return nil
        }
    }
}
