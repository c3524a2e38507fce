import Synchronization

extension LiveCore {
    /// What is to be shown under a key: a value, or none. With the value that the editor began with, what differs between the two is edited; else
    /// all of it.
    typealias Edit = (key: String, value: Model?, original: Model?)

    /// Shows these values, and deletes those that are nil.
    func edit(_ edits: [Edit]) {
        var shown: [(key: String, shown: Entry.Shown?, original: Entry.Shown?)] = []
        for (key, value, original) in edits {
            guard let value else {
                shown.append((key, nil, nil))
                continue
            }
            do throws(KuraError) {
                shown.append(
                    (
                        key, try show(value, key),
                        try original.map { original throws(KuraError) in try show(original, key) }
                    ))
            } catch {
                tell(.refused(id: value.id, error))
            }
        }
        guard !shown.isEmpty else { return }
        let (undone, problems) = change { state in
            var undone: [String] = []
            var problems: [LiveProblem<Model>] = []
            for (key, new, original) in shown {
                if set(key, new, original, &state, &problems) { undone.append(key) }
            }
            return (undone, problems)
        }
        for problem in problems { tell(problem) }
        test(undone)
        schedule()
    }

    /// - Returns: whether an edit is undone by it: nothing is left to save.
    private func set(
        _ key: String, _ new: Entry.Shown?, _ original: Entry.Shown?, _ state: inout State,
        _ problems: inout [LiveProblem<Model>]
    ) -> Bool {
        var entry = state.entries[key] ?? Entry()
        let wasEdited = entry.isEdited
        if let new, let original {
            let wasInConflict = entry.isInConflict
            entry.take(new, editedFrom: original) { value throws(KuraError) in try show(value, key) }
            if !wasInConflict, case .conflict(let theirs) = entry.hold, let mine = entry.shown?.value {
                problems.append(.conflict(LiveConflict(id: mine.id, mine: mine, theirs: theirs?.value)))
            }
        } else {
            entry.shown = new
        }
        if case .refused = entry.hold { entry.hold = nil }
        let isNothing = entry.base == nil && entry.shown == nil && entry.hold == nil && !entry.isUnderWay
        state.entries[key] = isNothing ? nil : entry
        return wasEdited && !isNothing && entry.isSettled
    }

    /// How often a value may change while it is edited.
    private static var attempts: Int { 1000 }

    /// Has `body` edit what is shown, again with what is shown then when that has changed meanwhile.
    /// - Returns: false when nothing is shown.
    func update(_ key: String, _ body: (inout Model) -> Void) throws(KuraError) -> Bool {
        for _ in 0..<Self.attempts {
            guard let seen = state.withLock({ $0.entries[key]?.shown }) else { return false }
            var value = seen.value
            body(&value)
            let new = try show(value, key)
            let outcome: (isDone: Bool, isUndone: Bool) = change { state in
                guard state.entries[key]?.shown?.text == seen.text else { return (false, false) }
                var problems: [LiveProblem<Model>] = []
                return (true, set(key, new, nil, &state, &problems))
            }
            guard outcome.isDone else { continue }
            if outcome.isUndone { test([key]) }
            schedule()
            return true
        }
        throw .keepsChanging
    }
}
