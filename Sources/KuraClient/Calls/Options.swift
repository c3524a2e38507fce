/// How a client connects, and what holds for all of its calls unless they say otherwise.
public struct ConnectOptions: Sendable {
    /// The application's name, for the daemon's log, the write bill and the changes' `client`; 1 to 128 bytes.
    public var name: String?
    /// The application's version, 1 to 64 bytes; needs `name`.
    public var version: String?
    /// The application has just started: what has expired in its own scopes goes. Said once, however often the client connects anew.
    public var launch = false
    /// Which installation of the application this is: secrets of another one are not shown to it.
    public var installation: String?
    /// The users of whom one has to listen at the socket, by number; nil: as `$KURA_PEER_UID` says (numbers with commas between them). Where
    /// neither names them the usual place is checked: its directory is this user's or root's and nobody else writes there, and one of the two listens.
    /// Nothing is sent to anybody else (`notAllowed`).
    public var peerUIDs: [UInt32]?
    /// How long a call waits for its reply.
    public var timeout: Duration = .seconds(30)
    /// How long a call waits for a daemon that has gone away to come back.
    public var patience: Duration = .seconds(10)
    /// How long `connect` waits for a daemon to be there.
    public var wait: Duration = .zero
    /// Whether writes get a request key by themselves, so that they can be sent again safely. Without one, domains with relaxed durability
    /// stay relaxed.
    public var requestKeys = true
    /// Told when something that held for a connection alone does not hold for the next one, since the daemon refuses it. Called on the client's own thread,
    /// which is not to wait there, before calls are sent on the new connection.
    public var onLostState: (@Sendable (LostState) -> Void)?
    /// Calls that are under way at once; further ones wait for their turn. 1 to 65,536.
    public var maximumInFlight = 1024
    /// Bytes that are on their way out at once; further calls wait until the daemon has read.
    public var maximumOutputBytes = 1 << 20

    public init(
        name: String? = nil, version: String? = nil, launch: Bool = false, installation: String? = nil,
        peerUIDs: [UInt32]? = nil, timeout: Duration = .seconds(30), patience: Duration = .seconds(10),
        wait: Duration = .zero,
        requestKeys: Bool = true
    ) {
        self.name = name
        self.version = version
        self.launch = launch
        self.installation = installation
        self.peerUIDs = peerUIDs
        self.timeout = timeout
        self.patience = patience
        self.wait = wait
        self.requestKeys = requestKeys
    }
}

/// What holds for one call.
public struct CallOptions: Sendable {
    /// Under which key a write is sent.
    public enum RequestKey: Sendable {
        /// One of the client's own, where the method takes one and `ConnectOptions.requestKeys` is on.
        case automatic
        /// None: it is sent once, and lost with its connection.
        case none
        /// This one, 1 to 128 bytes: the same call under the same key is done once, whoever sends it, within a day; another call under it
        /// is refused (`requestKeyReused`). A `mutate` that is called again may be another call, since it writes what it makes of what it reads.
        case named(String)
    }

    /// How long to wait for the reply; then the call throws `noReply`, the daemon is told that nobody waits, and the connection goes on. nil for as long as `with(timeout:)` or
    /// the client's options say, and for what takes minutes by nature as long as it takes.
    public var timeout: Duration?
    public var requestKey: RequestKey = .automatic

    public init(timeout: Duration? = nil, requestKey: RequestKey = .automatic) {
        self.timeout = timeout
        self.requestKey = requestKey
    }
}
