import Glibc
import Testing

/// A daemon of the binary that was built beside the tests, over a directory of its own that goes with it.
final class TemporaryDaemon {
    let root: String
    var data: String { root + "/data" }
    var socket: String { root + "/kura.sock" }
    private var logPath: String { root + "/stderr" }
    private(set) var pid: pid_t = 0

    /// Where kurad lies: beside the test bundle.
    static let binary: String = {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let path = String(decoding: buffer[..<max(count, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)]) + "/kurad"
    }()

    // Makes the directory, and starts a daemon in it unless told not to: `configuration` is JSON for `--config`, `faults`
    // what `KURA_FAULTS` arms.
    init(
        profile: String = "small", configuration: String? = nil, faults: String? = nil, starts: Bool = true
    ) throws {
        var template = Array("/tmp/kura-tests-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        root = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        if starts { try start(profile: profile, configuration: configuration, faults: faults) }
    }

    deinit {
        kill()
        if log.contains("ThreadSanitizer") || log.contains("AddressSanitizer") { Issue.record("\(log)") }
        Self.remove(root)
    }

    /// Everything that the daemons in this directory have written to standard error.
    var log: String { Self.contents(logPath).map { String(decoding: $0, as: UTF8.self) } ?? "" }

    // MARK: Running

    /// Starts a daemon and waits until it answers. It gets `passing` as descriptor 3, and inherits no other.
    func start(
        profile: String = "small", configuration: String? = nil, faults: String? = nil, environment: [String] = [],
        more: [String] = [], through: [String] = [], passing: Int32? = nil
    ) throws {
        try launch(
            profile: profile, configuration: configuration, faults: faults, environment: environment, more: more,
            through: through, passing: passing)
        let deadline = now() + 60
        while now() < deadline {
            if let client = try? Client(path: socket), (try? client.result("storage.ping")) != nil { return }
            if let status = pollStatus() {
                Issue.record("the daemon ended with \(status): \(log)")
                throw Ended(status: status)
            }
            usleep(2000)
        }
        Issue.record("the daemon does not answer: \(log)")
    }

    struct Ended: Error {
        var status: Int32
    }

    /// Starts a daemon without waiting for it.
    func launch(
        profile: String = "small", configuration: String? = nil, faults: String? = nil, environment: [String] = [],
        more: [String] = [], through: [String] = [], passing: Int32? = nil
    ) throws {
        var arguments = ["--data-dir", data, "--profile", profile] + more
        // A configuration with sockets of its own has one at the usual place too.
        if configuration?.contains("\"sockets\"") != true { arguments += ["--socket", socket] }
        if let configuration {
            Self.write(configuration, to: root + "/config.json")
            arguments += ["--config", root + "/config.json"]
        }
        pid = try Self.spawn(
            arguments, faults: faults, standardError: logPath, more: environment, through: through,
            passing: passing)
    }

    /// Runs kurad with these arguments to its end; one that serves instead is killed after a minute.
    func run(_ arguments: [String]) throws -> Int32 {
        var status: Int32 = 0
        let child = try Self.spawn(arguments, faults: nil, standardError: logPath)
        let deadline = now() + 60
        while waitpid(child, &status, WNOHANG) == 0 {
            if now() > deadline { Glibc.kill(child, SIGKILL) }
            usleep(1000)
        }
        return Self.exitStatus(status)
    }

    /// Starts an ephemeral daemon whose temporary directory lies in `root`, and waits until it answers.
    func launchEphemeral(more: [String] = []) throws {
        pid = try Self.spawn(
            ["--ephemeral", "--socket", socket] + more, faults: nil, standardError: logPath, temporary: root)
        let deadline = now() + 60
        while now() < deadline {
            if let client = try? Client(path: socket), (try? client.result("storage.ping")) != nil { return }
            usleep(2000)
        }
        Issue.record("the daemon does not answer: \(log)")
    }

    private static func spawn(
        _ arguments: [String], faults: String?, standardError: String, temporary: String = "/tmp",
        more: [String] = [], through: [String] = [], passing passed: Int32? = nil
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, standardError, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 2, 1)
        if let passed { posix_spawn_file_actions_adddup2(&actions, passed, 3) }
        // What other tests have open just now is none of its business: it would hold pipes open that are to end.
        _ = closeFrom(&actions, passed == nil ? 3 : 4)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        // `through`: a program that becomes the one that follows it.
        var argv = (through + [binary] + arguments).map { strdup($0) } + [nil]
        // The tests look into /proc, and do not hang on how full the disk is that they run on; of two of a name the first one holds.
        var environment =
            ["PATH=/usr/bin:/bin", "TSAN_OPTIONS=halt_on_error=0", "TMPDIR=\(temporary)"] + more
            + ["KURA_DUMPABLE=1", "KURA_MIN_FREE_BYTES=0"]
        if let options = getenv("ASAN_OPTIONS") { environment.append("ASAN_OPTIONS=\(String(cString: options))") }
        if let faults { environment.append("KURA_FAULTS=\(faults)") }
        var envp = environment.map { strdup($0) } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        var pid: pid_t = 0
        let result = posix_spawn(&pid, through.first ?? binary, &actions, &attributes, &argv, &envp)
        try #require(result == 0, "posix_spawn \(binary): \(result)")
        return pid
    }

