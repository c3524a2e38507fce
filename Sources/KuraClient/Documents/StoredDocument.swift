/// A value as the daemon has it, with the revision of its last change.
///
/// Its members are the value's: `stored.due` is `stored.value.due`. It is a plain value: it never changes by itself, whatever
/// becomes of the document.
@dynamicMemberLookup
public struct StoredDocument<Model: Sendable>: Sendable {
    public let value: Model
    /// Revision of the document's last change, 1 or more; what `ifRev` wants.
    public let rev: Int64

    init(_ value: Model, rev: Int64) {
        self.value = value
        self.rev = rev
    }

    public subscript<Member>(dynamicMember member: KeyPath<Model, Member>) -> Member { value[keyPath: member] }
}

extension StoredDocument: Equatable where Model: Equatable {}
extension StoredDocument: Identifiable where Model: Identifiable {
    public var id: Model.ID { value.id }
}

/// What became of a write that was to happen only at a revision.
public enum ConditionalWrite: Sendable, Equatable {
    /// It is done, under this revision.
    case done(rev: Int64)
    /// Somebody else has changed the document: it is at this revision, 0 when it is gone. Nothing was written.
    case conflict(currentRev: Int64)
}
