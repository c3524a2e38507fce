import Glibc
import KuraClient
import KuraTesting
import Testing

/// Who answers. What holds with one holds with the other: suites run with both.
enum Server: CaseIterable {
    /// The one that applications' tests have, in this process.
    case inMemory
    /// A process of its own, over a data directory.
    case daemon
}

/// A daemon for one test, over a directory that goes with it: that of the binary that was built beside the tests, or one in this process.
final class FaceDaemon {
    let root: String
    private(set) var pid: pid_t = 0
    private let inside: InMemoryDaemon?
    var socket: String { inside?.socket() ?? root + "/kura.sock" }

    private static let binary: String = {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let path = String(decoding: buffer[..<max(count, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)]) + "/kurad"
    }()

    convenience init(_ server: Server) async throws {
        switch server {
        case .inMemory: try self.init(inside: try await InMemoryDaemon())
        case .daemon: try self.init()
        }
    }

    /// In a process of its own, which can be killed.
    convenience init(starts: Bool = true) throws {
        try self.init(inside: nil)
        if starts { try start() }
    }

    private init(inside: InMemoryDaemon?) throws {
        self.inside = inside
        var template = Array("/tmp/kura-faces-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        root = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        kill()
        _ = system("rm -rf '\(root)'")
    }

    /// Starts it; a client's `connect` waits until it answers.
    func start() throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, root + "/stderr", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 2, 1)
        let arguments = [Self.binary, "--data-dir", root + "/data", "--socket", socket, "--profile", "small"]
        var argv: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        let environment = ["PATH=/usr/bin:/bin", "KURA_MIN_FREE_BYTES=0"]
        var envp: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        let result = posix_spawn(&pid, Self.binary, &actions, nil, &argv, &envp)
        try #require(result == 0, "posix_spawn \(Self.binary): \(result)")
    }

    /// SIGKILL, and waits until the process is gone.
    func kill() {
        guard pid > 0 else { return }
        Glibc.kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
        pid = 0
    }

    /// A client of its own, as another process would have.
    func client() async throws -> Kura {
        try await Kura.connect(
            to: socket, options: ConnectOptions(timeout: .seconds(60), patience: .seconds(60), wait: .seconds(60)))
    }
}

/// Waits until something holds, for as long as a busy machine may need.
func eventually(
    _ what: Comment, seconds: Int = 60, location: SourceLocation = #_sourceLocation, _ holds: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while try await !holds() {
        guard ContinuousClock.now < deadline else {
            Issue.record(what, sourceLocation: location)
            return
        }
        try await Task.sleep(for: .milliseconds(5))
    }
}