    /// Bytes of memory that the daemon has.
    func residentBytes() throws -> Int {
        let text = String(decoding: try #require(Self.contents("/proc/\(pid)/statm")), as: UTF8.self)
        return try #require(Int(text.split(separator: " ")[1])) * 4096
    }

    // MARK: Ending

    /// SIGKILL, and waits until the process is gone.
    func kill() {
        guard pid > 0 else { return }
        Glibc.kill(pid, SIGKILL)
        _ = wait()
    }

    /// SIGTERM.
    /// - Returns: the exit status.
    func terminate() -> Int32? {
        Glibc.kill(pid, SIGTERM)
        return wait()
    }

    /// Waits until the daemon has ended.
    /// - Returns: its exit status, 128 and more for signals; nil when it goes on.
    func wait(seconds: Double = 60) -> Int32? {
        let deadline = now() + seconds
        while now() < deadline {
            if let status = pollStatus() { return status }
            usleep(1000)
        }
        return pollStatus()
    }

    /// What it says when clients that do not read had it wait for all the time that a drain has.
    static let overtime = "the time for draining is over"

    var isRunning: Bool { pid > 0 && pollStatus() == nil }

    private func pollStatus() -> Int32? {
        guard pid > 0 else { return nil }
        var status: Int32 = 0
        guard waitpid(pid, &status, WNOHANG) == pid else { return nil }
        pid = 0
        return Self.exitStatus(status)
    }

    private static func exitStatus(_ status: Int32) -> Int32 {
        status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
    }

    // MARK: Using

    func connect() throws -> Client { try Client(path: socket) }

    /// Waits until a condition on `storage.status` holds.
    func waitUntil(seconds: Double = 60, _ holds: (JSON) -> Bool) throws {
        let client = try connect()
        let deadline = now() + seconds
        while true {
            let status = try client.call("storage.status")
            // Full buffers may refuse this reply too, for a while.
            if let result = status["result"], holds(result) { return }
            guard now() < deadline else {
                Issue.record("waited in vain: \(status)")
                return
            }
            usleep(10_000)
        }
    }

    /// Everything written so far is in the tables.
    func waitUntilFolded() throws {
        try waitUntil { $0["foldedRev"] == $0["rev"] && $0["overlay"]?["items"]?.int == 0 }
    }

    var descriptorCount: Int { (Self.names("/proc/\(pid)/fd") ?? []).count }

    /// Descriptors of a daemon at rest: some of its threads open their files after it answers.
    var settledDescriptorCount: Int {
        var (count, since) = (descriptorCount, now())
        let deadline = now() + 10
        while now() < since + 0.1, now() < deadline {
            usleep(10_000)
            let next = descriptorCount
            if next != count { (count, since) = (next, now()) }
        }
        return count
    }

    // MARK: Files

    static func names(_ path: String) -> [String]? {
        guard let directory = opendir(path) else { return nil }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(cString: $0.bindMemory(to: CChar.self).baseAddress!)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    static func remove(_ path: String) {
        var information = stat()
        guard lstat(path, &information) == 0 else { return }
        if information.st_mode & S_IFMT == S_IFDIR {
            for name in names(path) ?? [] { remove(path + "/" + name) }
            rmdir(path)
        } else {
            unlink(path)
        }
    }

    static func write(_ text: String, to path: String) {
        guard let file = fopen(path, "we") else { return }
        // Whatever the umask is: kurad believes no configuration that a group may write.
        fchmod(fileno(file), 0o644)
        fputs(text, file)
        fclose(file)
    }

    static func contents(_ path: String) -> [UInt8]? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = fread(&chunk, 1, chunk.count, file)
            if count <= 0 { return bytes }
            bytes.append(contentsOf: chunk[..<count])
        }
    }
}

/// Swift's Glibc leaves what is the GNU library's own out.
@_silgen_name("posix_spawn_file_actions_addclosefrom_np")
private func closeFrom(_ actions: UnsafeMutablePointer<posix_spawn_file_actions_t>, _ first: Int32) -> Int32

/// Seconds on a clock that never goes back.
func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
