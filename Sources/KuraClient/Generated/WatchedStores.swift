// Made by scripts/docs of the method table; changed by hand it is stale.

extension ChangeFilter {
    public enum Store: String, Sendable, Hashable, Codable, CaseIterable {
        case settings, secrets, documents
        /// Caches, which are watched apart from the durable stores: their revisions are others, and end with the daemon.
        case models, blobs
        /// Whether there is room on the disk, and what else concerns everybody.
        case storage
    }
}
