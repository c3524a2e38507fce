import KuraBytes

/// What the segments of a log have above the tables, and what they should have.
///
/// A revision is *missing* when no whole row has it although there are later ones, or although the note of what was acknowledged
/// names it. It is *lost* when it had been on the disk: a row behind it, a segment's head or the note says so. Other missing ones are
/// a power cut's: the kernel writes what is not synced in an order of its own, and nobody was told of them nor of what follows them.
struct LogExamination {
    /// Damages of segments that are needed, by the segments' numbers.
    private(set) var damages: [Int: [SegmentDamage]] = [:]
    /// Acknowledged revisions that are nowhere.
    private(set) var lost = RevisionSet()
    /// Of lost changes those whose names can still be read.
    private(set) var lostRecords: [SegmentDamage.Lost] = []
    /// Changes above this revision are left out: others before them are missing, and nobody was told of any of them.
    private(set) var end: UInt64 = .max
    /// The newest revision that is known to have been given out.
    private(set) var newest: UInt64
    /// The last revision of a damaged row at the log's end, which a power cut may have torn before it was acknowledged; else 0.
    private(set) var torn: UInt64 = 0

    /// What it was asked to look above.
    let base: UInt64
    /// The log has rows that the tables have as well, so what is missing right behind these was in it.
    private(set) var reachesBack = false

    /// `acknowledged`: what the note says.
    /// `isComplete`: all that was written is there unless it is damaged: the kernel still runs that it was written to. Also when nobody knows
    /// what was acknowledged, since nothing may be left out then.
    /// `known`: revisions that were told to be lost before.
    init(
        _ segments: [any ReadableSegment], above foldedRev: UInt64, acknowledged: UInt64, isComplete: Bool = false,
        known: RevisionSet = RevisionSet()
    ) throws(StorageFault) {
        base = foldedRev
        var present = known
        var synced = acknowledged
        newest = max(foldedRev, acknowledged)
        for segment in segments {
            synced = max(synced, segment.greatestSynced)
            newest = max(newest, segment.lastRev, segment.greatestSynced)
            present.formUnion(segment.present)
            var found = segment.damages
            // Perhaps no row follows because the last ones are damaged.
            if segment.lastRev < acknowledged, let tail = try segment.salvageTail(upTo: acknowledged) {
                found.append(tail)
            }
            for damage in found {
                if isComplete || !damage.mayBeTorn {
                    // The row was whole once.
                    (synced, newest) = (max(synced, damage.rev), max(newest, damage.rev))
                } else {
                    torn = max(torn, damage.rev)
                }
            }
            for saved in found.flatMap(\.saved) {
                present.insert(saved.previous + 1...saved.rev)
                newest = max(newest, saved.rev)
            }
            // What the tables have may be damaged in the log.
            if segment.lastRev > foldedRev || found.contains(where: { $0.saved.contains { $0.rev > foldedRev } }),
                !found.isEmpty
            {
                damages[segment.number] = found
            }
        }
        if isComplete { synced = newest }
        if torn <= newest { torn = 0 }
        reachesBack = present.ranges.first.map { $0.lowerBound <= foldedRev + 1 } ?? false
        guard newest > foldedRev else { return }
        for range in present.missing(in: foldedRev + 1...newest).ranges {
            if range.lowerBound <= synced { lost.insert(range.lowerBound...min(range.upperBound, synced)) }
            if range.upperBound > synced {
                end = max(range.lowerBound, synced + 1) - 1
                break
            }
        }
        try noteTornTail(segments)
        lostRecords = damages.values.joined().flatMap(\.lost).filter { lost.contains($0.rev...$0.rev) }
    }

    /// The newest rows are lost and nothing of them can be read: whatever is left in their place is kept for whoever looks into it.
    private mutating func noteTornTail(_ segments: [any ReadableSegment]) throws(StorageFault) {
        guard let last = lost.ranges.last?.upperBound,
            let newest = segments.max(by: { $0.lastRev < $1.lastRev }) as? Segment, newest.lastRev < last,
            damages[newest.number] == nil, newest.used < newest.capacity
        else { return }
        damages[newest.number] = [SegmentDamage(bytes: newest.used..<newest.capacity, at: 0)]
    }
}
