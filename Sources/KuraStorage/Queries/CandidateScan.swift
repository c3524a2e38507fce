public import KuraBytes
import KuraJSON
import SQLite

/// A document that a query has found.
public struct FoundDocument {
    public var row: Int64
    public var id: Bytes
    public var rev: UInt64
    /// JSON text.
    public var value: Bytes
    /// Its key in the index that is walked; empty when none is.
    var key: Bytes
}

/// What a query has cost so far.
public struct QueryCost: Sendable {
    /// Entries of an index that were walked over.
    public var keys = 0
    /// Documents that were read.
    public var documents = 0
    /// Documents that match.
    public var matched = 0
    public var snapshots = 0

    public init() {}
}

/// The walk of a query's plan: meets each document that matches, in the order of the plan's access, from snapshot to snapshot.
///
/// A snapshot is given up before it is old, and the walk goes on by key in the next: as `DocumentWalk`, it meets each document once.
final class CandidateScan {
    /// What is to happen behind a document.
    enum Verdict {
        case goOn
        /// It was taken, and is the last; a few more are looked at, to find out whether another follows.
        case lookAhead
        /// It was taken, and is the last.
        case stop
        /// It was not taken: the walk ends before it.
        case refuse
    }

    let plan: QueryPlan
    private let scope: UInt32
    private let selector: Selector
    private let control: QueryControl
    /// Documents need not be read where the keys tell.
    private let countsOnly: Bool
    private(set) var cost = QueryCost()
    private(set) var isAtEnd = false
    private var place: ScanPlace
    /// What the first snapshot was as of.
    private(set) var rev: UInt64 = 0
    /// What the last snapshot was as of.
    private(set) var newestRev: UInt64 = 0
    var budget = ScanBudget()
    /// What documents are taken from when it is run on the loop, just planned: memory is as the tables are then, as far as it goes.
    var memory: Ledger?
    /// Nothing was ever in the collection, so that the tables may know nothing of it.
    var isUnused = false
    /// Why the walk has ended within a snapshot.
    private(set) var failure: QueryError?
    private var quotedID = ByteBuffer()

    init(
        scope: UInt32, plan: QueryPlan, selector: Selector, after position: QueryPosition?, control: QueryControl,
        countsOnly: Bool = false
    ) {
        self.scope = scope
        self.plan = plan
        self.selector = selector
        place = ScanPlace(behind: position)
        self.control = control
        self.countsOnly = countsOnly
    }

    /// Behind what has been walked over; nil before the first.
    var position: QueryPosition? { place.position(plan.access) }

    /// Behind a document that is being visited.
    func position(of document: FoundDocument) -> QueryPosition? {
        switch plan.access {
        case .none: nil
        case .collection: .row(document.row)
        case .ids: .id(Array(document.id))
        case .index(let index, _, _): .key(index: index.number, Array(document.key), row: document.row)
        }
    }

    /// Walks until `visit` or the budget stops it, or nothing is left.
    /// - Throws: `.timeout`, `.interrupted`, `.patternTooComplex`, `.indexGone`, `.unreadable`, `.cancelled`.
    func run(_ tables: TableReader, _ visit: (FoundDocument) -> Verdict) throws(QueryError) {
        var goesOn = true
        while goesOn, !isAtEnd {
            if let fault = control.fault { throw fault }
            do throws(EngineError) {
                try tables.snapshot { (snapshot) throws(SQLiteError) in
                    if rev == 0 { rev = snapshot.rev }
                    newestRev = snapshot.rev
                    cost.snapshots += 1
                    guard try isThere(tables) else { return }
                    goesOn = try step(tables, snapshot, visit)
                }
            } catch { throw .engine(error) }
            if let failure { throw failure }
        }
    }

    /// Whether what the plan walks over is still there in this snapshot.
    private func isThere(_ tables: TableReader) throws(SQLiteError) -> Bool {
        // The loop's plan is of this moment; but an index that was unique may just have failed.
        let isHere = try memory != nil ? true : tables.hasCollection(scope)
        guard isHere || !isUnused else {
            isAtEnd = true
            return false
        }
        guard isHere else {
            // Dropped: what is left of it is nobody's, and another one may have its name by now.
            failure = .indexGone
            return false
        }
        if case .index(let index, _, _) = plan.access, try !tables.isReady(index: index.number) { failure = .indexGone }
        return failure == nil
    }

