import KuraBytes

/// Revisions that are in no segment, with others behind them.
///
/// Segments are synced in their order, so that whoever was told of a change behind a hole was told when the disk had what is
/// missing as well. But the kernel writes what is not synced yet in an order of its own: a power cut between a segment's last
/// commits and their sync can leave the next segment's first ones. Each row says what had been synced when it was appended. When
/// none of those behind the hole says that the missing ones had been, nobody was told of any of them, and they go; otherwise
/// a segment is damaged or gone, and the start is refused.
enum LogHole {
    /// Sets aside the segments behind a hole that a power cut has made.
    /// `leftovers`: in the order of their first revisions.
    /// - Throws: `.hole` when what is missing had been acknowledged.
    static func close(
        _ leftovers: inout [Segment], above foldedRev: UInt64, _ configuration: StorageConfiguration,
        _ report: (String) -> Void
    ) throws(StorageFault) {
        var newest = foldedRev
        for position in leftovers.indices {
            let segment = leftovers[position]
            let next = try segment.first { RelaxedDurability.raises($0, from: newest) ? newest + 1 : $0.rev } ?? 0
            guard next > newest + 1 else {
                newest = max(newest, segment.lastRev)
                continue
            }
            let behind = leftovers[position...]
            for segment in behind {
                guard try segment.greatestSynced() <= newest else { throw .hole(after: newest, next: next) }
            }
            report(
                "a power cut has left changes \(next)… of the log without those before them; nobody was told of them, "
                    + "and they lie in quarantine/ now")
            try setAside(behind, configuration)
            leftovers.removeSubrange(position...)
            return
        }
    }

    private static func setAside(
        _ segments: ArraySlice<Segment>, _ configuration: StorageConfiguration
    ) throws(StorageFault) {
        let directory = configuration.quarantineDirectory
        try FileSystem.makeDirectory(directory)
        for segment in segments {
            let name = segment.path.dropFirst(configuration.logDirectory.count)
            // The rows first: a file of the log without them is an empty segment.
            for end in ["-wal", ""] { try FileSystem.rename(segment.path + end, directory + name + end) }
        }
        try FileSystem.syncDirectory(directory)
        try FileSystem.syncDirectory(configuration.logDirectory)
        try FileSystem.syncDirectory(configuration.dataDirectory)
    }
}
