import KuraProtocol
public import KuraStorage

/// Bounds of a connection and of all of them; `session.hello` and `storage.status` state them.
public struct ServerLimits: Sendable, Equatable {
    /// Bytes of a request line.
    public var lineBytes = 16 << 20
    public var batchItems = 1000
    public var connections = 16_384
    /// Bytes of replies that a client has not read; beyond them its requests wait.
    public var outputBytes = 1 << 20
    /// Bytes of requests that are read ahead while one waits.
    public var inputBytes = 256 << 10
    /// Bytes of all buffers of all connections; at most a quarter of what the process may use.
    public var bufferBytes = 256 << 20
    /// Bytes that wait to be written for all recordings together. They are written as up to twice as much, in memory that grows by doubling, and are
    /// counted with the buffers: so recordings never take more than a quarter of those.
    var recordingBytes: Int { bufferBytes / 16 }
    /// Descriptors that clients have passed and no request has taken, of all connections.
    public var passedDescriptors = 4096
    /// Imports and exports that run at once; each has a thread.
    public var transfers = 16
    /// Bytes of a reply; a single item may be longer. At most a fifth of `bufferBytes`.
    public internal(set) var replyBytes = WireLimits.replyBytes
    /// Seconds after which a client that reads nothing of `outputBytes` and more is let go.
    public var stallSeconds = 60
    /// Requests of one connection in one turn when nobody else is there; the rest come in the next.
    public var requestsPerTurn = 512
    /// Subscriptions and waits for changes of one connection, and of all.
    public var subscriptions = 1000
    public var totalSubscriptions = 65_536
    public var liveQueries = LiveSnapshot.Limits(documents: 100_000, bytes: 16 << 20)
    /// Seconds after which a subscription that has nothing to tell tells how far it is; not more often.
    public var progressSeconds = 10

    public init() {}
}
