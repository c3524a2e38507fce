extension Kura {
    /// Changes documents of any collections in one step: all of it or nothing, under one revision, as one event for those who watch.
    ///
    ///     let outcome = try await kura.apply {
    ///         $0.put(order, in: orders, ifRev: rev)
    ///         $0.delete(draft.id, in: drafts)
    ///     }
    ///
    /// - Parameter body: says what to change, 1,000 documents at most and each once; runs where the caller does. Nothing is sent
    ///   before it returns.
    /// - Returns: `.done`, or the operation (counted from 0) whose document was at another revision; then nothing was changed.
    /// - Throws: what was wrong with the first value or id that cannot be sent, and the daemon's refusals but for conflicts.
    nonisolated(nonsending) public func apply(
        _ body: (inout DocumentTransaction) -> Void
    ) async throws(KuraError) -> DocumentTransaction.Outcome {
        var transaction = DocumentTransaction()
        body(&transaction)
        return try await apply(operations: try transaction.operations())
    }

    /// Changes documents of any collections in one step, or refuses to: when `body` throws, nothing is sent.
    /// - Parameter body: as above.
    /// - Returns: as above.
    /// - Throws: what `body` throws, as it is; else a `KuraError`.
    nonisolated(nonsending) public func apply(
        _ body: (inout DocumentTransaction) throws -> Void
    ) async throws -> DocumentTransaction.Outcome {
        var transaction = DocumentTransaction()
        try body(&transaction)
        return try await apply(operations: try transaction.operations())
    }

    func apply(operations: [[UInt8]]) async throws(KuraError) -> DocumentTransaction.Outcome {
        var parameters = ParameterText()
        parameters.add("operations", json: JSONElements.array(operations))
        do throws(KuraError) {
            let answer = try await call("transaction.apply", parameters)
            guard let rev = answer.integer("rev") else { throw KuraError.badAnswer("transaction.apply") }
            return .done(rev: rev)
        } catch {
            guard error.kind == .conflict || error.kind == .notFound,
                let operation = JSONObject(error.data)?.integer("operation")
            else { throw error }
            return .conflict(operation: Int(operation), currentRev: error.currentRev ?? 0)
        }
    }
}

/// What one step changes.
public struct DocumentTransaction {
    /// What became of it.
    public enum Outcome: Sendable, Equatable {
        /// All of it is done, under this revision.
        case done(rev: Int64)
        /// This operation's document is at another revision, 0 when it is gone. Nothing was changed.
        case conflict(operation: Int, currentRev: Int64)
    }

    /// What was added, or what was wrong with the first that cannot be sent.
    private var added: Result<[[UInt8]], KuraError> = .success([])

    /// Stores a value whole; with `ifRev` only when its document is at that revision, 0 when there is none. A value that cannot
    /// be sent has `apply` throw.
    public mutating func put<Model>(_ value: Model, in collection: DocumentCollection<Model>, ifRev: Int64? = nil) {
        add(to: collection.name) { () throws(KuraError) in
            DocumentWrite(key: try DocumentKey.text(value.id), what: .put(try FaceCoding.encode(value)), ifRev: ifRev)
        }
    }

    /// Deletes a document; with `ifRev` only when it is at that revision.
    public mutating func delete<Model>(_ id: Model.ID, in collection: DocumentCollection<Model>, ifRev: Int64? = nil) {
        add(to: collection.name) { () throws(KuraError) in
            DocumentWrite(key: try DocumentKey.text(id), what: .delete, ifRev: ifRev)
        }
    }

    private mutating func add(to collection: String, _ write: () throws(KuraError) -> DocumentWrite) {
        guard case .success(var operations) = added else { return }
        // Two owners would copy all of it for each operation.
        added = .success([])
        do throws(KuraError) {
            operations.append(try write().operation(collection: collection))
            added = .success(operations)
        } catch {
            added = .failure(error)
        }
    }

    func operations() throws(KuraError) -> [[UInt8]] { try added.get() }
}