    private func step(
        _ tables: TableReader, _ snapshot: TableReader.Snapshot, _ visit: (FoundDocument) -> Verdict
    ) throws(SQLiteError) -> Bool {
        switch plan.access {
        case .none:
            isAtEnd = true
            return true
        case .collection:
            let box = try plan.past == nil ? tables.scans.rows() : tables.scans.formerRows()
            defer { box.statement.reset() }
            try bindPast(box.statement, tables)
            try box.statement.bind(1, place.row ?? Int64(scope) << 40)
            try box.statement.bind(2, (Int64(scope) + 1) << 40)
            let outcome = try walk(box.statement, snapshot, keyColumn: nil, visit)
            if outcome == .exhausted { isAtEnd = true }
            return outcome != .stopped
        case .ids(let ranges, let isDescending):
            return try walk(ranges, isDescending, snapshot) { (range) throws(SQLiteError) in
                let box = try tables.scans.ids(isDescending: isDescending)
                defer { box.statement.reset() }
                var (lower, upper) = (range.lower, range.upper)
                if place.row != nil {
                    let id = Array(place.key.bytes)
                    // No id has a control character: nothing is between an id and the same with a 0 behind it.
                    if isDescending { upper = Self.least(upper, id) } else { lower = Self.most(lower, id + [0]) }
                }
                guard lower.lexicographicallyPrecedes(upper) else { return .exhausted }
                try box.statement.bind(1, Int64(scope))
                try box.statement.bind(2, copyingUTF8: lower)
                try box.statement.bind(3, copyingUTF8: upper)
                return try walk(box.statement, snapshot, keyColumn: 1, visit)
            }
        case .index(let index, let ranges, let isDescending):
            return try walk(ranges, isDescending, snapshot) { (range) throws(SQLiteError) in
                let isDecided = plan.isCovered && range.isExact
                let isCounted = countsOnly && isDecided
                if isCounted, place.row == nil, try count(range, of: index.number, tables) { return .exhausted }
                if let memory, !isCounted, place.row == nil {
                    guard range.lower.lexicographicallyPrecedes(range.upper) else { return .exhausted }
                    let box = try tables.scans.keys(index.number, isDescending: isDescending)
                    defer { box.statement.reset() }
                    try box.statement.bind(1, copying: range.lower)
                    try box.statement.bind(2, copying: range.upper)
                    return try walk(
                        box.statement, keyColumn: 1, in: memory, tables, isDecided: isDecided, visit)
                }
                let box = try tables.scans.index(
                    index.number, isDescending: isDescending, withDocuments: !isCounted && memory == nil)
                defer { box.statement.reset() }
                var start = isDescending ? range.upper : range.lower
                var row: Int64 = -1
                if let at = place.row {
                    let key = Array(place.key.bytes)
                    let isInside =
                        isDescending ? key.lexicographicallyPrecedes(start) : !key.lexicographicallyPrecedes(start)
                    if isInside { (start, row) = (key, at) }
                }
                let end = isDescending ? range.lower : range.upper
                guard isDescending ? !start.lexicographicallyPrecedes(end) : start.lexicographicallyPrecedes(end) else {
                    return .exhausted
                }
                try box.statement.bind(1, copying: start)
                try box.statement.bind(2, row)
                try box.statement.bind(3, copying: end)
                if let memory, !isCounted {
                    return try walk(box.statement, keyColumn: 5, in: memory, tables, isDecided: isDecided, visit)
                }
                return try walk(
                    box.statement, snapshot, keyColumn: 5, isKeyOnly: isCounted, isDecided: isDecided, visit)
            }
        }
    }

    func bindPast(_ statement: borrowing Statement, _ tables: TableReader) throws(SQLiteError) {
        guard let past = plan.past else { return }
        try statement.bind(3, Int64(clamping: past.rev))
        try statement.bind(4, try tables.history.erasedTo(scope))
    }

    /// The row at which a statement stands may be of a document of which nobody knows what it was then.
    func noteUnknown(_ statement: borrowing Statement) {
        guard let past = plan.past, statement.int64(5) != 0 else { return }
        failure = .compacted(oldestRev: past.oldestRev)
    }

    /// Counts the entries of a range at once, if they are few enough for one step of a statement.
    /// - Returns: whether they are; nothing has been counted if not.
    private func count(_ range: KeyRange, of index: Int64, _ tables: TableReader) throws(SQLiteError) -> Bool {
        guard range.lower.lexicographicallyPrecedes(range.upper) else { return true }
        let limit = min(budget.candidates, Self.countedAtOnce / Self.countedForOne) * Self.countedForOne
        let box = try tables.scans.count(index)
        defer { box.statement.reset() }
        try box.statement.bind(1, copying: range.lower)
        try box.statement.bind(2, copying: range.upper)
        try box.statement.bind(3, Int64(limit))
        guard try box.statement.step() else { return false }
        let count = Int(box.statement.int64(0))
        guard count < limit else {
            // A thread counts again.
            if memory != nil { budget.candidates = 0 }
            return false
        }
        budget.candidates -= count / Self.countedForOne
        cost.keys += count
        cost.matched += count
        return true
    }

