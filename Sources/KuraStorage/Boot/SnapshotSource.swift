/// Where a recovery gets a snapshot from: the seam to backups. With none it starts from nothing.
struct SnapshotSource: Sendable {
    /// A snapshot that has been read back and holds.
    struct Snapshot: Sendable {
        var name: String
        /// The tables in it are as of this revision.
        var rev: UInt64
        /// What is not in it.
        var leftOut: [RecoveredOmission] = []
        /// Makes durable/kura.sqlite of it, with the attachments that it refers to; synced when it returns. Nothing of that name is there.
        var restore: @Sendable (StorageConfiguration) throws(StorageFault) -> Void
    }

    /// The newest snapshot in DATA/backups that holds; nil when there is none.
    /// Throws: what keeps the directory from being read; a snapshot that does not hold is passed over.
    var newest: @Sendable (StorageConfiguration) throws(StorageFault) -> Snapshot?
}
