import KuraBytes
import SQLite
import Synchronization

/// What starts have recovered and set aside, for the server.
extension Storage {
    /// What has been recovered, and not acknowledged.
    public var recovered: [RecoveredNotice] { start.boot.recovered }

    /// Begins to look what lies in the quarantine.
    /// - Returns: a ticket that `takeAnswers` gives back, with the `QuarantineLook`.
    public func lookIntoQuarantine(for user: UInt32) -> UInt64 {
        desk.submit(content: QuarantineLook(configuration), for: user)
    }

    /// Begins to clear the notices.
    /// - Returns: a ticket that `takeAnswers` gives back, with the `Acknowledgement`.
    public func acknowledge(for user: UInt32) -> UInt64 {
        desk.submit(content: Acknowledgement(start.boot), for: user)
    }

    /// Notes how far the caches have been read, and tells those who watch of notices that have come or gone.
    func tendBoot() {
        if start.boot.isReading.load(ordering: .relaxed) {
            _ = FaultPoints.hit(.bootReadCache)
            let unread = caches.unread
            if unread.count < CacheStore.allCases.count { start.boot.reads(unread) }
        }
        if start.boot.takeNews() { tellRecovered() }
    }

    /// Tells those who watch whether notices stand. Also whenever somebody begins to watch while there are any.
    public func tellRecovered() {
        let stands = !recovered.isEmpty
        caches.tell(
            .storage,
            CacheChange(
                target: .init(source: .storage, extent: .whole, scope: [], name: Array("recovered".utf8)),
                event: stands ? .recovered : .acknowledged))
    }
}

/// Looks what lies in the quarantine. On a content thread.
public final class QuarantineLook: TableQuery, @unchecked Sendable {
    // Has one user at a time, as the pool sees to.

    public struct Entry: Sendable {
        public var name: String
        /// Milliseconds since 1970.
        public var at: Int64
        public var reason: String
        public var bytes: Int
        public var files: Int
    }

    private let configuration: StorageConfiguration
    /// In the order of their names.
    public private(set) var entries: [Entry] = []
    /// It could not be read.
    public private(set) var failure: StorageFault?

    init(_ configuration: StorageConfiguration) { self.configuration = configuration }

    public var foldedTo: UInt64 { 0 }

    public func run(_ tables: TableReader) {
        do throws(StorageFault) { entries = try Quarantine.entries(configuration) } catch { failure = error }
    }
}

/// Clears the notices of what has been recovered. On a content thread.
public final class Acknowledgement: TableQuery, @unchecked Sendable {
    // Has one user at a time, as the pool sees to.

    private let boot: Boot
    /// Notices that there were.
    public private(set) var count = 0
    public private(set) var failure: StorageFault?

    init(_ boot: Boot) { self.boot = boot }

    public var foldedTo: UInt64 { 0 }

    public func run(_ tables: TableReader) {
        do throws(StorageFault) { count = try boot.acknowledge() } catch { failure = error }
    }
}