    /// About two milliseconds.
    private static let countedAtOnce = 50_000
    /// So many entries are counted while one document is looked at.
    private static let countedForOne = 8

    private static func least(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        left.lexicographicallyPrecedes(right) ? left : right
    }

    private static func most(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        left.lexicographicallyPrecedes(right) ? right : left
    }

    private enum Outcome {
        /// Nothing is left in the range.
        case exhausted
        /// The snapshot has become old.
        case paused
        case stopped
    }

    /// Walks the plan's ranges from the one on that it has come to.
    private func walk(
        _ ranges: [KeyRange], _ isDescending: Bool, _ snapshot: TableReader.Snapshot,
        _ body: (KeyRange) throws(SQLiteError) -> Outcome
    ) throws(SQLiteError) -> Bool {
        while place.range < ranges.count {
            let outcome = try body(ranges[isDescending ? ranges.count - 1 - place.range : place.range])
            guard outcome == .exhausted else { return outcome == .paused }
            place.range += 1
            if place.range % 32 == 0, snapshot.isStale { return true }
        }
        isAtEnd = true
        return true
    }

    /// Steps through a statement's rows. `keyColumn`: where what they are walked by stands, when that is not the row.
    /// `isDecided`: they match, as their keys tell.
    private func walk(
        _ statement: borrowing Statement, _ snapshot: TableReader.Snapshot, keyColumn: Int32?, isKeyOnly: Bool = false,
        isDecided: Bool = false, _ visit: (FoundDocument) -> Verdict
    ) throws(SQLiteError) -> Outcome {
        var seen = 0
        var bytes = 0
        while true {
            guard !budget.isSpent else { return .stopped }
            guard try statement.step() else { return .exhausted }
            budget.candidates -= 1
            if isIndexed { cost.keys += 1 }
            var verdict = Verdict.goOn
            if isKeyOnly {
                cost.matched += 1
            } else {
                bytes += try judge(statement, isDecided: isDecided, visit, &verdict)
            }
            if failure != nil || verdict == .refuse { return .stopped }
            place.set(statement.int64(0), keyColumn.map { statement.bytes($0) } ?? Bytes())
            if verdict == .stop { return .stopped }
            if verdict == .lookAhead { budget.candidates = memory == nil ? Self.lookAhead : 1 }
            seen += 1
            guard seen % 32 == 0 || bytes >= 1 << 20 else { continue }
            bytes = 0
            if let fault = control.fault {
                failure = fault
                return .stopped
            }
            if snapshot.isStale { return .paused }
        }
    }

    /// Holds a row's document against the selector.
    /// - Returns: bytes that were looked through.
    private func judge(
        _ statement: borrowing Statement, isDecided: Bool, _ visit: (FoundDocument) -> Verdict,
        _ verdict: inout Verdict
    ) throws(SQLiteError) -> Int {
        cost.documents += 1
        noteUnknown(statement)
        guard statement.int64(3) == 0 else { return 0 }
        let document = FoundDocument(
            row: statement.int64(0), id: statement.bytes(1), rev: UInt64(statement.int64(2)),
            value: try statement.line(4), key: isIndexed ? statement.bytes(5) : Bytes())
        judge(document, isDecided: isDecided, visit, &verdict)
        return document.value.count
    }

    private func judge(
        _ document: FoundDocument, isDecided: Bool, _ visit: (FoundDocument) -> Verdict, _ verdict: inout Verdict
    ) {
        budget.bytes -= document.value.count
        guard isDecided || matches(document.value, document.id) else { return }
        verdict = visit(document)
        if verdict != .refuse { cost.matched += 1 }
    }

    /// Entries of an index that have been stepped over and not looked at.
    private struct Ahead: ~Copyable {
        private var rows = InlineArray<8, Int64>(repeating: 0)
        private var ends = InlineArray<8, Int>(repeating: 0)
        private var keys = ByteBuffer()
        private(set) var count = 0

