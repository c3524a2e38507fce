import Glibc
import KuraBytes
import KuraProtocol
import KuraStorage
import KuraTransport
import SQLite
import Synchronization

/// A daemon on a thread of its own, in a process that belongs to somebody else: for applications' tests and previews.
///
/// It is the storage and the server that `Daemon` runs, and nothing of what `Daemon` does to its process: signals, umask, limits, the heap, dumps and the
/// environment stay the host's, and the process is never ended. Several live side by side. Each
/// counts what itself writes (`CountingScope`). What they share is memory for items and keys, which is used again and kept, and two descriptors and up to four
/// threads that close what strangers have passed.
public final class HostedDaemon: Sendable {
    /// Where it listens, by role.
    public let sockets: [String: String]
    private let life: Life
    private let thread: Mutex<WorkerThread?>

    /// Opens a daemon and serves.
    /// - Parameters:
    ///   - directory: for data and sockets: empty, the user's alone (0700), named from the root on and without links, at most 80 bytes. Whoever gives it
    ///     removes it.
    ///   - text: the configuration: what it is to be told, a JSON object as in a configuration file, but for where it is and what belongs to a process; nil: nothing.
    /// - Returns: a daemon that listens, with a socket for each role of the configuration, and one for `admin`.
    /// - Throws: why there is none; then nothing runs, and the directory may be removed.
    public static func start(
        in directory: String, configuration text: [UInt8]? = nil
    ) async throws(Configuration.Refusal) -> HostedDaemon {
        let configuration = try Configuration(hostedIn: directory, text)
        let life = Life()
        let thread: WorkerThread
        do throws(StorageFault) {
            thread = try WorkerThread(name: "kura-hosted", isBackground: false) {
                Signals.leaveToOthers()
                CountingScope.run(CountingScope()) {
                    life.ends { () throws(Configuration.Refusal) in try serve(configuration, directory, life) }
                }
            }
        } catch { throw Configuration.Refusal(description: error.description) }
        if let refusal = await life.begun() {
            thread.join()
            throw refusal
        }
        return HostedDaemon(configuration.access, life, thread)
    }

    private init(_ access: AccessRules, _ life: Life, _ thread: WorkerThread) {
        sockets = Dictionary(uniqueKeysWithValues: access.sockets.map { ($0.role ?? "", $0.path) })
        self.life = life
        self.thread = Mutex(thread)
    }

    deinit { stop() }

    /// Drains, and returns when everything is over: threads, descriptors, connections. What is stored stays in the directory.
    public func stop() {
        life.stop()
        join()
    }

    /// The same without a thread that waits.
    public func stopped() async {
        life.stop()
        await life.ended()
        join()
    }

    private func join() {
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }

    // MARK: The thread

    private static func serve(
        _ configuration: Configuration, _ directory: String, _ life: Life
    ) throws(Configuration.Refusal) {
        var startsAnew = true
        while startsAnew {
            do {
                startsAnew = try serve(configuration, at: directory + "/data", life)
            } catch let refusal as Configuration.Refusal {
                throw refusal
            } catch { throw Configuration.Refusal(description: "\(error)") }
            // Whoever had files open is gone.
            CountingVFS.letGo(beneath: directory)
        }
    }

    /// - Returns: whether it is to be started anew: a test has had it fail.
    private static func serve(_ configuration: Configuration, at data: String, _ life: Life) throws -> Bool {
        let journal = Journal(threshold: configuration.logLevel, clock: configuration.clock)
        var found = Reload.Found(configuration: configuration, access: configuration.access)
        if let path = configuration.settingsLocks { found.locks = try SettingsLocks(file: path) }
        let loop = try EventLoop(busyPollMicroseconds: configuration.busyPolling, clock: configuration.clock)
        loop.adoptThread()
        let storage = try Storage(
            configuration.storage(at: data, configuration.keySources), executor: loop, wake: { loop.wake() }
        ) { line in journal.log(.warning, "storage", [("message", line)]) }
        let desk = FaultDesk()
        let server: Server
        do {
            try storage.start.boot.listens()
            let sockets = try configuration.access.sockets.bound {
                DaemonSocket(try Listener.bind(path: $0.path, mode: $0.mode), $0)
            }
            server = try Server(
                loop: loop, storage: storage, sockets: sockets, access: AccessControl(found.access), journal: journal,
                limits: configuration.limits.fitted(descriptors: ProcessLimits.descriptors, memory: HostMemory.limit()),
                version: Daemon.version, importRoots: configuration.importRoots,
                reload: Reload(found) { [found] in found },
                supervision: Supervision(.nobody, stopRequest: life.request), faultDesk: desk)
        } catch {
            _ = storage.assumeIsolated { $0.close() }
            throw error
        }
        server.facts.backupsKeep = configuration.backupsKeep
        life.serves { loop.wake() }
        var isToStartAnew = false
        switch server.run() {
        case .drained: break
        case .failed(let fault):
            journal.log(.error, fault.lastLine, [("reason", fault.description)])
            isToStartAnew = desk.awaitsFailedSync
            _ = storage.assumeIsolated { $0.close() }
        case .cut:
            isToStartAnew = true
            _ = storage.assumeIsolated { $0.close() }
        }
        // Safety: the desk is this thread's, which is the actor's executor.
        nonisolated(unsafe) let left = desk
        storage.assumeIsolated { storage in
            unsafe left.withdraw(left.faults.clear(nil, at: 0), storage)
            // A child that the process has forked has the lock as well, for as long as it lives.
            storage.letGo()
        }
        return isToStartAnew && !life.request.isMade
    }
}

