import Glibc
import KuraClient
import Testing

/// A kurad of the build over a directory of its own, which goes with it.
final class DaemonProcess: @unchecked Sendable {
    // Each is used by one test, one step after the other.
    let root: String
    var socket: String { root + "/kura.sock" }
    private(set) var pid: pid_t = 0

    static let program: String = {
        var own = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &own, own.count)
        let path = String(decoding: own[..<max(count, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)]) + "/kurad"
    }()

    /// `configuration`: JSON, with `ROOT` for the directory.
    init(configuration: String? = nil) throws {
        var template = Array("/tmp/kura-client-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        root = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        if let configuration { try write("config.json", configuration) }
        try start()
    }

    deinit {
        kill()
        remove()
    }

    /// Writes a file beside the data, with the directory for `ROOT`.
    func write(_ name: String, _ content: String) throws {
        let text = content.split(separator: "ROOT", omittingEmptySubsequences: false).joined(separator: root)
        let file = try #require(fopen(root + "/" + name, "we"))
        fchmod(fileno(file), 0o644)
        fputs(text, file)
        fclose(file)
    }

    func start() throws {
        var arguments = [Self.program, "--data-dir", root + "/data", "--profile", "small", "--log-level", "error"]
        if access(root + "/config.json", F_OK) == 0 {
            arguments += ["--config", root + "/config.json"]
        } else {
            arguments += ["--socket", socket]
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, root + "/stderr", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        var argv = arguments.map { strdup($0) } + [nil]
        let variables: [String] = ["PATH=/usr/bin:/bin", "KURA_MIN_FREE_BYTES=0", "TMPDIR=/tmp"]
        var envp = variables.map { strdup($0) } + [nil]
        defer { for text in argv + envp { free(text) } }
        let result = posix_spawn(&pid, Self.program, &actions, nil, &argv, &envp)
        try #require(result == 0, "\(Self.program)")
    }

    func kill() {
        guard pid > 0 else { return }
        Glibc.kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
        pid = 0
    }

    func terminate() {
        guard pid > 0 else { return }
        Glibc.kill(pid, SIGTERM)
        waitpid(pid, nil, 0)
        pid = 0
    }

    /// Removes everything but the directory itself, the data before all.
    func forgetData() { run("rm -rf '\(root)/data'") }
    private func remove() { run("rm -rf '\(root)'") }

    private func run(_ command: String) {
        let words: [String] = ["/bin/sh", "-c", command]
        var argv = words.map { strdup($0) } + [nil]
        defer { for text in argv { free(text) } }
        var child: pid_t = 0
        guard posix_spawn(&child, "/bin/sh", nil, nil, &argv, environ) == 0 else { return }
        waitpid(child, nil, 0)
    }

    func connect(_ options: ConnectOptions = .init(timeout: .seconds(120), patience: .seconds(60))) async throws -> Kura
    {
        var options = options
        options.wait = .seconds(60)
        return try await Kura.connect(to: socket, options: options)
    }
}
