import KuraBytes
import SQLite

/// The scopes of an application: those that have its name, or begin with it and a dot, slash, colon or dash.
struct ApplicationScopes: Sendable {
    private let name: [UInt8]
    private static let separators: [UInt8] = Array("./:-".utf8)

    init(_ name: [UInt8]) { self.name = name }

    func contains(_ scope: [UInt8]) -> Bool {
        guard scope.starts(with: name) else { return false }
        return scope.count == name.count || Self.separators.contains(scope[name.count])
    }
}

/// What is done when an application has started: its scopes are swept, then at one start in five database files that are large are compacted, then sizes are
/// taken. One application after the other; each step takes slices of turns, or is a thread's. Belongs to the loop.
final class Launches {
    private enum Step {
        case sweeping
        case compacting(Compaction)
        case measuring
    }

    private(set) var reports: [LaunchReport] = []
    private var waiting: [[UInt8]] = []
    private var current: (report: LaunchReport, step: Step)?
    private var counts: [[UInt8]: Int] = [:]
    /// When the next may begin: whoever starts all the time is not swept all the time.
    private var nextAt: UInt64 = 0
    private let sizes = Outbox<[(name: String, bytes: Int)]>()

    /// One start in so many of an application has files compacted.
    static let compactionInterval = 5
    /// Applications that may wait, whose starts are counted, and whose reports are kept.
    private static let mostWaiting = 64
    private static let mostCounted = 1024
    private static let mostReports = 64
    /// Nanoseconds between two.
    private static let pause: UInt64 = 1_000_000_000

    var isIdle: Bool { current == nil && waiting.isEmpty }

    /// An application has started. One that waits already waits for both.
    func note(_ client: [UInt8]) {
        guard !waiting.contains(client), waiting.count < Self.mostWaiting else { return }
        waiting.append(client)
    }

    /// Does what can be done now.
    /// - Returns: when it wants to be asked again; `.max` when a thread or nobody has something to do.
    func tend(_ time: UInt64, _ storage: isolated Storage) -> UInt64 {
        guard current != nil else { return begin(time, storage) }
        switch current!.step {
        case .sweeping:
            let sweep = storage.caches.sweep
            // Its slices are the rooms' own.
            guard !sweep.isRunning else { return time + 1_000_000 }
            current!.report.swept = sweep.removed
            current!.report.sweptBytes = sweep.bytes
            guard current!.report.count % Self.compactionInterval == 0 else { return measure(storage) }
            current!.step = .compacting(storage.compactLarge())
        case .compacting(let compaction):
            guard compaction.isThrough else { break }
            current!.report.isCompacted = compaction.failure == nil
            current!.report.freed = compaction.files.reduce(0) { $0 + max($1.before - $1.after, 0) }
            return measure(storage)
        case .measuring:
            guard let found = sizes.take()?.last else { return .max }
            storage.caches.sizes = found
            current!.report.at = storage.clock.wall
            end(current!.report)
            current = nil
            nextAt = time + Self.pause
            return waiting.isEmpty ? .max : nextAt
        }
        return time + 50_000_000
    }

    private func begin(_ time: UInt64, _ storage: isolated Storage) -> UInt64 {
        guard let client = waiting.first else { return .max }
        guard time >= nextAt else { return nextAt }
        // What is not read yet cannot be swept.
        guard storage.caches.unread.isEmpty else { return time + 10_000_000 }
        waiting.removeFirst()
        if counts.count >= Self.mostCounted, counts[client] == nil { counts = [:] }
        counts[client, default: 0] += 1
        let scopes = ApplicationScopes(client)
        storage.caches.sweep(of: scopes)
        storage.chores.aging.hasten(scopes)
        current = (LaunchReport(client: client, count: counts[client]!), .sweeping)
        return 0
    }

    private func measure(_ storage: isolated Storage) -> UInt64 {
        current!.step = .measuring
        let (configuration, sizes, wake) = (storage.configuration, sizes, storage.host.wake)
        storage.runInBackground {
            sizes.append(Caches.sizes(configuration))
            wake()
        }
        return .max
    }

    private func end(_ report: LaunchReport) {
        reports.removeAll { $0.client == report.client }
        reports.append(report)
        if reports.count > Self.mostReports { reports.removeFirst() }
    }
}

/// What was done for an application's start.
public struct LaunchReport: Sendable {
    public var client: [UInt8]
    /// Its starts since the daemon's, this one included.
    public var count: Int
    /// Milliseconds since 1970, when it was done.
    public var at: Int64 = 0
    /// Entries of caches that went, and the bytes that they counted as.
    public var swept = 0
    public var sweptBytes = 0
    public var isCompacted = false
    /// Bytes that files became smaller by.
    public var freed = 0

    init(client: [UInt8], count: Int) {
        (self.client, self.count) = (client, count)
    }
}

extension Storage {
    /// An application has started: what is due then is done by and by.
    public func launched(_ client: [UInt8]) { chores.launched(client) }

    /// What was done for the last start of each application, oldest first.
    public var launchReports: [LaunchReport] { chores.launches.reports }
}
