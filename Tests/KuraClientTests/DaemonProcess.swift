import Glibc
import KuraClient
import Testing

// What the test targets share is known in all files of this one.
@_exported public import KuraTestSupport

/// A kurad of the build over a directory of its own, which goes with it.
final class DaemonProcess: @unchecked Sendable {
    // Each is used by one test, one step after the other.
    let root: String
    var socket: String { root + "/kura.sock" }
    private(set) var pid: pid_t = 0

    /// `configuration`: JSON, with `ROOT` for the directory.
    init(configuration: String? = nil, starts: Bool = true) throws {
        root = try TemporaryDirectory.make("kura-client")
        if let configuration { try write("config.json", configuration) }
        if starts { try start() }
    }

    deinit {
        kill()
        FileTree.remove(root)
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
        var arguments = [
            BuiltPrograms.kurad, "--data-dir", root + "/data", "--profile", "small", "--log-level", "error",
        ]
        if access(root + "/config.json", F_OK) == 0 {
            arguments += ["--config", root + "/config.json"]
        } else {
            arguments += ["--socket", socket]
        }
        pid = try spawn(
            arguments,
            environment: ["PATH=/usr/bin:/bin", "KURA_MIN_FREE_BYTES=0", "KURA_QUERY_MS=600000", "TMPDIR=/tmp"]
                + Sanitizers.environment,
            output: .file(root + "/stderr"))
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

    func forgetData() { FileTree.remove(root + "/data") }

    func connect(_ options: ConnectOptions = .init(timeout: .seconds(120), patience: .seconds(60))) async throws -> Kura
    {
        var options = options
        options.wait = .seconds(60)
        return try await Kura.connect(to: socket, options: options)
    }
}
