public import KuraClient
import KuraServer

extension Kura {
    /// A client of a daemon of its own inside of this process, whose data goes with it: for previews and unit tests.
    ///
    ///     let kura = try await Kura.inMemory()
    ///     let model = NotesModel(kura)
    ///
    /// It is the daemon's own storage and server on a thread beside the test, so that it behaves as the one in production does, errors included; no program has to be
    /// installed, and as many as one likes live side by side. Secrets are unlocked and can be used at once. The process's signals, limits and working
    /// directory stay as they are. Everything ends with `close()`, or with the client.
    ///
    /// What a daemon tells of its process, as memory and processor time, is here the test's: look at it with `ephemeralDaemon`.
    /// - Parameters:
    ///   - role: what the client may be: `admin`, or a role of the configuration.
    ///   - configuration: JSON text as in the daemon's configuration file (roles, limits, caches, …), but for where it is and its sockets.
    ///   - options: who the client is, and how long it waits.
    /// - Returns: a client that is connected; `path` names the socket, for further ones.
    /// - Throws: `serverGone` when the daemon does not start, which tells what is wrong with the configuration; what `Kura.connect` throws.
    public static func inMemory(
        role: String = "admin", configuration: String? = nil, options: ConnectOptions = .init()
    ) async throws(KuraError) -> Kura {
        let daemon = try await InMemoryDaemon(configuration: configuration)
        return try await daemon.connect(role: role, options: options) { await daemon.stop() }
    }
}

/// A daemon inside of this process for several clients, which may have different roles.
///
///     let daemon = try await InMemoryDaemon(configuration: """
///         {"roles":{"reader":{"grants":[{"store":"settings","scope":"*","allow":["read","list"]}]}}}
///         """)
///     let owner = try await daemon.connect()
///     let reader = try await daemon.connect(role: "reader")
///
/// Its data goes when it is stopped, or nobody has it or a client of it any more.
public final class InMemoryDaemon: Sendable {
    private let place: TemporaryPlace
    private let daemon: HostedDaemon

    /// Starts one.
    /// - Parameter configuration: JSON text as in the daemon's configuration file, but for where it is and its sockets.
    /// - Throws: `serverGone` when it does not start, which tells why.
    public init(configuration: String? = nil) async throws(KuraError) {
        let place = try TemporaryPlace()
        self.place = place
        do throws(Configuration.Refusal) {
            daemon = try await HostedDaemon.start(in: place.path, configuration: configuration.map { Array($0.utf8) })
        } catch {
            throw KuraError(
                starting: "no daemon could be started in this process: \(error.description)",
                advice:
                    "The configuration is a JSON object as kurad --config reads it, without dataDir, socket, sockets and backups.every."
            )
        }
    }

    deinit {
        // Before the directory goes.
        daemon.stop()
    }

    /// Where clients of a role connect; nil when there is no such role.
    public func socket(role: String = "admin") -> String? { daemon.sockets[role] }

    /// Connects a further client, which keeps the daemon as long as it is there.
    /// - Parameters:
    ///   - role: what it may be: `admin`, or a role of the configuration.
    ///   - options: who it is, and how long it waits.
    /// - Returns: a client that is connected.
    /// - Throws: `serverGone` when the daemon has been stopped or has no such role.
    public func connect(role: String = "admin", options: ConnectOptions = .init()) async throws(KuraError) -> Kura {
        try await connect(role: role, options: options, whenClosed: nil)
    }

    fileprivate func connect(
        role: String, options: ConnectOptions, whenClosed: (@Sendable () async -> Void)?
    ) async throws(KuraError) -> Kura {
        guard let socket = socket(role: role) else {
            throw KuraError(
                starting: "the daemon has no role \"\(role)\"",
                advice:
                    "It has \(daemon.sockets.keys.sorted().joined(separator: ", ")): name others in its configuration.")
        }
        return try await Kura.connect(to: socket, options: options, keeping: self, whenClosed: whenClosed)
    }

    /// Ends it: what was asked for is answered, connections are closed, and nothing of it is left but what clients have.
    public func stop() async { await daemon.stopped() }
}
