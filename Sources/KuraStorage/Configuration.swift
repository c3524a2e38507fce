import Glibc
public import KuraBytes

/// Limits of a start that follows an unclean stop or a failed start.
public struct BootConfiguration: Sendable {
    /// Milliseconds that a start may take to check the tables after an unclean stop.
    public var lookMilliseconds = 100
    /// Failed starts in a phase of the caches after which these are dropped.
    public var attempts = 1
    /// What the process ends by is noted in the data directory: its handlers of signals are the daemon's own.
    public var notesTraps = false
}

/// How large the log's files are, and what of them is kept for the change feed.
public struct LogConfiguration: Sendable {
    /// Bytes of a segment, given to it in advance.
    public var segmentBytes: Int
    /// Bytes of folded segments that are kept.
    public var retentionBytes: Int
    /// Seconds that they are kept; whichever bound comes first counts.
    public var retentionSeconds = 7 * 86_400
    /// Bytes of changes that are kept in memory besides.
    public var recentBytes: Int

    init(_ profile: StorageConfiguration.Profile) {
        segmentBytes = profile.size(1, 16, 64) << 20
        retentionBytes = profile.size(4, 64, 512) << 20
        recentBytes = profile.size(1, 8, 32) << 20
    }
}

/// When changes go from memory into the tables, and these to the disk.
public struct FoldConfiguration: Sendable {
    /// Most bytes that changes may take in memory before they are folded; writers wait beyond it.
    public var overlayBytes: Int
    /// Bytes of changes that start a fold before their time has come.
    public var bytes: Int
    /// Most milliseconds that a change waits to be folded when nothing else is going on.
    public var milliseconds = 1000
    /// The same while a fold would write more than four times what the log has gained.
    public var longestMilliseconds = 300_000
    /// Bytes of kura.sqlite's WAL at which it is checkpointed.
    public var checkpointBytes: Int

    init(_ profile: StorageConfiguration.Profile) {
        overlayBytes = profile.size(4, 64, 256) << 20
        bytes = overlayBytes / 2
        checkpointBytes = profile.size(4, 64, 256) << 20
    }
}

/// What the caches may take.
public struct CacheConfiguration: Sendable {
    /// Bytes of the model cache on the disk, and those of it that are in memory, its index included.
    public var modelBytes: Int
    public var modelMemoryBytes: Int
    /// Bytes of the contents of blobs on the disk, and those of small ones that are in memory.
    public var blobBytes: Int
    public var blobMemoryBytes: Int
    /// Bytes that the file system has to have left for caches to store anything; nil: 400 MiB, or a twentieth of a small disk.
    public var minFreeBytes: Int?

    init(_ profile: StorageConfiguration.Profile) {
        modelBytes = profile.size(16, 256, 2048) << 20
        modelMemoryBytes = profile.size(4, 64, 512) << 20
        blobBytes = profile.size(256, 4096, 32_768) << 20
        blobMemoryBytes = profile.size(4, 32, 256) << 20
    }
}

/// How much memory and disk the storage may take for its own ends.
public struct StorageConfiguration: Sendable {
    public enum Profile: String, Sendable, CaseIterable {
        case small, `default`, large

        fileprivate func size(_ small: Int, _ usual: Int, _ large: Int) -> Int {
            switch self {
            case .small: small
            case .default: usual
            case .large: large
            }
        }
    }

    public var dataDirectory: String
    public var profile: Profile
    /// What tells the time.
    public var clock = Clock.system
    public var log: LogConfiguration
    public var fold: FoldConfiguration
    public var caches: CacheConfiguration
    /// Bytes of documents kept in memory after they are folded or read.
    public var cacheBytes: Int
    /// Bytes of changes in one commit; what exceeds them goes into the next.
    public var turnBytes: Int
    /// Where the keys of the secrets come from.
    public var keys = KeySourcesConfiguration()
    /// Bytes of the secrets' audit; the oldest of it goes when there is more.
    public var auditBytes = 16 << 20
    /// Milliseconds that a reader holds a snapshot of the tables, about; while it does, their WAL cannot start over.
    public var snapshotMilliseconds = 200
    public var boot = BootConfiguration()
    /// Bytes of a database file from which on it is worth being written anew, or compacted when an application starts.
    public var compactionBytes: Int
    /// A file that stores which are absent begin with; nil: empty.
    public var seedBundle: String?
    /// What a recovery starts from when the tables do not hold.
    var snapshots = SnapshotSource.backups

    public init(dataDirectory: String, profile: Profile = .default) {
        self.dataDirectory = dataDirectory
        self.profile = profile
        log = LogConfiguration(profile)
        fold = FoldConfiguration(profile)
        caches = CacheConfiguration(profile)
        cacheBytes = profile.size(4, 64, 512) << 20
        turnBytes = profile.size(256, 4096, 16_384) << 10
        compactionBytes = profile.size(4, 16, 16) << 20
    }

    /// The data directory as a process finds it that works elsewhere.
    public var wholeDataDirectory: String {
        // Safety: `getcwd` makes a C string of its own, which is copied and freed.
        guard !dataDirectory.hasPrefix("/"), let current = unsafe getcwd(nil, 0) else { return dataDirectory }
        defer { unsafe free(current) }
        return unsafe String(cString: current) + "/" + dataDirectory
    }

    package var logDirectory: String { dataDirectory + "/log" }
    package var durableDirectory: String { dataDirectory + "/durable" }
    package var attachmentsDirectory: String { durableDirectory + "/attachments" }
    /// What may be lost. Not in backups.
    package var cacheDirectory: String { dataDirectory + "/cache" }
    package var blobsDirectory: String { cacheDirectory + "/blobs" }
    /// Tells that the cache's files were closed.
    var cacheCleanPath: String { cacheDirectory + "/clean" }
    package var temporaryDirectory: String { dataDirectory + "/tmp" }
    /// What leads to the root key of the secrets. root.key and host.key are never in a backup.
    package var keysDirectory: String { dataDirectory + "/keys" }
    /// What a recovery set aside; nothing in it is ever removed by itself.
    package var quarantineDirectory: String { dataDirectory + "/quarantine" }
    /// Snapshots, each a file.
    public var backupsDirectory: String { dataDirectory + "/backups" }
    package var tablesPath: String { durableDirectory + "/kura.sqlite" }
    /// Bytes held back on the disk, so that folding and deletions go on when it is full: a segment goes when all of it is folded, and a slice
    /// takes its bytes in the WAL besides.
    var reserveBytes: Int { max(4 << 20, log.segmentBytes + log.segmentBytes / 4) }
    /// The history of the write bill.
    var billPath: String { dataDirectory + "/writes" }
    var reservePath: String { dataDirectory + "/ballast" }
    var auditReservePath: String { dataDirectory + "/audit" }
    /// Tells that the last stop was clean.
    var cleanStopPath: String { dataDirectory + "/clean" }
    /// How far a start has come.
    package var bootPath: String { dataDirectory + "/boot.json" }
    /// How the last run ended, when it ended in a trap.
    var trapPath: String { dataDirectory + "/trap" }
    /// What has been recovered, until somebody acknowledges it.
    var recoveredPath: String { dataDirectory + "/recovered.json" }
    /// Which bundle the tables began with.
    var seedRecordPath: String { dataDirectory + "/seed.json" }
    /// A retired segment's file, to be used again.
    var sparePath: String { logDirectory + "/spare" }
    /// Up to which revision the log was on the disk.
    package var acknowledgedPath: String { dataDirectory + "/acknowledged" }
}
