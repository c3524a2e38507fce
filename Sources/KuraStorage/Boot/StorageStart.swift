import KuraBytes
import SQLite

/// One start of the storage, from the lock on the data directory until that is given back: what it has opened, and what it has found there.
///
/// It says in boot.json how far it has come (`Boot`), and has the housekeeper as long as anything else runs.
public final class StorageStart: Sendable {
    public let configuration: StorageConfiguration
    private let directory: DataDirectory
    let housekeeper: Housekeeper
    /// Counts this start.
    public let boot: Boot
    /// What reads meet that is damaged.
    public let damage: DamageBook
    /// Names the history that revisions belong to.
    public let epoch: String
    /// Milliseconds since 1970.
    public let startedAt: Int64
    /// Changes that an unclean stop had left in the log only.
    public let replayedChanges: Int
    /// The revision counter was raised at the start, since an unclean stop may have lost relaxed changes.
    public let hasRaisedRevision: Bool

    /// What was recovered, and the thread that goes on with it.
    typealias Opened = (start: StorageStart, recovery: Recovery, folder: Folder)

    /// Locks the data directory, recovers what the last run left, and sees whether this one can go on with it.
    /// - Throws: what keeps the storage from starting; then no thread runs, and nothing was changed beyond a recovery that is safe to repeat.
    static func open(_ configuration: StorageConfiguration, _ host: StorageHost) throws(StorageFault) -> Opened {
        try PathWalk.checkWay(to: configuration.dataDirectory, report: host.report)
        let directory = try DataDirectory.open(
            configuration.dataDirectory, configuration: configuration, report: host.report)
        let housekeeper = try Housekeeper()
        let boot = Boot(configuration, remark: host.remark, report: host.report)
        var folder: Folder?
        let recovery: Recovery
        do throws(StorageFault) {
            try boot.begin()
            try boot.layBundle()
            recovery = try Recovery.start(configuration, housekeeper: housekeeper, boot: boot, report: host.report)
            recovery.log.compact(to: try ChangeHistory.compactedRev(recovery.writer, configuration))
            // Safety: the connection's only other user, the recovery, ends with the storage's initialiser.
            nonisolated(unsafe) let writer = recovery.writer
            folder = try unsafe Folder(
                connection: writer, configuration: configuration, foldedRev: recovery.ledger.foldedRev,
                wake: host.wake)
            try boot.enter(.keys)
            try KeyKeeper.check(configuration, holdsSecrets: recovery.ledger.holdsSecrets)
            // From here on what was recovered is the data, whatever else keeps the daemon from serving.
            try boot.confirm()
            try boot.enter(.caches)
        } catch {
            folder?.stop()
            housekeeper.stop()
            boot.failed(error)
            throw error
        }
        let start = StorageStart(configuration, directory, housekeeper, boot, recovery, host)
        return (start, recovery, folder!)
    }

    private init(
        _ configuration: StorageConfiguration, _ directory: consuming DataDirectory, _ housekeeper: Housekeeper,
        _ boot: Boot, _ recovery: Recovery, _ host: StorageHost
    ) {
        self.configuration = configuration
        self.directory = directory
        self.housekeeper = housekeeper
        self.boot = boot
        damage = DamageBook(configuration, housekeeper: housekeeper, boot: boot, wake: host.wake)
        (epoch, startedAt) = (recovery.epoch, configuration.clock.wall)
        (replayedChanges, hasRaisedRevision) = (recovery.replayedChanges, recovery.hasRaisedRevision)
    }

    /// Damage is noted from now on, and the caches are about to be read.
    func begin() {
        damage.begin()
        boot.reads(CacheStore.allCases)
    }

    /// Lets another daemon have the directory. Nothing of it is used any more.
    func letGo() { directory.unlock() }
}
