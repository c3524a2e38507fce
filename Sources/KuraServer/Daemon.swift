import Glibc
import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage
import KuraTransport
import SQLite

/// A daemon from its configuration to its exit status.
///
/// Safety: Swift lends the path as a C string for the call.
public enum Daemon {
    /// What the program was called with, without its name.
    public static var arguments: [String] { ProgramArguments.words }

    public static let version = Release.version

    /// Opens everything, serves until the end, and closes.
    /// - Parameters:
    ///   - configuration: as it is now.
    ///   - reread: makes it anew, for SIGHUP; called on another thread.
    /// - Returns: 0 drained; 1 in use, or the disk failed; 2 refused, and nothing was touched.
    public static func run(
        _ configuration: Configuration, reread: @escaping @Sendable () throws(Configuration.Refusal) -> Configuration
    ) -> Int32 {
        let journal = Journal(threshold: configuration.logLevel, clock: configuration.clock)
        do {
            return try serve(configuration, reread, journal)
        } catch let fault as StorageFault {
            journal.log(.error, "cannot start", [("reason", fault.description + fault.help)])
            switch fault {
            case .refused: return 2
            default: return 1
            }
        } catch let error as Configuration.Refusal {
            journal.log(.error, "cannot start", [("reason", error.description)])
            return error.exitStatus
        } catch {
            journal.log(.error, "cannot start", [("reason", "\(error)")])
            return 1
        }
    }

