import KuraBytes
import KuraProtocol
import KuraStorage

/// What all calls share: what handlers may say about the daemon itself, and the bounds that they keep.
final class ServerFacts {
    var description: DaemonDescription
    let clock: Clock
    let limits: ServerLimits
    let methods: ServedMethods
    let access: AccessControl
    /// Refusals that the audit has at once.
    var refusals = RefusalBudgets()
    var traffic = Traffic()
    /// What the buffers of all connections take.
    let buffers: BufferBudget
    var transfers: TransferAdmission
    /// Which scheduled snapshots are kept.
    var backupsKeep = BackupDirectory.Keep()
    /// What the host's administrator has fixed.
    var locks = SettingsLocks()
    /// Blobs that come in pieces.
    var uploads: BlobUploads
    let overrides: OverrideBudget
    /// What requests take.
    let latencies: Latencies
    /// What the daemon is doing now; set by the server.
    var present: () -> DaemonState = { DaemonState() }

    init(
        version: String, clock: Clock, limits: ServerLimits, profile: String, importRoots: ImportRoots,
        access: AccessControl, table: MethodTable, faultDesk: FaultDesk? = nil
    ) {
        self.clock = clock
        uploads = BlobUploads(clock)
        latencies = Latencies(table, startedAt: clock.monotonic)
        methods = ServedMethods(table, allHandlers, faultDesk: faultDesk)
        self.access = access
        description = DaemonDescription(version: version, profile: profile, table)
        self.limits = limits
        buffers = BufferBudget(limit: limits.bufferBytes)
        overrides = OverrideBudget(buffers)
        transfers = TransferAdmission(limit: limits.transfers, beneath: importRoots)
    }
}
