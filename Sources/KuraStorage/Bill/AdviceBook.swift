import KuraBytes
import SQLite

/// Something that costs more than it has to: what, whose, how often, and what it has cost.
public struct WriteAdvice: Sendable, Equatable {
    public enum Kind: UInt8, CaseIterable, Sendable {
        /// A key that is written a hundred times a minute and more.
        case rewrittenKey
        /// Writes of what is there already.
        case sameValue
        /// Changes that come one by one, and cost twice as much as together.
        case oneByOne
        /// Queries that look at every document of a collection.
        case scan
        /// Blobs that are deleted within a minute.
        case shortLivedBlob
    }

    public var kind: Kind
    public var store: BilledStore
    /// Empty where it is about none.
    public var scope: [UInt8] = []
    public var key: [UInt8] = []
    public var client: [UInt8] = []
    public var operation = ""
    /// Changes, writes that changed nothing, queries, or blobs.
    public var count = 0
    /// Bytes that reached the disk and need not have; of scans, documents that were looked at.
    public var cost = 0
    /// Most in a minute, of a key.
    public var peak = 0
    /// What would help, of a scan.
    public var remedy = ""
    /// Milliseconds since 1970.
    public var lastAt: Int64 = 0
}

/// What was noticed in the last day, the costliest of each kind. Of this run; in bounded memory. Belongs to the loop.
struct AdviceBook {
    private struct Subject: Hashable {
        var kind: WriteAdvice.Kind
        var store: BilledStore
        var scope: [UInt8]
        var key: [UInt8]
        var client: [UInt8]
        var operation: String
    }

    private var found: [Subject: WriteAdvice] = [:]

    /// Kept of each kind.
    private static let limit = 32
    private static let age: Int64 = 86_400_000
    /// Changes of a key, changes one by one and writes of the same value: as many in a minute are noticed.
    static let perMinute = 100
    /// Scans and blobs are told of from here on.
    static let scannedDocuments = 10_000
    static let shortLivedBlobs = 10
    /// Milliseconds within which a blob's deletion is told.
    static let shortLife: Int64 = 60_000
    /// What making and removing a file costs besides what is in it.
    private static let fileBytes = 16_384 + 8192

    private mutating func add(_ advice: WriteAdvice) {
        let subject = Subject(
            kind: advice.kind, store: advice.store, scope: advice.scope, key: advice.key, client: advice.client,
            operation: advice.operation)
        if var known = found[subject] {
            known.count += advice.count
            known.cost += advice.cost
            known.peak = max(known.peak, advice.peak)
            known.lastAt = advice.lastAt
            if !advice.remedy.isEmpty { known.remedy = advice.remedy }
            found[subject] = known
            return
        }
        let others = found.filter { $0.key.kind == advice.kind }
        if others.count >= Self.limit {
            // The one that was not seen for longest.
            guard let oldest = others.min(by: { $0.value.lastAt < $1.value.lastAt }) else { return }
            found[oldest.key] = nil
        }
        found[subject] = advice
    }

    // MARK: Noticing

    /// Looks an interval through, about a minute long.
    /// `keys`: those that were written most in it.
    mutating func look(at interval: BillInterval, _ keys: HeavyHitters, _ writers: [WriteBill.Writer]) {
        let at = Int64.milliseconds(seconds: interval.startedAt.later(by: interval.seconds))
        for entry in keys.entries where entry.latest.changes >= Self.perMinute {
            // One write of it would have been enough for the minute, about.
            let share = interval.share(byWeightOf: entry.latest, entry.store)
            let cost = share / entry.latest.changes * (entry.latest.changes - 1)
            add(
                WriteAdvice(
                    kind: .rewrittenKey, store: entry.store, scope: entry.scope, key: entry.key,
                    client: writers[Int(entry.writer)].name, count: entry.latest.changes, cost: cost,
                    peak: entry.latest.changes, lastAt: at))
        }
        let logBytes = interval[.log].bytes - interval.roomBytes
        let weight = interval.durableWeight
        for (group, tally) in interval.groups where group.user != .max || !group.client.isEmpty {
            if tally.noOps >= Self.perMinute {
                add(
                    WriteAdvice(
                        kind: .sameValue, store: group.store, client: group.client, operation: group.operation,
                        count: tally.noOps, lastAt: at))
            }
            guard group.store.isDurable, tally.requests >= Self.perMinute, tally.changes < 2 * tally.requests,
                weight > 0, logBytes >= 2 * weight
            else { continue }
            let cost = Int(Double(tally.weight) * (Double(logBytes) / Double(weight) - 1))
            add(
                WriteAdvice(
                    kind: .oneByOne, store: group.store, client: group.client, operation: group.operation,
                    count: tally.changes, cost: cost, lastAt: at))
        }
    }

    /// A query has looked at documents of a collection one after the other.
    mutating func noteScan(_ collection: [UInt8], documents: Int, remedy: String, at: Int64) {
        add(
            WriteAdvice(
                kind: .scan, store: .documents, scope: collection, count: 1, cost: documents, remedy: remedy, lastAt: at
            ))
    }

    /// A blob has been deleted that was stored less than a minute before.
    mutating func noteShortLife(_ namespace: [UInt8], client: [UInt8], bytes: Int, isFile: Bool, at: Int64) {
        add(
            WriteAdvice(
                kind: .shortLivedBlob, store: .blobs, scope: namespace, client: client, count: 1,
                cost: bytes + (isFile ? Self.fileBytes : 0), lastAt: at))
    }

    // MARK: Telling

    /// What is worth telling, by kind and then by cost.
    mutating func list(now: Int64) -> [WriteAdvice] {
        found = found.filter { $0.value.lastAt > now - Self.age }
        return found.values.filter { advice in
            switch advice.kind {
            case .scan: advice.cost >= Self.scannedDocuments
            case .shortLivedBlob: advice.count >= Self.shortLivedBlobs
            case .rewrittenKey, .sameValue, .oneByOne: true
            }
        }
        .sorted { ($0.kind.rawValue, $1.cost, $1.count) < ($1.kind.rawValue, $0.cost, $0.count) }
    }
}