    private static func serve(
        _ configuration: Configuration, _ reread: @escaping @Sendable () throws(Configuration.Refusal) -> Configuration,
        _ journal: Journal
    ) throws -> Int32 {
        if let faults = SocketPath.environment("KURA_FAULTS"), !faults.isEmpty {
            do { try FaultPoints.arm(faults) } catch {
                throw Configuration.Refusal(description: "KURA_FAULTS: \(error)")
            }
            journal.log(.warning, "faults are armed by KURA_FAULTS", [("faults", faults)])
            DescriptorCloser.setTrial { _ = FaultPoints.hit(.foreignClose) }
        }
        var configuration = configuration
        if let path = SocketPath.environment("KURA_CLOCK"), !path.isEmpty {
            guard let time = ManualTime(offsets: path) else {
                throw Configuration.Refusal(description: "KURA_CLOCK: \(path) is no file of three words")
            }
            configuration.clock = Clock(time)
            journal.log(.warning, "the time is moved by KURA_CLOCK", [("file", path)])
        }
        let isTraceable = SocketPath.environment("KURA_DUMPABLE") == "1"
        if isTraceable { journal.log(.warning, "this user's processes can read the daemon's memory: KURA_DUMPABLE") }
        let reportsCrashes = SocketPath.environment("SWIFT_BACKTRACE") != nil
        if !ProcessLimits.protectMemory(isTraceable: isTraceable, reportsCrashes: reportsCrashes) {
            journal.log(.warning, "the kernel does not keep others from reading the daemon's memory")
        }
        // Before anything is opened that could get its number.
        let keys = try keySources(configuration)
        let inherited: [InheritedSocket]
        do throws(InheritedSocket.Refusal) { inherited = try InheritedSocket.take() } catch {
            throw Configuration.Refusal(description: error.description)
        }
        umask(0o077)
        // Before the first thread starts: threads inherit the blocked signals.
        let supervision = Supervision(ServiceManager(), signals: try Signals.descriptor())
        let descriptors = ProcessLimits.raiseDescriptors()
        // Else one crowd's large buffers would make the heap keep all later ones.
        Heap.givesBack(blocksOf: 1 << 20)
        let limits = configuration.limits.fitted(descriptors: descriptors, memory: HostMemory.limit())
        ProcessLimits.makeRoom(forDescriptors: min(descriptors, limits.mostDescriptors))

        let paths = try Paths(configuration)
        defer { paths.cleanUp(journal) }
        if let bytes = configuration.diskLimit { FreeSpace.limit(bytes, beneath: paths.directory) }
        // Passed sockets are enough, unless another one is asked for.
        let own = inherited.isEmpty || configuration.socket != nil ? paths.socket : nil
        let reload = Reload(try found(configuration, inherited, own)) { () throws(Configuration.Refusal) in
            try found(reread(), inherited, own)
        }
        var storageConfiguration = configuration.storage(at: paths.data, keys)
        storageConfiguration.boot.notesTraps = true
        let staysDown: StaticString? =
            configuration.keyDescriptor != nil
            ? "a daemon that reads its key from --key-fd cannot start anew by itself"
            : inherited.isEmpty ? nil : "a daemon whose sockets were passed to it cannot start anew by itself"
        let loop = try EventLoop(busyPollMicroseconds: configuration.busyPolling, clock: configuration.clock)
        loop.adoptThread()
        let storage = try Storage(
            storageConfiguration, executor: loop, wake: { loop.wake() },
            remark: { line in journal.log(.info, "storage", [("message", line)]) }
        ) { line in
            journal.log(.warning, "storage", [("message", line)])
        }
        if storage.start.replayedChanges > 0 {
            journal.log(
                .warning, "recovered after an unclean stop", [("changes", String(storage.start.replayedChanges))])
        }
        if storage.start.hasRaisedRevision {
            journal.log(
                .warning,
                "changes may have been lost: the revision counter was raised by 1,000,000, so that none of theirs is given out again"
            )
        }
        let sockets: [DaemonSocket]
        let server: Server
        do {
            try storage.start.boot.listens()
            sockets = try reload.first.access.sockets.bound { try listen($0, inherited) }.flatMap { $0 }
            server = try Server(
                loop: loop, storage: storage, sockets: sockets, access: AccessControl(reload.first.access),
                journal: journal, limits: limits, version: version,
                importRoots: configuration.importRoots, reload: reload, supervision: supervision,
                faultDesk: configuration.isEphemeral ? FaultDesk(staysDown: staysDown) : nil)
        } catch {
            // The threads end before what they use does. None of this is the data's fault, and counts.
            _ = storage.assumeIsolated { $0.close() }
            throw error
        }
        server.facts.description.isInMemory = configuration.lifetime == .inMemory
        server.facts.backupsKeep = configuration.backupsKeep
        if let every = configuration.backupsEvery {
            server.jobs.backups = ScheduledBackups(
                every: every, configuration.backupsKeep, configuration.backupsRecipients, storageConfiguration,
                wake: { loop.wake() })
        }
        if configuration.checkEvery > 0, !configuration.isEphemeral {
            server.jobs.checks = IdleChecks(
                every: configuration.checkEvery, storage.start.boot, clock: configuration.clock, wake: { loop.wake() })
        }
        for socket in sockets {
            journal.log(
                .info, "listening",
                [
                    ("socket", socket.rule.path), ("data", paths.data), ("version", version),
                    ("profile", configuration.profile.rawValue), ("pid", String(getpid())),
                ])
            guard !socket.rule.isPrivate, let place = SocketDirectory(of: socket.rule.path), place.isClosed else {
                continue
            }
            journal.log(
                .warning, "others may use a socket and cannot come to it: its directory is closed to them",
                [("socket", socket.rule.path), ("directory", place.path)])
        }
        // The end of the process frees it at once; to take it apart would free it item by item.
        serving.withLock { $0 = storage }
        switch server.run() {
        case .drained:
            storage.assumeIsolated { $0.letGo() }
            journal.log(.info, "stopped")
            return 0
        case .failed(let fault):
            journal.log(.error, fault.lastLine, [("reason", fault.description)])
            return server.facts.methods.faultDesk?.awaitsFailedSync == true ? paths.startAnew(journal) : 1
        case .cut: return paths.startAnew(journal)
        }
    }

    private static let serving = Guarded<Storage?>(nil)

    /// Where the keys of the secrets come from.
    private static func keySources(_ configuration: Configuration) throws -> KeySourcesConfiguration {
        var keys = configuration.keySources
        if let descriptor = configuration.keyDescriptor { try keys.readKey(from: descriptor) }
        if let directory = SocketPath.environment("CREDENTIALS_DIRECTORY"), !directory.isEmpty,
            unsafe access(directory + "/kura.key", F_OK) == 0
        {
            keys.credentialFile = directory + "/kura.key"
        }
        return keys
    }

    /// What a configuration says that can be put in force at once.
    private static func found(
        _ configuration: Configuration, _ inherited: [InheritedSocket], _ own: String?
    ) throws(Configuration.Refusal) -> Reload.Found {
        var found = Reload.Found(
            configuration: configuration, access: try configuration.access.joined(with: inherited, own: own))
        if let path = configuration.settingsLocks { found.locks = try SettingsLocks(file: path) }
        return found
    }

