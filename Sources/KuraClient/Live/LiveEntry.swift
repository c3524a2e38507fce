/// One document of a live collection: as the daemon has it, and as it is shown.
struct LiveEntry<Model>: Sendable where Model: Codable & Identifiable & Sendable, Model.ID: Codable & Sendable {
    /// What the daemon has, as far as is known; nil: no such document.
    struct Base: Sendable {
        let row: DocumentRow
        let value: Model
        /// What the value is encoded as: `row.text` may have members that `Model` does not know.
        let text: [UInt8]
    }

    /// What is shown; nil: it was deleted here.
    struct Shown: Sendable {
        let value: Model
        let text: [UInt8]
        let sortValues: [SortValue]
    }

    /// Why it is not saved.
    enum Hold: Sendable {
        /// Against what the daemon has.
        case conflict(Base?)
        case refused
    }

    var base: Base?
    var shown: Shown?
    var hold: Hold?
    /// It is part of a save that is under way.
    var isUnderWay = false
    /// What that save makes of it.
    var sent: Shown?

    var isEdited: Bool { shown?.text != base?.text }
    var isInConflict: Bool { if case .conflict = hold { true } else { false } }
    /// It can be saved: it is edited, and nothing forbids it.
    var isDue: Bool { hold == nil && isEdited }
    /// It is shown as the daemon has it, and nothing is under way.
    var isSettled: Bool { hold == nil && !isUnderWay && !isEdited }

    /// What the daemon says next is news, whatever its revision.
    mutating func forgetRevision() {
        if let base {
            self.base = Base(
                row: DocumentRow(key: base.row.key, rev: 0, text: base.row.text), value: base.value, text: base.text)
        }
        if case .conflict = hold { hold = nil }
    }

    /// What makes the daemon's document what is shown; nil when there is nothing to do, or nothing may be done.
    func write(_ key: String) -> DocumentWrite? {
        guard isDue else { return nil }
        switch (base, shown) {
        case (nil, nil): return nil
        case (nil, let shown?): return DocumentWrite(key: key, what: .put(shown.text), ifRev: 0)
        case (let base?, nil): return DocumentWrite(key: key, what: .delete, ifRev: base.row.rev)
        case (let base?, let shown?): return .change(key: key, from: base.text, to: shown.text, over: base.row)
        }
    }

    /// Shows what an editor has made of `original`, which may not be what is shown any more: members that the editor has changed are the editor's, the others stay.
    /// Where others have changed the same members, or the document is gone, it is a conflict.
    mutating func take(_ edited: Shown, editedFrom original: Shown, showing show: (Model) throws(KuraError) -> Shown) {
        if edited.text == original.text { return }
        guard let shown, shown.text != original.text else {
            // One that was deleted here is put again. One that is gone was deleted by somebody else.
            if shown == nil, base == nil, hold == nil { hold = .conflict(nil) }
            return self.shown = edited
        }
        let isInConflict = isInConflict
        func merged(_ change: DocumentChange, _ text: [UInt8]) -> Shown? {
            guard let text = change.applied(to: text), let value = try? FaceCoding.decode(Model.self, from: text)
            else { return nil }
            return try? show(value)
        }
        let mine = DocumentChange(from: original.text, to: edited.text)
        let since = DocumentChange(from: original.text, to: shown.text)
        // What is not shown as the daemon has it was edited here: the newer edit counts. The rest was changed by others.
        let own = base.map { DocumentChange(from: $0.text, to: shown.text) } ?? since
        if let mine, let since,
            isInConflict
                || mine.isDisjoint(from: since.without((own?.names ?? []).union(mine.agreeing(with: since)))),
            let both = merged(mine, shown.text)
        {
            self.shown = both
            return
        }
        if !isInConflict, let base {
            hold = .conflict(base)
            self.base = Base(
                row: DocumentRow(key: base.row.key, rev: 0, text: original.text), value: original.value,
                text: original.text)
        }
        self.shown = own.flatMap { merged($0.without(mine?.names ?? []), edited.text) } ?? edited
    }

    /// What came of holding an edit against what somebody else has made of the document.
    enum Merge: Sendable {
        /// Nothing is left to save: nothing was edited, or both are the same.
        case theirs
        /// Both are about different members: the value with both changes, to be saved over theirs.
        case both(Shown)
        case conflict
    }

    func merged(with theirs: Base?, showing show: (Model) throws(KuraError) -> Shown) -> Merge {
        if !isEdited || shown?.text == theirs?.text { return .theirs }
        guard let base, let shown, let theirs,
            let mine = DocumentChange(from: base.text, to: shown.text),
            let other = DocumentChange(from: base.text, to: theirs.text),
            mine.isDisjoint(from: other), let text = mine.applied(to: theirs.text),
            // Two changes that are each right may be none together.
            let value = try? FaceCoding.decode(Model.self, from: text), let both = try? show(value)
        else { return .conflict }
        return .both(both)
    }
}
