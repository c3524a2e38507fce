import Glibc
import KuraProtocol
import KuraStorage
import KuraTransport
import SQLite

/// A daemon from its configuration to its exit status.
///
/// Safety: Swift lends the path as a C string for the call; an entry of a directory is read before the next one is
/// asked for, and its name ends with a zero.
public enum Daemon {
    public static let version = "0.1.0"

    /// Opens everything, serves until the end, and closes.
    /// - Returns: 0 drained; 1 in use, or the disk failed; 2 refused, and nothing was touched.
    public static func run(_ configuration: Configuration) -> Int32 {
        let journal = Journal(threshold: configuration.logLevel)
        do {
            return try serve(configuration, journal)
        } catch let fault as StorageFault {
            journal.log(.error, "cannot start", [("reason", fault.description)])
            switch fault {
            case .refused: return 2
            default: return 1
            }
        } catch let error as Configuration.Refusal {
            journal.log(.error, "cannot start", [("reason", error.description)])
            return 2
        } catch {
            journal.log(.error, "cannot start", [("reason", "\(error)")])
            return 1
        }
    }

    private static func serve(_ configuration: Configuration, _ journal: Journal) throws -> Int32 {
        if let faults = SocketPath.environment("KURA_FAULTS"), !faults.isEmpty {
            do { try FaultPoints.arm(faults) } catch {
                throw Configuration.Refusal(description: "KURA_FAULTS: \(error)")
            }
            journal.log(.warning, "faults are armed by KURA_FAULTS", [("faults", faults)])
        }
        umask(0o077)
        // Before the first thread starts: threads inherit the blocked signals.
        let signals = try Signals.descriptor()
        let descriptors = ProcessLimits.raiseDescriptors()
        // Else one crowd's large buffers would make the heap keep all later ones.
        Heap.givesBack(blocksOf: 1 << 20)
        let limits = configuration.limits.fitted(descriptors: descriptors, memory: HostMemory.limit())

        var locks = SettingsLocks()
        if let path = configuration.settingsLocks { locks = try SettingsLocks(file: path) }

        let paths = try Paths(configuration)
        defer { paths.cleanUp() }
        var storageConfiguration = StorageConfiguration(dataDirectory: paths.data, profile: configuration.profile)
        if let bytes = configuration.retainBytes { storageConfiguration.retentionBytes = bytes }
        if let seconds = configuration.retainSeconds { storageConfiguration.retentionSeconds = seconds }
        let loop = try EventLoop()
        loop.adoptThread()
        let storage = try Storage(storageConfiguration, executor: loop, wake: { loop.wake() }) { line in
            journal.log(.warning, "storage", [("message", line)])
        }
        if storage.replayedChanges > 0 {
            journal.log(
                .warning, "recovered after an unclean stop", [("changes", String(storage.replayedChanges))])
        }
        if storage.hasRaisedRevision {
            journal.log(.warning, "relaxed changes may have been lost: the revision counter was raised by 1,000,000")
        }
        let listener: Listener
        do {
            try refuseLiveSocket(paths.socket)
            listener = try Listener.bind(path: paths.socket)
        } catch {
            // The threads end before what they use does.
            _ = storage.assumeIsolated { $0.close() }
            throw error
        }
        let server = try Server(
            loop: loop, storage: storage, listener: listener, journal: journal, limits: limits, version: version,
            signals: signals, importRoots: configuration.importRoots, locks: locks,
            locksPath: configuration.settingsLocks)
        journal.log(
            .info, "listening",
            [
                ("socket", paths.socket), ("data", paths.data), ("version", version),
                ("profile", configuration.profile.rawValue), ("pid", String(getpid())),
            ])
        switch server.run() {
        case .drained:
            journal.log(.info, "stopped")
            return 0
        case .failed(let fault):
            journal.log(.error, "stopped: the outcome of unsynced changes is unknown", [("reason", fault.description)])
            return 1
        }
    }

    /// Our data directory's lock says nothing about somebody else's daemon that serves other data under this path.
    private static func refuseLiveSocket(_ path: String) throws {
        guard unsafe access(path, F_OK) == 0, let probe = try? Socket.connect(to: path) else { return }
        _ = probe
        throw StorageFault.inUse(pid: nil, path: path)
    }

    /// Where this run's data and socket are.
    private struct Paths {
        var data: String
        var socket: String
        private var temporary: String?

        init(_ configuration: Configuration) throws {
            if configuration.isEphemeral {
                let parent = SocketPath.environment("TMPDIR") ?? "/tmp"
                var template = Array((parent + "/kura-XXXXXX").utf8CString)
                guard let made = unsafe mkdtemp(&template) else { throw SystemError("mkdtemp", path: parent) }
                let directory = unsafe String(cString: made)
                temporary = directory
                data = directory + "/data"
                socket = configuration.socket ?? directory + "/kura.sock"
            } else {
                data = configuration.dataDirectory ?? Configuration.defaultDataDirectory(SocketPath.environment)
                socket = configuration.socket ?? SocketPath.standard(SocketPath.environment)
            }
            guard socket.utf8.count <= 90 else {
                throw Configuration.Refusal(description: "socket path of more than 90 bytes: \(socket)")
            }
        }

        func cleanUp() {
            if let temporary { Self.remove(temporary) }
        }

        private static func remove(_ path: String) {
            guard let directory = unsafe opendir(path) else { return }
            while let entry = unsafe readdir(directory) {
                let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                    unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
                }
                guard name != ".", name != ".." else { continue }
                if unsafe unlink(path + "/" + name) != 0 { remove(path + "/" + name) }
            }
            unsafe closedir(directory)
            unsafe rmdir(path)
        }
    }
}
