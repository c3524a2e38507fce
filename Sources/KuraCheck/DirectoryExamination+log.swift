import KuraStorage

/// Whether the next start finds its tables, and the log goes on without a gap.
extension DirectoryExamination {
    /// Tables that are gone: no start takes what is left for a new store.
    mutating func lookAtTables() {
        // What has been set aside is not missing: the next start goes on with that.
        let isRecovering = ((try? RecoveredFile(configuration).read()) ?? []).contains { $0.step != .done }
        guard !isRecovering, let reason = missingTables() else { return }
        add(
            .error, "tables", reason,
            advice: "put it back; \(Self.starts). After two such starts the next one sets the rest aside, and goes on "
                + "with the newest snapshot and the log")
    }

    /// Why the file of the tables is none any more; nil when it is one, or was never there.
    private func missingTables() -> String? {
        let path = configuration.tablesPath
        do throws(StorageFault) {
            if let reason = try TablesInMemory.emptied(configuration) { return reason }
            guard FileSystem.size(path) > 0, try DatabaseHeader(path) == nil,
                try WALCommits(path: path + "-wal").ends.isEmpty
            else { return nil }
            return "\(path) does not begin as a database does"
        } catch {
            // What cannot be opened is told by `lookAtPlaces`.
            return nil
        }
    }

    /// Revisions that no segment has, though some before them are there and they were acknowledged: retention lets go of the oldest first.
    mutating func lookAtLog() {
        let log = configuration.logDirectory
        // Before the segments, which a daemon may be writing.
        let synced = (try? AcknowledgedNote.read(configuration.acknowledgedPath)) ?? 0
        guard let gap = Self.gap(in: log, upTo: synced) else { return }
        add(
            .warning, "log",
            "revisions \(gap.missing.lowerBound) to \(gap.missing.upperBound) are in no segment of \(log), which has had those up to \(gap.synced)",
            advice: "make a backup: neither the change feed nor 'kura restore --at' gets past them. "
                + "The next start tells what of them the tables do not have")
    }

    /// The first revisions that are in no segment, and how far the log has come; nil when none are missing.
    ///
    /// The newest segment is opened first. A daemon lets go of the oldest first, so one that is gone when its turn comes had none before it.
    /// `synced`: everything up to this revision was acknowledged.
    static func gap(
        in log: String, upTo synced: UInt64,
        open: (Int, String) throws(StorageFault) -> Segment = { (number, log) throws(StorageFault) in
            try Segment(opening: number, in: log)
        }
    ) -> (missing: ClosedRange<UInt64>, synced: UInt64)? {
        var synced = synced
        var present = RevisionSet()
        for number in ((try? LogFiles.numbers(in: log)) ?? []).reversed() {
            let path = Segment.path(log, number)
            guard FileSystem.isRegular(path) else {
                if LogFiles.paths(number, in: log).isEmpty { break }
                // Earlier layouts are databases.
                return nil
            }
            do throws(StorageFault) {
                let segment = try open(number, log)
                // Its file may be another segment's by now.
                guard FileSystem.exists(path) else { break }
                present.formUnion(segment.present)
                synced = max(synced, segment.greatestSynced)
            } catch {
                guard FileSystem.exists(path) else { break }
                // A damaged one has nothing.
                guard error.isDamage else { return nil }
            }
        }
        guard let first = present.ranges.first?.lowerBound, first <= synced,
            let missing = present.missing(in: first...synced).ranges.first
        else { return nil }
        return (missing, synced)
    }
}