/// A hosted daemon's beginning and end, told from its thread to whoever waits for them.
private final class Life: Sendable {
    private struct State {
        /// nil before it is known; then why it does not serve, or nil when it does.
        var outcome: Configuration.Refusal??
        var beginning: CheckedContinuation<Configuration.Refusal?, Never>?
        var wake: (@Sendable () -> Void)?
        var hasEnded = false
        var endings: [CheckedContinuation<Void, Never>] = []
    }
    private let state = Mutex(State())
    let request = StopRequest()

    // MARK: The thread's

    /// Clients can connect. `wake`: makes the loop look whether it is to stop.
    func serves(_ wake: @escaping @Sendable () -> Void) {
        state.withLock { $0.wake = wake }
        tell(nil)
    }

    /// Runs all that the daemon does.
    func ends(_ body: () throws(Configuration.Refusal) -> Void) {
        do throws(Configuration.Refusal) { try body() } catch { tell(error) }
        let endings = state.withLock { state in
            state.hasEnded = true
            state.wake = nil
            defer { state.endings = [] }
            return state.endings
        }
        for continuation in endings { continuation.resume() }
    }

    private func tell(_ refusal: Configuration.Refusal?) {
        let waiting = state.withLock { state in
            if state.outcome == nil { state.outcome = .some(refusal) }
            defer { state.beginning = nil }
            return state.beginning
        }
        waiting?.resume(returning: refusal)
    }

    // MARK: The others'

    /// Returns when clients can connect, or never will.
    func begun() async -> Configuration.Refusal? {
        await withCheckedContinuation { continuation in
            let known = state.withLock { state in
                if state.outcome == nil { state.beginning = continuation }
                return state.outcome
            }
            if let known { continuation.resume(returning: known) }
        }
    }

    func stop() {
        request.make()
        state.withLock { $0.wake }?()
    }

    func ended() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.endings.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }
}

extension Configuration {
    /// What a hosted daemon is told: little memory and disk, a socket for each role, and no log but of errors, unless the text says otherwise.
    fileprivate init(hostedIn directory: String, _ text: [UInt8]?) throws(Refusal) {
        // The process may go elsewhere meanwhile, and what is opened later would be there.
        guard directory.hasPrefix("/") else {
            throw Refusal(
                description: "the directory of a daemon inside of a process is an absolute path, not '\(directory)'")
        }
        self.init()
        profile = .small
        logLevel = .error
        minFreeBytes = 0
        // Nothing lasts for longer than a test does.
        checkEvery = 0
        if let text {
            do throws(Refusal) { try text.withBytes { (text) throws(Refusal) in try read(text) } } catch {
                throw Refusal(description: "configuration: \(error.description)")
            }
        }
        let own = dataDirectory != nil ? "dataDir" : socket != nil ? "socket" : access.sockets.isEmpty ? nil : "sockets"
        if let own { throw Refusal(description: "configuration: \(own) is not for a daemon inside of a process") }
        guard backupsEvery == nil else {
            throw Refusal(description: "configuration: no backups are scheduled inside of a process")
        }
        lifetime = .ephemeral
        let names = [AccessRules.admin] + access.roles.keys.sorted()
        access.sockets = names.enumerated().map { (index, name) in
            AccessRules.Socket(
                path: index == 0 ? "\(directory)/kura.sock" : "\(directory)/role-\(index).sock", role: name)
        }
        try access.check()
    }
}
