import KuraProtocol

/// What the daemon says of itself, and never changes while it serves.
struct DaemonDescription {
    let version: String
    let profile: String
    /// The data directory lies in memory.
    var isInMemory = false
    /// Bytes of memory that were to be had when the daemon started; nil when nobody knows.
    let freeMemoryAtStart: Int?
    /// The result of `rpc.discover`, on one line. It is made for the first request: milliseconds that most daemons never spend.
    private(set) lazy var openRPC = OpenRPC.compactDocument(table, version: version)
    private let table: MethodTable

    init(version: String, profile: String, _ table: MethodTable) {
        self.version = version
        self.profile = profile
        self.table = table
        let free = HostMemory.free()
        freeMemoryAtStart = free == .max ? nil : free
    }
}
