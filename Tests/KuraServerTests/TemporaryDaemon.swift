import Glibc
import Testing

// What the test targets share is known in all files of this one.
@_exported public import KuraTestSupport

/// A daemon of the binary that was built beside the tests, over a directory of its own that goes with it.
final class TemporaryDaemon {
    let root: String
    var data: String { root + "/data" }
    var socket: String { root + "/kura.sock" }
    private var logPath: String { root + "/stderr" }
    private let movesTime: Bool
    private var clockPath: String { root + "/clock" }
    private(set) var pid: pid_t = 0

    /// Where kurad lies: beside the test bundle.
    static let binary = BuiltPrograms.kurad

    // Makes the directory, and starts a daemon in it unless told not to: `configuration` is JSON for `--config`, `faults`
    // what `KURA_FAULTS` arms. `movesTime`: its time goes on as the test says (`advance`), too.
    init(
        profile: String = "small", configuration: String? = nil, faults: String? = nil, movesTime: Bool = false,
        starts: Bool = true
    ) throws {
        root = try TemporaryDirectory.make("kura-tests")
        self.movesTime = movesTime
        if movesTime {
            let file = open(clockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            ftruncate(file, 24)
            close(file)
        }
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
            arguments, faults: faults, standardError: logPath,
            more: environment + (movesTime ? ["KURA_CLOCK=\(clockPath)"] : []), through: through, passing: passing)
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
        // The tests look into /proc, and do not hang on how full the disk is that they run on; of two of a name the first one holds.
        var environment =
            ["PATH=/usr/bin:/bin", "TSAN_OPTIONS=halt_on_error=0", "TMPDIR=\(temporary)"] + more
            + ["KURA_DUMPABLE=1", "KURA_MIN_FREE_BYTES=0", "KURA_QUERY_MS=600000", "KURA_LOOK_MS=60000"]
        if let options = getenv("ASAN_OPTIONS") { environment.append("ASAN_OPTIONS=\(String(cString: options))") }
        if let faults { environment.append("KURA_FAULTS=\(faults)") }
        // `through`: a program that becomes the one that follows it.
        return try KuraTestSupport.spawn(
            through + [binary] + arguments, environment: environment, output: .file(standardError), passing: passed)
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

    /// The same once it has read its caches.
    func killServing() {
        waitUntilCachesAreRead()
        kill()
    }

    /// A start or run that ends before that counts against the caches alone.
    func waitUntilCachesAreRead() {
        let deadline = now() + 60
        while now() < deadline {
            let boot = String(decoding: Self.contents(data + "/boot.json") ?? [], as: UTF8.self)
            let signs = ["\"phase\":\"serving\"", "\"openingCache\":\"\"", "\"readingCaches\":[]"]
            if signs.allSatisfy({ boot.contains($0) }) { return }
            usleep(1000)
        }
        Issue.record("the caches are not read: \(log)")
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
        for look in 0... {
            if now() >= deadline { break }
            // Each looks at all of its threads.
            if look % 32 == 0 { noteDelays() }
            if let status = pollStatus() { return status }
            usleep(1000)
        }
        return pollStatus()
    }

    /// What it says when clients that do not read had it wait for all the time that a drain has.
    static let overtime = "the time for draining is over"

    /// Whether it has said so, and not because it got no processor.
    var hasDrainedOvertime: Bool { log.contains(Self.overtime) && delays.values.reduce(0, +) < 1 }

    /// Seconds that its threads and this one have waited for a processor so far, as the kernel counts them: where it were many, times say nothing.
    var starvation: Double {
        noteDelays()
        return delays.values.reduce(0, +) + (Self.delay("/proc/thread-self/schedstat") ?? 0)
    }

    private static func delay(_ path: String) -> Double? {
        let words = String(decoding: contents(path) ?? [], as: UTF8.self).split(separator: " ")
        return words.count > 1 ? Double(words[1]).map { $0 / 1e9 } : nil
    }

    /// Seconds that each of its threads has waited for a processor, as of the last look.
    private var delays: [String: Double] = [:]

    private func noteDelays() {
        for task in Self.names("/proc/\(pid)/task") ?? [] {
            if let delay = Self.delay("/proc/\(pid)/task/\(task)/schedstat") { delays[task] = delay }
        }
    }

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

    /// Descriptors that the daemon has, but for its tables and its log: its threads open those when they first need them.
    var descriptorCount: Int { openFiles.count { !$0.contains(".sqlite") && !$0.contains("/log/") } }

    /// Descriptors of a daemon at rest: some of its threads open their files after it answers.
    var settledDescriptorCount: Int {
        waitUntilIdle()
        return descriptorCount
    }

    /// Waits until none of its threads has had anything to do for so long: one that does not get to it does not sleep.
    func waitUntilIdle(seconds: Double = 0.1) {
        var since = now()
        let deadline = since + 60
        while true {
            usleep(10_000)
            // Before the look, behind which this thread may be held up.
            let time = now()
            if !areThreads(in: "S") { since = now() } else if time >= since + seconds { return }
            if time >= deadline { return }
        }
    }

    /// Whether each of its threads is in this state: `S` sleeps, `T` is stopped.
    func areThreads(in state: Substring) -> Bool {
        (Self.names("/proc/\(pid)/task") ?? []).allSatisfy { task in
            let text = Self.contents("/proc/\(pid)/task/\(task)/stat") ?? []
            let words = String(decoding: text, as: UTF8.self).split(separator: ")").last?.split(separator: " ")
            return words?.first == state
        }
    }

    // MARK: Time

    /// So many seconds pass for a daemon that was made with `movesTime`, on all of its clocks. It looks within five milliseconds, and
    /// before it answers what is sent behind this.
    func advance(seconds: Double, wallOnly: Bool = false) throws {
        let file = open(clockPath, O_RDWR | O_CLOEXEC)
        defer { close(file) }
        // -1: MAP_FAILED.
        let map = try #require(mmap(nil, 24, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0))
        try #require(map != UnsafeMutableRawPointer(bitPattern: -1), "mmap: \(errno)")
        defer { munmap(map, 24) }
        // Monotonic, boottime and wall: nanoseconds, nanoseconds, milliseconds. Each is written as one.
        let words = map.bindMemory(to: UInt64.self, capacity: 3)
        for (index, unit) in [1e9, 1e9, 1e3].enumerated() where index == 2 || !wallOnly {
            words[index] &+= UInt64(bitPattern: Int64(seconds * unit))
        }
    }

    // MARK: Pausing

    /// For `KURA_FAULTS`: whoever comes to the point the `hit`th time waits there.
    func pause(at point: String, hit: Int = 1) -> String { "\(point):pause=\(pauseFile(point)):\(hit)" }

    private func pauseFile(_ point: String) -> String { root + "/at." + point }

    func isPaused(at point: String) -> Bool { access(pauseFile(point), F_OK) == 0 }

    func waitUntilPaused(at point: String) throws { try waitFor("somebody is at \(point)") { isPaused(at: point) } }

    /// Lets whoever waits at the point go on, or is to come to it yet.
    func goOn(at point: String) throws {
        try waitUntilPaused(at: point)
        unlink(pauseFile(point))
    }

    // MARK: Files

    static func names(_ path: String) -> [String]? { FileTree.names(path) }
    static func remove(_ path: String) { FileTree.remove(path) }
    static func write(_ text: String, to path: String) { FileTree.write(text, to: path) }
    static func contents(_ path: String) -> [UInt8]? { FileTree.contents(path) }
}

/// Seconds on a clock that never goes back.
func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
