import KuraProtocol
import Synchronization

/// A client of a Kura daemon. All tasks may use it at once: their calls share one connection.
///
///     let kura = try await Kura.connect(options: ConnectOptions(name: "notes"))
///     let theme = SettingKey("theme", default: "light")
///     try await kura.settings["notes"].put(theme, "dark")
///     print(try await kura.settings["notes"].get(theme))
///
/// Calls wait for nothing but their own reply. The client connects again by itself when the daemon has been away; reads are sent again then, and so are writes, each under a
/// request key of its own, so that it is done once. A write that can have no key and loses its connection throws `outcomeUnknown`. A task that is cancelled
/// waits no longer (`cancelled`), and the daemon is told. How long calls wait is said once for all of them (`ConnectOptions`), for a face or a part of the work
/// (`with(timeout:)`), or for one call.
public final class Kura: Sendable {
    let session: Session
    /// For calls that do not say otherwise.
    let scope: CallOptions
    var link: Link { session.link }

    /// What clients share that differ in their options alone.
    final class Session: Sendable {
        let link: Link
        /// Names this client in its request keys.
        let keyPrefix: String
        let keyNumbers = KeyNumbers()
        let spentKeys = SpentKeys()
        let edits = PendingEdits()

        /// What has to be there as long as the client.
        private let companion: (any Sendable)?
        let whenClosed: (@Sendable () async -> Void)?

        fileprivate init(_ link: Link, companion: (any Sendable)?, whenClosed: (@Sendable () async -> Void)?) {
            self.link = link
            self.companion = companion
            self.whenClosed = whenClosed
            var random = SystemRandomNumberGenerator()
            keyPrefix = String(random.next(), radix: 36) + String(random.next(), radix: 36)
        }

        deinit { link.close() }
    }

    init(_ session: Session, _ scope: CallOptions) {
        self.session = session
        self.scope = scope
    }

    /// Connects to the daemon that listens under `path`.
    /// - Parameters:
    ///   - path: a Unix socket's, at most 100 bytes; `$KURA_SOCKET`, or the daemon's usual place, when left out.
    ///   - options: who the client is, and how long it waits.
    /// - Returns: a client that is connected.
    /// - Throws: `serverGone`, `notAllowed`, `badPath`, `versionMismatch`; `overloaded` when the daemon takes no more connections.
    public static func connect(to path: String? = nil, options: ConnectOptions = .init()) async throws(KuraError)
        -> Kura
    {
        try await connect(to: path, options: options, keeping: nil)
    }

    /// The same with something that goes after the client does, and something to do when it has been closed.
    package static func connect(
        to path: String?, options: ConnectOptions, keeping companion: (any Sendable)?,
        whenClosed: (@Sendable () async -> Void)? = nil
    ) async throws(KuraError) -> Kura {
        let link = try Link(path: path ?? SocketPath.standard(SocketPath.environment), options: options)
        let kura = Kura(Session(link, companion: companion, whenClosed: whenClosed), CallOptions())
        try link.start()
        let failure = await withTaskCancellationHandler {
            await link.awaitFirst()
        } onCancel: {
            link.close()
        }
        // Cancelled, the link is closed, though it may have connected before.
        if Task.isCancelled, failure == nil || failure?.kind == .closed {
            throw KuraError(.cancelled, "the task was cancelled before the client was connected")
        }
        if let failure { throw failure }
        return kura
    }

    /// Who is at the other end, as of the newest connection.
    public var server: KuraServer? { link.lock.withLock { _ in link.server } }
    /// Where the daemon listens.
    public var path: String { link.path }

    /// Saves what was edited in live collections, and ends the connection. Calls that are under way throw `closed`, streams of changes end.
    /// - Parameter patience: for how long it waits for a daemon that does not save the edits; none when the task is cancelled.
    /// - Returns: whether all edits are saved; each collection's `lastProblem` tells what is not.
    @discardableResult
    public func close(patience: Duration = .seconds(5)) async -> Bool {
        let isSaved = await withTaskCancellationHandler {
            // A connection that is closed ends whatever a save waits for.
            let end = Task {
                try? await Task.sleep(for: patience)
                if !Task.isCancelled { link.close() }
            }
            defer { end.cancel() }
            return await session.edits.save()
        } onCancel: {
            link.close()
        }
        await link.closed()
        await session.whenClosed?()
        return isSaved
    }

    /// Every change of what is asked for, from `afterRev` on.
    /// - Parameters:
    ///   - filter: which ones.
    ///   - afterRev: what follows this revision is told; without it what follows from now on.
    ///   - epoch: the history that the revision is of; another one is told as `resync`.
    /// - Returns: a stream that has begun when it is returned.
    public func changes(_ filter: ChangeFilter = .init(), afterRev: Int64? = nil, epoch: String? = nil) -> ChangeStream
    {
        var members: [[UInt8]] = []
        func add(_ name: String, _ value: (inout [UInt8]) -> Void) {
            var member: [UInt8] = []
            member.append(quoted: name)
            member.append(UInt8(ascii: ":"))
            value(&member)
            members.append(member)
        }
        if !filter.stores.isEmpty {
            add("stores") { $0 += JSONElements.array(filter.stores.map { Array("\"\($0.rawValue)\"".utf8) }) }
        }
        if let scope = filter.scope { add("scope") { $0.append(quoted: scope) } }
        if let prefix = filter.prefix { add("prefix") { $0.append(quoted: prefix) } }
        if filter.members { add("members") { $0.append(contentsOf: "true".utf8) } }
        if filter.values { add("values") { $0.append(contentsOf: "true".utf8) } }
        let text = Array(members.joined(separator: [UInt8(ascii: ",")]))
        return ChangeStream(
            feed: ChangeStream.Feed(self, Subscription(.changes, members: text, rev: afterRev, epoch: epoch)))
    }
}
