/// Compacting what there is of database files: kura.sqlite and those of the caches.
extension Storage {
    /// Begins to give all free pages back to the file system, in pieces between everything else.
    /// - Returns: how far it is; it ends by itself.
    public func compact() -> Compaction { begin(Compaction(parts: 2)) }

    /// The same of files that are large, without hurry.
    func compactLarge() -> Compaction {
        begin(Compaction(parts: 2, minimumBytes: configuration.compactionBytes, isIdle: true))
    }

    private func begin(_ compaction: Compaction) -> Compaction {
        tables.folder.submit(compaction)
        if !caches.writer.submit(CacheCompaction(compaction)) { compaction.end([]) }
        return compaction
    }
}