        /// Steps over so many entries at most, and has their documents fetched from memory side by side, not one after the other: most of
        /// what a document costs is to wait for it.
        /// - Returns: false when there were fewer.
        mutating func fill(
            _ statement: borrowing Statement, keyColumn: Int32, atMost limit: Int, from table: RowTable
        ) throws(SQLiteError) -> Bool {
            keys.removeAll()
            count = 0
            let limit = min(limit, rows.count)
            while count < limit, try statement.step() {
                rows[count] = statement.int64(0)
                table.prefetchBucket(of: rows[count])
                keys.append(statement.bytes(keyColumn))
                ends[count] = keys.count
                count += 1
            }
            for index in 0..<count { table.prefetchHead(of: rows[index]) }
            for index in 0..<count { table.find(rows[index])?.prefetchBody() }
            return count == limit
        }

        func row(_ index: Int) -> Int64 { rows[index] }

        func key(_ index: Int) -> Bytes { keys.bytes.extracting((index == 0 ? 0 : ends[index - 1])..<ends[index]) }
    }

    /// Steps through an index on the loop, where most of what it names is in memory.
    private func walk(
        _ statement: borrowing Statement, keyColumn: Int32, in memory: Ledger, _ tables: TableReader, isDecided: Bool,
        _ visit: (FoundDocument) -> Verdict
    ) throws(SQLiteError) -> Outcome {
        // Not in the members, each use of which is checked for exclusivity.
        var (left, keys, matched) = (budget, 0, 0)
        defer {
            budget = left
            cost.keys += keys
            cost.documents += keys
            cost.matched += matched
        }
        let rows = memory.table.rows
        var ahead = Ahead()
        while !left.isSpent {
            let hasMore = try ahead.fill(statement, keyColumn: keyColumn, atMost: left.stepsAhead, from: rows)
            for index in 0..<ahead.count {
                guard !left.isSpent else { return .stopped }
                let row = ahead.row(index)
                keys += 1
                var found = rows.find(row)
                if let found {
                    left.candidates -= 1
                    memory.markRead(found)
                } else {
                    left.candidates -= ScanBudget.costOfRow
                    found = try read(row, into: memory, tables)
                }
                let key = ahead.key(index)
                var verdict = Verdict.goOn
                if let item = found, !item.isTombstone {
                    let document = FoundDocument(
                        row: row, id: item.key, rev: item.pointee.rev, value: item.value, key: key)
                    left.bytes -= document.value.count
                    if isDecided || matches(document.value, document.id) {
                        verdict = visit(document)
                        if verdict == .refuse { return .stopped }
                        matched += 1
                        left.wanted -= 1
                    }
                }
                if failure != nil { return .stopped }
                place.set(row, key)
                if verdict == .stop { return .stopped }
                if verdict == .lookAhead { left.candidates = min(left.candidates, 1) }
            }
            guard hasMore else { return .exhausted }
        }
        return .stopped
    }

    /// A document of the tables, put into the cache.
    private func read(_ row: Int64, into memory: Ledger, _ tables: TableReader) throws(SQLiteError) -> ItemRef? {
        let box = try tables.scans.item()
        defer { box.statement.reset() }
        try box.statement.bind(1, row)
        guard try box.statement.step() else { return nil }
        _ = try box.statement.line(ItemRef.bodyColumn)
        let item = ItemRef.make(from: box.statement, scope: scope)
        guard memory.adopt(unknown: item) else {
            failure = .engine(.cold)
            return nil
        }
        return item
    }

    /// Behind a full page so many candidates are looked at, to find out whether another follows.
    private static let lookAhead = 64

    private var isIndexed: Bool { if case .index = plan.access { true } else { false } }

    /// Whether a document matches; one that a pattern takes too long for does not, and ends the walk.
    func matches(_ value: Bytes, _ id: Bytes) -> Bool {
        guard !selector.isEmpty else { return true }
        var gaveUpAt: String?
        let matches: Bool
        if selector.usesID {
            quotedID.removeAll()
            quotedID.append(idAsJSON: id)
            matches = selector.matches(StoredValue(value), id: StoredValue(quotedID.bytes), gaveUpAt: &gaveUpAt)
        } else {
            matches = selector.matches(StoredValue(value), id: nil, gaveUpAt: &gaveUpAt)
        }
        if let gaveUpAt { failure = .patternTooComplex(at: gaveUpAt) }
        return matches && gaveUpAt == nil
    }
}

extension ByteBuffer {
    /// An id, which has no control characters, as a JSON string.
    mutating func append(idAsJSON id: Bytes) {
        append(UInt8(ascii: "\""))
        for byte in id {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { append(UInt8(ascii: "\\")) }
            append(byte)
        }
        append(UInt8(ascii: "\""))
    }
}
