import Glibc
import KuraBytes
import KuraStorage
import SQLite

/// A look through the closed segments where they lie: their rows, and whether each change comes next to the one before it.
///
/// Meanwhile retention lets segments go and uses their files again, and destroying secrets has segments written anew in their places. A problem
/// is told when the segment is still the file that was read and retention keeps it; otherwise it is passed over, or looked at again.
struct LogLook {
    struct Problem: Equatable {
        /// Below the data directory.
        var place: String
        var text: String
    }

    /// How many segments and changes the look has read.
    private(set) var segments = 0
    private(set) var changes = 0
    /// The faults that it has found.
    private(set) var problems: [Problem] = []

    /// As of one moment, like `activeAfter`.
    private let closed: [Log.Closed]
    /// Revisions up to here lie in one of the closed segments.
    private let activeAfter: UInt64
    private let retired: RetiredSegments
    private let directory: String
    /// Revisions that are missing, and told of.
    private let lost: RevisionSet
    private let goesOn: () -> Bool
    private let open: Open

    typealias Open = (_ number: Int, _ directory: String) throws(StorageFault) -> any ReadableSegment

    init(
        _ closed: [Log.Closed], activeAfter: UInt64, retired: RetiredSegments, in directory: String, lost: RevisionSet,
        goesOn: @escaping () -> Bool = { true },
        open: @escaping Open = LogFiles.open
    ) {
        self.closed = closed.sorted { ($0.firstRev, $0.number) < ($1.firstRev, $1.number) }
        (self.activeAfter, self.retired, self.directory, self.lost) = (activeAfter, retired, directory, lost)
        (self.goesOn, self.open) = (goesOn, open)
    }

    /// `advance`: called with bytes that were looked at.
    mutating func run(advance: (Int) -> Void) throws(StorageFault) {
        var reached: UInt64 = 0
        for segment in closed where goesOn() {
            if let found = try look(at: segment, after: reached) {
                problems += found.problems.map { Problem(place: name(of: segment.number), text: $0) }
                reached = found.reached
                changes += found.changes
                segments += 1
            } else {
                reached = max(reached, segment.lastRev)
            }
            advance(segment.bytes)
        }
        let last = closed.map(\.lastRev).max() ?? 0
        if last > 0, last < activeAfter, !lost.contains(last + 1...activeAfter) {
            problems.append(Problem(place: "log", text: "revisions \(last + 1) to \(activeAfter) are in no segment"))
        }
    }

    private func name(of number: Int) -> String {
        let path = LogFiles.paths(number, in: directory).last ?? Segment.path(directory, number)
        return "log/" + (path.split(separator: "/").last ?? "")
    }

    // MARK: One segment

    /// The result for one segment.
    private struct Findings {
        var problems: [String] = []
        var changes = 0
        /// The newest revision up to here.
        var reached: UInt64
    }

    /// One of a segment's files; another one as soon as it is written anew.
    private struct File: Equatable {
        var path: String
        var inode: ino_t
        /// When it was changed: seconds since 1970, and nanoseconds of the second.
        var changedAt: [Int]

        init?(_ path: String) {
            var information = stat()
            // Safety: the kernel fills one `stat`, which is ours; the path is lent as a C string for the call.
            guard unsafe stat(path, &information) == 0 else { return nil }
            (self.path, inode) = (path, information.st_ino)
            changedAt = [information.st_ctim.tv_sec, information.st_ctim.tv_nsec]
        }
    }

    private func files(of number: Int) -> [File] { LogFiles.paths(number, in: directory).compactMap { File($0) } }

    /// - Returns: nil when retention has let the segment go, or the feed has one of an earlier layout open, whose file one may have open.
    private func look(at listed: Log.Closed, after reached: UInt64) throws(StorageFault) -> Findings? {
        while true {
            let files = files(of: listed.number)
            var found = Findings(reached: reached)
            if files.isEmpty {
                found = Findings(problems: ["it is gone"], reached: max(reached, listed.lastRev))
            } else {
                do throws(StorageFault) { try read(listed, &found) } catch {
                    if case .database(let cause, _) = error, cause.isBusy { return nil }
                    guard !error.isWant else { throw error }
                    found.problems.append(error.description)
                }
            }
            guard !found.problems.isEmpty, goesOn() else { return found }
            // In this order: retention notes a segment before its file goes.
            let isSame = files == self.files(of: listed.number)
            if retired.contains(listed.number) { return nil }
            if isSame { return found }
        }
    }

    private func read(_ listed: Log.Closed, _ found: inout Findings) throws(StorageFault) {
        let segment = try open(listed.number, directory)
        if let damage = segment.damages.first {
            found.problems.append(
                "it is not what was written from byte \(damage.bytes.lowerBound) to \(damage.bytes.upperBound - 1)")
        }
        var reached = found.reached
        // Not the segment's own: its rows may have gone since it was opened.
        var last: UInt64 = 0
        var changes = 0
        var hole: String?
        try segment.someRows(after: 0) { (row) throws(StorageFault) in
            let rev = row.rev
            last = max(last, rev)
            var offset = 0
            var inRow: UInt64 = 0
            while let record = try LogRecord.next(in: row.records, at: &offset) {
                changes += 1
                inRow = max(inRow, record.rev)
                // Copies of a recovery have what others have as well.
                guard record.rev > reached else { continue }
                if reached > 0, record.rev != reached + 1, !RelaxedDurability.raises(record, from: reached),
                    !lost.contains(reached + 1...record.rev - 1), hole == nil
                {
                    hole = "revision \(record.rev) follows \(reached)"
                }
                reached = record.rev
            }
            if inRow > rev, hole == nil { hole = "a row of revision \(rev) has a change of revision \(inRow)" }
            return goesOn()
        }
        found.changes = changes
        if let hole { found.problems.append(hole) }
        if goesOn(), last < listed.lastRev {
            found.problems.append("it ends with revision \(last), and had \(listed.lastRev)")
        }
        found.reached = reached
    }
}
