public import Observation
import Synchronization

extension DocumentCollection {
    /// The documents, or those that match, as an array that follows what others change and saves what is edited.
    /// See `LiveCollection`.
    /// - Parameters:
    ///   - saving: when edits are saved; a second after the first of them when nothing is said.
    ///   - actor: where observers are told of what others have changed (`MainActor.shared` for views); any thread otherwise. Edits are told where they
    ///     are made.
    ///   - allowingScan: every document may be looked at, though there are more than 10,000 and no index helps.
    ///   - condition: what they have; all of them when it is left out.
    ///   - sort: the order; that of the ids' bytes when it is left out.
    /// - Returns: the array, which is empty until the documents have been read (`loaded()`).
    /// - Throws: `invalidParams` when a field is not known, or a value cannot be encoded.
    public func live(
        saving: LiveSaving = .every(.seconds(1)), on actor: (any Actor)? = nil, allowingScan: Bool = false,
        where condition: (Fields<Model>) -> Condition<Model> = { _ in .everything },
        sort: (Fields<Model>) -> [SortKey<Model>] = { _ in [] }
    ) throws(KuraError) -> LiveCollection<Model> {
        LiveCollection(
            LiveCore(
                collection: unnamed, selector: try condition(fields).selector(), order: try LiveOrder(sort(fields)),
                saving: saving,
                allowsScan: allowingScan, actor: actor))
    }
}

