import Glibc
import KuraBytes
import SQLite

/// Makes a log that a stop has left whole and durable, before its changes are taken in.
///
/// After an unclean stop the page cache may show commits that no sync has covered: they are readable now and may be gone after a power
/// cut. So what a segment shows is written once more in its place, and synced. (Syncing alone would not do: after a failed sync the
/// kernel reports its pages as clean.) It needs no room.
///
/// A damaged segment is written anew with all that is whole in it, and the file that was found goes to the quarantine. When acknowledged
/// changes are lost, that is told first; then the tables begin a new history; then the file is moved. A kill on the way leaves the damaged
/// file, and the next start does it again.
struct LogRepair {
    private let configuration: StorageConfiguration
    private let examination: LogExamination
    private let report: (String) -> Void
    /// The segments as they are now.
    private(set) var segments: [any ReadableSegment]
    /// What is damaged, to be moved away.
    private var damaged: [String] = []
    private var reasons: [String] = []
    private var nextNumber: Int
    /// Why nobody knows how far the log had come; nil when it is known.
    var unknownEnd: String?

    /// `unreadable`: files that are no segments any more.
    /// `highest`: the highest number that any segment has.
    init(
        _ segments: [any ReadableSegment], _ examination: LogExamination, unreadable: [(path: String, reason: String)],
        highest: Int, _ configuration: StorageConfiguration, _ report: @escaping (String) -> Void
    ) {
        (self.segments, self.examination, self.configuration) = (segments, examination, configuration)
        self.report = report
        nextNumber = highest + 1
        damaged = unreadable.map(\.path)
        reasons = unreadable.map(\.reason)
    }

    /// `tell`: takes the notice of what is lost, before anything is moved.
    /// `beginHistory`: has the tables begin a new one.
    mutating func run(
        tell: (RecoveredNotice) throws(StorageFault) -> Void,
        beginHistory: (RevisionSet) throws(StorageFault) -> Void
    ) throws(StorageFault) {
        try leaveOutTorn()
        for position in segments.indices where examination.damages[segments[position].number] != nil {
            segments[position] = try rewrite(segments[position])
        }
        try makeDurable()
        guard !damaged.isEmpty || !examination.lost.isEmpty || unknownEnd != nil else { return }
        var notice = notice()
        if !damaged.isEmpty { notice.quarantine = try Quarantine.freshName(configuration, at: notice.at) }
        if !examination.lost.isEmpty || unknownEnd != nil {
            try tell(notice)
            report(notice.line)
            try beginHistory(examination.lost)
        } else {
            let outcome =
                examination.torn == 0
                ? "nothing is lost"
                : "revision \(examination.torn) at its end is left out, which a power cut may have torn before it was acknowledged"
            report(
                "the log was damaged, and \(outcome): \(notice.reason). The damaged files lie in "
                    + "quarantine/\(notice.quarantine)")
        }
        if !damaged.isEmpty { try Quarantine.setAside(damaged, notice, configuration) }
        segments.sort { ($0.firstRev, $0.number) < ($1.firstRev, $1.number) }
    }

    private func notice() -> RecoveredNotice {
        if let unknownEnd { return lossNotice((reasons + [unknownEnd]).joined(separator: "; ")) }
        if reasons.isEmpty, let first = examination.lost.ranges.first {
            return lossNotice(
                "revision \(first.lowerBound) is in no segment: the log was cut short, or a segment is gone")
        }
        return lossNotice(reasons.joined(separator: "; "))
    }

    private func lossNotice(_ reason: String) -> RecoveredNotice {
        var notice = RecoveredNotice(
            at: configuration.clock.wall, what: .log, phase: BootPhase.log.rawValue, reason: reason)
        notice.origin = .tables
        notice.savedRev = (examination.lost.ranges.first?.lowerBound ?? examination.newest + 1) - 1
        notice.newestRev = examination.newest
        notice.missing = RecoveredNotice.missing(examination.lost, examination.lostRecords)
        return notice
    }

    // MARK: Segments