    /// What one rule is about: those that were passed under its name, which may be several, or else one of our own.
    private static func listen(_ rule: AccessRules.Socket, _ inherited: [InheritedSocket]) throws -> [DaemonSocket] {
        let passed = inherited.filter { $0.name == rule.name }
        guard passed.isEmpty else {
            return passed.map { passed in
                var rule = rule
                if !passed.path.isEmpty { rule.path = passed.path }
                return DaemonSocket(Listener(adopting: passed), rule)
            }
        }
        // As the clients look at it, who would not come here.
        if rule.path == SocketPath.usual(SocketPath.environment),
            let objection = SocketDirectory(of: rule.path)?.objection(from: geteuid())
        {
            throw Configuration.Refusal(
                description: "socket \(rule.path): \(objection): remove it, or name another place with --socket")
        }
        try refuseLiveSocket(rule.path)
        do {
            let listener = try Listener.bind(path: rule.path, mode: rule.mode, owner: rule.owner, group: rule.group)
            return [DaemonSocket(listener, rule)]
        } catch let refusal as Listener.Refusal {
            throw Configuration.Refusal(description: "socket \(rule.path): \(refusal)")
        } catch let error as SystemError where "\(error.call)" == "chown" {
            throw Configuration.Refusal(
                description: "sockets: owner and group of \(rule.path) cannot be given by this user: \(error)")
        }
    }

    /// Our data directory's lock says nothing about somebody else's daemon that serves other data under this path.
    private static func refuseLiveSocket(_ path: String) throws {
        guard unsafe access(path, F_OK) == 0 else { return }
        // A daemon that is stopped, or has more to do than it can, takes nobody: its queue is full, and who would wait for room waits for ever.
        do throws(SystemError) { _ = try Socket.connect(to: path, waits: false) } catch {
            // A full queue is somebody's, and so is a socket of another kind, which may be the service manager's own.
            guard error.code == EAGAIN || error.code == EPROTOTYPE else { return }
        }
        throw StorageFault.inUse(pid: nil, path: path)
    }

    /// Where this run's data and socket are.
    private struct Paths {
        var data: String
        var socket: String
        private var temporary: TemporaryTree?
        /// Where the data is, and what there is besides.
        var directory: String { temporary?.path ?? data }

        init(_ configuration: Configuration) throws {
            if configuration.isEphemeral {
                let made = try Self.temporary(configuration)
                temporary = made
                data = made.path + "/data"
                socket = configuration.socket ?? made.path + "/kura.sock"
            } else {
                data = configuration.dataDirectory ?? Configuration.defaultDataDirectory(SocketPath.environment)
                socket = configuration.socket ?? SocketPath.standard(SocketPath.environment)
            }
            guard socket.utf8.count <= Listener.pathLimit else {
                throw Configuration.Refusal(
                    description: "socket path of more than \(Listener.pathLimit) bytes: \(socket)")
            }
        }

        /// The directory of the program that this process was before; else one of its own.
        private static func temporary(_ configuration: Configuration) throws -> TemporaryTree {
            if let handedOn = SocketPath.environment(Self.handedOn) {
                unsafe unsetenv(Self.handedOn)
                return try TemporaryTree(handedOn: handedOn)
            }
            if configuration.lifetime == .inMemory { return try MemoryPlace.make() }
            return try TemporaryTree(in: SocketPath.environment("TMPDIR") ?? "/tmp", prefix: "kura-")
        }

        /// Names the directory for the program that this process becomes.
        private static let handedOn = "KURA_HANDED_ON"

        /// Has the process become the same program once more, with everything that it was told and on the same directory, as after a power cut: what was
        /// only in memory is gone, and so are connections, threads and locks. Whoever waits for the process waits on.
        /// - Returns: the exit status, when it cannot.
        func startAnew(_ journal: Journal) -> Int32 {
            guard let temporary else { return 1 }
            unsafe setenv(Self.handedOn, temporary.handOn(), 1)
            // Safety: the arguments are the process's own, and end with a null.
            unsafe execv("/proc/self/exe", ProgramArguments.vector)
            journal.log(.error, "cannot start anew", [("reason", SystemError("execv").description)])
            return 1
        }

        func cleanUp(_ journal: Journal) {
            guard let temporary, let reason = temporary.remove() else { return }
            journal.log(
                .warning, "the temporary directory stays, with what could not be removed",
                [("directory", temporary.path), ("reason", reason)])
        }
    }
}
