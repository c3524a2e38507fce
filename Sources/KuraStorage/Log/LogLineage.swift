import KuraBytes
import SQLite

/// Which segments of a log belong to the tables beside it: those of their history, those of its ancestors up to where it has left them, and those
/// of histories that go on from it, where the tables are an older copy.
///
/// `meta` has the ancestors in a row of its own (`ancestors`), a line each: the name, and the newest revision that is taken over from there. Tables of
/// earlier versions have no such row and know their parent alone.
package struct LogLineage {
    /// A segment with changes.
    struct Member {
        var number: Int
        var history: LogHistory?
        var previousRev: UInt64
        var lastRev: UInt64
        /// The tables have it among the closed ones.
        var isListed = false
    }

    /// What the segments tell.
    struct Verdict {
        /// The tables' own history, or the newest that goes on from it.
        var newest: LogHistory
        /// Histories of segments that were taken although the tables do not name them.
        var taken: [String: UInt64] = [:]
    }

    let history: LogHistory
    private(set) var ancestors: [String: UInt64] = [:]
    /// The tables do not say which ancestors they have.
    private(set) var isUnnoted = true
    private let foldedRev: UInt64

    private static let name = "ancestors"
    /// Retention lets go of what is older.
    private static let most = 256

    init(in connection: Connection) throws(SQLiteError) {
        history = try LogHistory(in: connection)
        foldedRev = UInt64(clamping: try connection.scalar("SELECT value FROM meta WHERE name = 'foldedRev'") ?? 0)
        let select = try connection.prepare("SELECT value FROM meta WHERE name = '\(Self.name)'")
        if try select.step() {
            isUnnoted = false
            for line in select.text(0).split(separator: "\n") {
                let words = line.split(separator: " ")
                guard words.count == 2, let end = UInt64(words[1]) else { continue }
                ancestors[String(words[0])] = end
            }
        }
        guard !history.parent.isEmpty, ancestors[history.parent] == nil else { return }
        // What was lost ended what both have, and later changes were taken over all the same.
        let lost = try RevisionSet(lostIn: connection)
        ancestors[history.parent] = lost.contains(history.began + 1...history.began + 1) ? .max : history.began
    }

    /// Of tables that are as of a revision of a history, and not noted anywhere.
    init(_ history: LogHistory, foldedRev: UInt64) {
        (self.history, self.foldedRev, isUnnoted) = (history, foldedRev, false)
    }

    /// Notes the ancestors of the history that the tables have now.
    /// `others`: the newest revisions that are taken over from further ones.
    func note(_ others: [String: UInt64], of history: LogHistory, in connection: Connection) throws(SQLiteError) {
        var ancestors = ancestors
        if !self.history.epoch.isEmpty { ancestors[self.history.epoch] = others[self.history.epoch] ?? history.began }
        if !history.parent.isEmpty, ancestors[history.parent] == nil { ancestors[history.parent] = history.began }
        ancestors.merge(others) { max($0, $1) }
        ancestors[history.epoch] = nil
        let lines = ancestors.sorted { ($0.value, $0.key) > ($1.value, $1.key) }.prefix(Self.most)
        let put = try connection.prepare("INSERT OR REPLACE INTO meta(name, value) VALUES('\(Self.name)', ?1)")
        try put.bind(1, text: lines.map { "\($0.key) \($0.value)\n" }.joined())
        try put.run()
    }

    // MARK: Judging

    /// `listed`: segments that the tables have as closed. Those are not read through: their heads are enough.
    static func members(
        _ listed: [Log.Closed], _ others: [any ReadableSegment], in directory: String
    ) -> [Member] {
        let opened = Set(others.map(\.number))
        let heads = listed.filter { !opened.contains($0.number) }.compactMap { closed -> Member? in
            let path = Segment.path(directory, closed.number)
            guard FileSystem.isRegular(path), let head = try? Segment.head(path) else { return nil }
            return Member(
                number: closed.number, history: head.history, previousRev: max(closed.firstRev, 1) - 1,
                lastRev: closed.lastRev, isListed: true)
        }
        return heads
            + others.map {
                Member(number: $0.number, history: $0.history, previousRev: $0.previousRev, lastRev: $0.lastRev)
            }
    }

    /// Tells whether all segments belong to the tables.
    /// - Throws: `.foreign` when one does not. Nothing has been changed then.
    @discardableResult
    func judge(_ segments: [Member], _ configuration: StorageConfiguration) throws(StorageFault) -> Verdict {
        let (verdict, strays, ends) = sort(segments, configuration)
        guard let first = strays.first else { return verdict }
        throw .foreign(refusal(first, ends[first.history?.epoch ?? ""], more: strays.count - 1, configuration))
    }

    /// What a recovery may copy from: it leaves the others where they were set aside.
    func belonging(
        _ segments: [any ReadableSegment], _ configuration: StorageConfiguration, report: (String) -> Void
    ) -> [any ReadableSegment] {
        let strays = sort(Self.members([], segments, in: ""), configuration).strays
        for stray in strays {
            report(
                "segment \(stray.number) of the log is of another history, \(stray.history?.epoch ?? ""): nothing of it is taken in"
            )
        }
        return segments.filter { segment in !strays.contains { $0.number == segment.number } }
    }

    /// `ends`: by history the newest revision that belongs to the tables.
    private func sort(
        _ segments: [Member], _ configuration: StorageConfiguration
    ) -> (verdict: Verdict, strays: [Member], ends: [String: UInt64]) {
        var verdict = Verdict(newest: history)
        var ends = ancestors
        ends[history.epoch] = .max
        let histories = segments.compactMap(\.history)
        var known = 0
        while known < ends.count {
            known = ends.count
            for other in histories where !other.parent.isEmpty && ends[other.parent] == nil {
                ends[other.parent] = ends[other.epoch]
            }
            guard let next = histories.first(where: { follows($0, verdict.newest, ends, segments) }) else { continue }
            ends[next.epoch] = .max
            verdict.newest = next
        }
        let isLenient = isUnnoted && (!history.parent.isEmpty || Self.isMadeAnew(configuration))
        var strays: [Member] = []
        for segment in segments {
            guard let other = segment.history, segment.lastRev > ends[other.epoch] ?? 0 || ends[other.epoch] == nil
            else {
                continue
            }
            if isLenient || isUnnoted && segment.isListed {
                verdict.taken[other.epoch] = max(verdict.taken[other.epoch] ?? 0, segment.lastRev)
            } else {
                strays.append(segment)
            }
        }
        if verdict.newest != history {
            for segment in segments {
                guard let epoch = segment.history?.epoch, epoch != verdict.newest.epoch else { continue }
                verdict.taken[epoch] = max(verdict.taken[epoch] ?? 0, segment.lastRev)
            }
        }
        return (verdict, strays, ends)
    }

    /// Judges a log beside tables that nobody has opened, and changes nothing.
    /// - Returns: why a start refuses it; nil when it does not, and when the tables cannot be read as they lie there.
    package static func refusal(_ configuration: StorageConfiguration) -> StorageFault? {
        // SQLite would wait for a writer of a FIFO.
        guard FileSystem.isRegular(configuration.tablesPath) else { return nil }
        let lineage: LogLineage
        let closed: [Log.Closed]
        do throws(SQLiteError) {
            let tables = try Connection(immutable: configuration.tablesPath)
            defer { tables.close() }
            lineage = try LogLineage(in: tables)
            closed = try TablesInMemory.readSegments(tables)
        } catch { return nil }
        guard !lineage.history.epoch.isEmpty else { return nil }
        do throws(StorageFault) {
            try lineage.judge(beside: closed, configuration)
            return nil
        } catch {
            guard case .foreign = error else { return nil }
            return error
        }
    }

    /// Judges the closed segments and all others that can be read. Those of earlier layouts name no history.
    @discardableResult
    func judge(beside closed: [Log.Closed], _ configuration: StorageConfiguration) throws(StorageFault) -> Verdict {
        let directory = configuration.logDirectory
        let others = try LogFiles.numbers(in: directory).filter { number in
            !closed.contains { $0.number == number && $0.lastRev <= foldedRev }
        }.compactMap { try? Segment(opening: $0, in: directory) }.filter { $0.lastRev > 0 }
        return try judge(Self.members(closed, others, in: directory), configuration)
    }

    /// Whether tables of an earlier version may have been made anew of this log, which they did not say.
    private static func isMadeAnew(_ configuration: StorageConfiguration) -> Bool {
        ((try? RecoveredFile(configuration).read()) ?? []).contains { $0.what == .durable }
    }

    /// Whether a history goes on from the newest that is known, which has no changes of its own behind that.
    private func follows(
        _ next: LogHistory, _ newest: LogHistory, _ ends: [String: UInt64], _ segments: [Member]
    ) -> Bool {
        guard ends[next.epoch] == nil, next.parent == newest.epoch, next.began >= max(foldedRev, newest.began) else {
            return false
        }
        let first = segments.filter { $0.history?.epoch == next.epoch }.map(\.previousRev).min() ?? 0
        return !segments.contains { $0.history?.epoch == newest.epoch && $0.lastRev > first }
    }

    /// `end`: up to there its history's changes belong to the tables; nil: none do.
    private func refusal(
        _ stray: Member, _ end: UInt64?, more: Int, _ configuration: StorageConfiguration
    ) -> String {
        let log = configuration.logDirectory
        let path = LogFiles.paths(stray.number, in: log).first ?? Segment.path(log, stray.number)
        let what = "\(path) is of the history \(stray.history?.epoch ?? "")"
        let why =
            end.map {
                " and goes to revision \(stray.lastRev), and that of the tables, \(history.epoch), has left it behind revision \($0)"
            } ?? ", which that of the tables, \(history.epoch), has nothing of"
        let word = ShellWord.quoted(path)
        let aside = "\(configuration.dataDirectory)/\(path.split(separator: "/").last ?? "").aside"
        return "\(what)\(why)\(more > 0 ? " (\(more) more do not belong to them either)" : ""): the log, or "
            + "\(configuration.tablesPath), is of another data directory or another time. Nothing was changed. Put back what "
            + "belongs together; when the tables are the right ones, mv \(word) \(ShellWord.quoted(aside))"
    }
}