    /// What a power cut has left without the changes before it goes: nobody was told of it.
    private mutating func leaveOutTorn() throws(StorageFault) {
        let end = examination.end
        guard segments.contains(where: { $0.lastRev > end }) else { return }
        report(
            "a power cut has left changes above revision \(end) of the log without those before them; nobody was told of them, and "
                + "they lie in quarantine/ now")
        let directory = configuration.quarantineDirectory
        try FileSystem.makeDirectory(directory)
        for position in segments.indices.reversed() where segments[position].lastRev > end {
            let segment = segments[position]
            for path in LogFiles.paths(segment.number, in: configuration.logDirectory) {
                let aside = directory + "/" + (path.split(separator: "/").last ?? "")
                if segment.firstRev > end {
                    try FileSystem.rename(path, aside)
                } else {
                    try FileSystem.copy(path, to: aside)
                }
            }
            if segment.firstRev > end {
                segments.remove(at: position)
            } else {
                try (segment as? Segment)?.cut(after: end)
            }
        }
        for path in [directory, configuration.logDirectory, configuration.dataDirectory] {
            try FileSystem.syncDirectory(path)
        }
    }

    /// Writes what is whole in a segment into a fresh one.
    private mutating func rewrite(_ segment: any ReadableSegment) throws(StorageFault) -> any ReadableSegment {
        guard let segment = segment as? Segment, let damages = examination.damages[segment.number] else {
            return segment
        }
        let directory = configuration.logDirectory
        let target = try Segment(
            creating: nextNumber, in: directory, capacity: Segment.leastCapacity, recycled: nil,
            history: segment.history)
        nextNumber += 1
        var copy = SegmentCopy(into: target, in: directory)
        var walk = segment.walk()
        reading: while true {
            switch try walk.next() {
            case .row(let row): if row.rev <= examination.end { try copy.append(row) }
            case .damage(let damage): try copy.append(damage, upTo: examination.end)
            case .end: break reading
            }
        }
        // What lies behind the rows; the walk has met the others.
        let met = segment.damages.map(\.bytes)
        for tail in damages where !met.contains(tail.bytes) { try copy.append(tail, upTo: examination.end) }
        try copy.finish()
        let name = segment.path.split(separator: "/").last ?? ""
        damaged.append(segment.path)
        reasons += damages.prefix(4).map {
            "log/\(name) is not what was written from byte \($0.bytes.lowerBound) to \($0.bytes.upperBound - 1)"
        }
        return target
    }

    private func makeDurable() throws(StorageFault) {
        guard FaultPoints.hit(.recoverCopy) != .skip else { return }
        let synced = segments.map(\.greatestSynced).max() ?? 0
        for segment in segments {
            if let segment = segment as? Segment {
                try segment.writeAgain(above: synced)
                continue
            }
            for path in LogFiles.paths(segment.number, in: configuration.logDirectory) {
                try FileSystem.writeAgain(path)
                CountingVFS.count(role: .log, part: .wal, bytesWritten: FileSystem.size(path), syncs: 1)
            }
        }
        try FileSystem.syncDirectory(configuration.logDirectory)
    }
}

extension RecoveredNotice {
    /// Lost revisions, as far as is known of what they were.
    static func missing(_ lost: RevisionSet, _ records: [SegmentDamage.Lost]) -> [Missing] {
        var known: [Missing] = []
        var named = RevisionSet()
        for record in records.sorted(by: { $0.rev < $1.rev }) {
            let store = record.store.shownName
            let scope = record.store.isPublic ? String(decoding: record.scope, as: UTF8.self) : nil
            named.insert(record.rev...record.rev)
            if let last = known.indices.last, known[last].store == store, known[last].scope == scope,
                record.rev <= known[last].toRev + 1
            {
                known[last].toRev = record.rev
            } else {
                known.append(Missing(store: store, scope: scope, fromRev: record.rev, toRev: record.rev))
            }
        }
        for range in lost.ranges {
            known += named.missing(in: range).ranges.map { Missing(fromRev: $0.lowerBound, toRev: $0.upperBound) }
        }
        known.sort { $0.fromRev < $1.fromRev }
        guard known.count > Missing.most else { return known }
        let rest = known[(Missing.most - 1)...]
        return known.prefix(Missing.most - 1) + [
            Missing(fromRev: rest.map(\.fromRev).min()!, toRev: rest.map(\.toRev).max()!)
        ]
    }
}
