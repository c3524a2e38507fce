/// What a `LiveCollection` could not do, as a value: nothing of it is lost, and nothing of it is only in a log.
public enum LiveProblem<Model>: Sendable
where Model: Codable & Identifiable & Sendable, Model.ID: Codable & Sendable {
    /// An edit and somebody else's change are about the same members. The edit is shown and not saved until `resolve` says which is to be kept.
    case conflict(LiveConflict<Model>)
    /// The daemon does not take the value (it is too large, breaks the schema, …). It is shown and not saved until it is edited again.
    case refused(id: Model.ID, KuraError)
    /// What was to be saved could not be: the daemon is away, the disk is full. It is tried again after the interval.
    case notSaved(KuraError)
    /// What is stored under this id is no `Model`. It is not shown, and never written over.
    case unreadable(key: String, KuraError)
    /// What others change cannot be followed now. It is tried again.
    case notFollowed(KuraError)

    /// The error behind it; nil with a conflict.
    public var error: KuraError? {
        switch self {
        case .conflict: nil
        case .refused(_, let error), .notSaved(let error), .unreadable(_, let error), .notFollowed(let error): error
        }
    }
}

/// Two changes of one document that are about the same members.
public struct LiveConflict<Model>: Sendable
where Model: Codable & Identifiable & Sendable, Model.ID: Codable & Sendable {
    public let id: Model.ID
    /// What was edited here; nil when it was deleted here.
    public let mine: Model?
    /// What the daemon has; nil when somebody has deleted it.
    public let theirs: Model?
}

/// Which side of a conflict is kept.
public enum LiveResolution<Model: Sendable>: Sendable {
    case mine
    case theirs
    /// Something made of both.
    case value(Model)
}

/// When a `LiveCollection` saves.
public enum LiveSaving: Sendable, Equatable {
    /// All edits of an interval together, so long after the first of them at the latest. A crash loses so much at most.
    case every(Duration)
    /// Each edit at once; while one is under way the following ones gather.
    case immediate

    var interval: Duration {
        switch self {
        case .every(let interval): max(.zero, interval)
        case .immediate: .zero
        }
    }
}
