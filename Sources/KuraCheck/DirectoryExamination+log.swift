import KuraStorage

/// Whether the next start finds its tables, and the log goes on without a gap.
extension DirectoryExamination {
    /// Tables that are gone or damaged: no start takes what is left for a new store.
    mutating func lookAtTables() {
        guard !isRecovering, let reason = missingTables() else { return }
        add(
            .error, "tables", reason,
            advice: "put it back; \(Self.starts). After two such starts the next one sets the rest aside, and goes on "
                + "with the newest snapshot and the log")
    }

    /// What has been set aside is not missing: the next start goes on with that.
    private var isRecovering: Bool {
        ((try? RecoveredFile(configuration).read()) ?? []).contains { $0.step != .done }
    }

    /// Why a start does not take the file of the tables; nil when it does, or none was ever there.
    private func missingTables() -> String? {
        let path = configuration.tablesPath
        do throws(StorageFault) {
            if let reason = try TablesInMemory.emptied(configuration) { return reason }
            guard FileSystem.size(path) > 0, try DatabaseHeader(path) == nil,
                try WALCommits(path: path + "-wal").ends.isEmpty
            else { return try TablesCheck.problem(configuration) }
            return "\(path) does not begin as a database does"
        } catch {
            // What cannot be opened is told by `lookAtPlaces`.
            return nil
        }
    }

    /// Revisions that no segment has, though some before them are there and they were acknowledged: retention lets go of the oldest first.
    mutating func lookAtLog() {
        let log = configuration.logDirectory
        // Asked twice: a running daemon may reuse a segment's file while it is read, and the second answer is right then.
        if !isRecovering, LogLineage.refusal(configuration) != nil, let refusal = LogLineage.refusal(configuration) {
            return add(.error, "log", "\(refusal)", advice: Self.starts)
        }
        if !isRecovering, let reason = (try? Boot.unknownEnd(configuration)) ?? nil {
            add(
                .error, "log", reason,
                advice:
                    "put back what is gone from where it was copied; the next start takes what is there, tells that changes may be lost, and begins a new history"
            )
        }
        // Before the segments, which a daemon may be writing.
        let synced = (try? AcknowledgedNote.read(configuration.acknowledgedPath)) ?? 0
        guard let gap = Self.gap(in: log, upTo: synced) else { return }
        add(
            .warning, "log",
            "revisions \(gap.missing.lowerBound) to \(gap.missing.upperBound) are in no segment of \(log), which has had those up to \(gap.synced)",
            advice: "make a backup: neither the change feed nor 'kura restore --at' gets past them. "
                + "The next start tells what of them the tables do not have")
    }

    typealias Open = (Int, String) throws(StorageFault) -> Segment

    /// The first revisions that are in no segment, and how far the log has come; nil when none are missing.
    /// `synced`: everything up to this revision was acknowledged.
    static func gap(
        in log: String, upTo synced: UInt64,
        open: Open = { (number, log) throws(StorageFault) in try Segment(opening: number, in: log) }
    ) -> (missing: ClosedRange<UInt64>, synced: UInt64)? {
        guard let seen = look(through: log, open) else { return nil }
        let synced = max(synced, seen.synced)
        // A daemon may have been writing a row when it was read, and a later row tells that it was synced: now it is whole.
        guard missing(seen.present, upTo: synced) != nil, let again = look(through: log, open),
            let missing = missing(again.present, upTo: synced)
        else { return nil }
        return (missing, synced)
    }

    private static func missing(_ present: RevisionSet, upTo synced: UInt64) -> ClosedRange<UInt64>? {
        guard let first = present.ranges.first?.lowerBound, first <= synced else { return nil }
        return present.missing(in: first...synced).ranges.first
    }

    /// Revisions that the segments have, and up to which one they tell that all were synced; nil when some cannot be read.
    ///
    /// The newest segment is opened first. A daemon lets go of the oldest first, so one that is gone when its turn comes had none before it.
    private static func look(through log: String, _ open: Open) -> (present: RevisionSet, synced: UInt64)? {
        var synced: UInt64 = 0
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
        return (present, synced)
    }
}