/// Documents as an array of plain values that is always up to date: what other processes change shows by itself, and what is edited
/// here is saved by itself.
///
///     let cards = try kura.documents("cards", of: Card.self).live(on: MainActor.shared, sort: { [$0.due.ascending] })
///     cards.update("7") { $0.due += 1 }     // shown at once, saved within a second
///     for card in cards.values { … }
///
/// - It is `Observable`: views that read `values`, `isLoaded`, `isSaved` or `lastProblem` follow them, and so does `Observations { cards.values }`.
/// - It can be used from any thread, task or actor.
/// - What is saved is what was edited, document by document and member by member; all edits of an interval go in one step.
///   An edit and somebody else's change of other members of the same document are both kept.
/// - An edit and somebody else's change of the same members is a conflict: the edit stays in sight, nothing is overwritten, and
///   `lastProblem` and `problems` tell it until `resolve` says what is kept.
/// - `close()`, or letting go of it, saves what is not saved yet. A crash loses one interval at most; with `.immediate` it loses what is under way.
public final class LiveCollection<Model>: Observable, Sendable
where Model: Codable & Identifiable & Sendable, Model.ID: Codable & Sendable {
    private let core: LiveCore<Model>
    private let registrar = ObservationRegistrar()

    init(_ core: LiveCore<Model>) {
        self.core = core
        core.observe { [weak self] aspect in
            guard let self else { return }
            switch aspect {
            case .values: registrar.withMutation(of: self, keyPath: \.values) {}
            case .lastProblem: registrar.withMutation(of: self, keyPath: \.lastProblem) {}
            case .isLoaded: registrar.withMutation(of: self, keyPath: \.isLoaded) {}
            case .isSaved: registrar.withMutation(of: self, keyPath: \.isSaved) {}
            }
        }
        core.start()
    }

    /// What waits for its interval is saved at once, and tried again until it is.
    deinit { core.stop() }

    // MARK: Looking

    /// What there is, in order. To change it changes documents: those that differ are saved, those that are left out are deleted.
    public var values: [Model] {
        get {
            registrar.access(self, keyPath: \.values)
            return core.values
        }
        _modify {
            registrar.access(self, keyPath: \.values)
            let before = core.values
            var after = before
            defer { replace(before, with: after) }
            yield &after
        }
    }

    /// One value, by its id; nil when there is none. To set nil deletes it; a value with another id is refused (`lastProblem`). What is changed in its place
    /// (`live["7"]?.due = 3`) is written member by member, as by `put(_:editedFrom:)`.
    public subscript(id: Model.ID) -> Model? {
        get {
            registrar.access(self, keyPath: \.values)
            guard let key = try? DocumentKey.text(id) else { return nil }
            return core.state.withLock { $0.entries[key]?.shown?.value }
        }
        set {
            guard let key = try? DocumentKey.text(id) else { return }
            core.edit([(key, newValue, nil)])
        }
        _modify {
            let before = self[id]
            var after = before
            defer { replace(before, with: after, at: id) }
            yield &after
        }
    }

    private func replace(_ before: Model?, with after: Model?, at id: Model.ID) {
        guard let key = try? DocumentKey.text(id) else { return }
        guard let before, let after else { return core.edit([(key, after, nil)]) }
        core.edit([(key, after, before)])
    }

    /// How many there are.
    public var count: Int { values.count }

    public var isEmpty: Bool { values.isEmpty }

    /// Whether there is a value with this id.
    public func contains(_ id: Model.ID) -> Bool { self[id] != nil }

    /// Whether the documents have been read for the first time.
    public var isLoaded: Bool {
        registrar.access(self, keyPath: \.isLoaded)
        return core.state.withLock { $0.isLoaded }
    }

    /// Waits until the documents have been read for the first time, or that is refused (`lastProblem` says why), or the collection or its client is
    /// closed, or the task cancelled: `isLoaded` tells.
    public func loaded() async { await core.loaded() }

    /// Whether everything that is shown is saved.
    public var isSaved: Bool {
        registrar.access(self, keyPath: \.isSaved)
        return core.state.withLock { $0.entries.isSaved }
    }

    // MARK: Editing

    /// Shows a value in the place of its id's, or as a new one, and saves it by and by.
    ///
    /// The whole value counts: what others have changed since it was read goes back to what it says. For a copy that somebody has edited for a while
    /// there is `put(_:editedFrom:)`.
    public func put(_ value: Model) {
        do throws(KuraError) { core.edit([(try DocumentKey.text(value.id), value, nil)]) } catch {
            core.tell(.refused(id: value.id, error))
        }
    }

    /// Shows what an editor has made of a value, and saves it by and by: only members that differ between the two are written, and what others have changed of the
    /// rest meanwhile stays.
    ///
    ///     let opened = cards["7"]!
    ///     var form = opened                          // while it is edited, others may change the card
    ///     form.title = "final"
    ///     cards.put(form, editedFrom: opened)
    ///
    /// A member that both have changed is a conflict, as is a document that is gone: the edit is in sight, and `resolve` says what is kept. Where the other change is one of
    /// this collection's own that is not saved yet, the newer one counts.
    /// - Parameters:
    ///   - value: what is to be.
    ///   - original: what the editor began with; it has the same id.
    public func put(_ value: Model, editedFrom original: Model) {
        do throws(KuraError) { core.edit([(try DocumentKey.text(value.id), value, original)]) } catch {
            core.tell(.refused(id: value.id, error))
        }
    }

    /// Edits a value, not its id: that is refused (`lastProblem`).
    ///
    /// Reading and writing are one step: nothing that changes meanwhile is lost, whoever changes it. When the value has changed while `change` ran, it is
    /// called again with the newer one, so it does nothing else than to change the value, and quickly.
    /// - Returns: false when there is none, and `change` was not called; and when the value kept changing while `change` ran, a thousand times: nothing is edited then, and
    ///   `lastProblem` tells it.
    @discardableResult
    public func update(_ id: Model.ID, _ change: (inout Model) -> Void) -> Bool {
        registrar.access(self, keyPath: \.values)
        guard let key = try? DocumentKey.text(id) else { return false }
        do throws(KuraError) { return try core.update(key, change) } catch {
            core.tell(.refused(id: id, error))
            // It is there, and the edit is refused.
            return error.kind != .conflict
        }
    }

    /// Deletes a value.
    /// - Returns: whether there was one.
    @discardableResult
    public func remove(_ id: Model.ID) -> Bool {
        guard self[id] != nil else { return false }
        self[id] = nil
        return true
    }

    /// Makes of the values that were shown the values that are to be: only what differs between the two is an edit.
    private func replace(_ before: [Model], with after: [Model]) {
        // What is alike at both ends needs no closer look.
        var (start, end) = (0, 0)
        let most = min(before.count, after.count)
        while start < most, Self.isSame(before[start], after[start]) { start += 1 }
        while end < most - start, Self.isSame(before[before.count - 1 - end], after[after.count - 1 - end]) { end += 1 }
        var changed: [LiveCore<Model>.Edit] = []
        var left: [String: (value: Model, text: [UInt8])] = [:]
        for value in before[start..<before.count - end] {
            if let key = try? DocumentKey.text(value.id), let text = try? FaceCoding.encode(value) {
                left[key] = (value, text)
            }
        }
        for value in after[start..<after.count - end] {
            do throws(KuraError) {
                let key = try DocumentKey.text(value.id)
                let text = try FaceCoding.encode(value)
                let old = left.removeValue(forKey: key)
                if old?.text != text { changed.append((key, value, old?.value)) }
            } catch {
                core.tell(.refused(id: value.id, error))
            }
        }
        changed += left.keys.map { ($0, nil, nil) }
        if !changed.isEmpty { core.edit(changed) }
    }

    /// Whether two values are the same to the bit, which spares encoding them; false says nothing.
    ///
    /// Safety: both are looked at as bytes while they are held.
    private static func isSame(_ one: Model, _ other: Model) -> Bool {
        unsafe withUnsafeBytes(of: one) { one in
            unsafe withUnsafeBytes(of: other) { other in unsafe one.elementsEqual(other) }
        }
    }

    // MARK: Saving

    /// Saves now what is not saved yet.
    /// - Returns: whether everything that is shown is saved; false when conflicts or refused values are left.
    /// - Throws: why nothing could be saved; it is tried again after the interval.
    @discardableResult
    public func flush() async throws(KuraError) -> Bool { try await core.flush() }

    /// Saves what is not saved yet, and follows no more; what is shown stays.
    /// - Throws: why nothing could be saved; it is tried again. `conflict` when conflicts or refused values are left: `conflicts` and `lastProblem` tell which, and after
    ///   `resolve` `flush()` saves them.
    public func close() async throws(KuraError) {
        core.stop()
        guard try await core.flush() else { throw .unsaved }
    }

    // MARK: Problems

    /// What could not be done last; nil when nothing was, or it was forgotten.
    public var lastProblem: LiveProblem<Model>? {
        registrar.access(self, keyPath: \.lastProblem)
        return core.state.withLock { $0.lastProblem }
    }

    /// The error of the last problem.
    public var lastError: KuraError? { lastProblem?.error }

    /// Has `lastProblem` be nil until there is another.
    public func forgetProblem() { core.forgetProblem() }

    /// What cannot be done from now on. Each has all of them, of those that it does not read the newest 1,000; it ends with the collection.
    public var problems: AsyncStream<LiveProblem<Model>> { core.problems() }

    /// Edits that are not saved because somebody else has changed the same.
    public var conflicts: [LiveConflict<Model>] {
        registrar.access(self, keyPath: \.values)
        return core.conflicts()
    }

    /// Ends a conflict.
    /// - Returns: false when there was none about this id.
    @discardableResult
    public func resolve(_ id: Model.ID, keeping resolution: LiveResolution<Model>) throws(KuraError) -> Bool {
        try core.resolve(try DocumentKey.text(id), resolution)
    }
}
