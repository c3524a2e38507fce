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
    private let process: DaemonProcess
    private let inside: InMemoryDaemon?
    var root: String { process.root }
    var pid: pid_t { process.pid }
    var socket: String { inside?.socket() ?? process.socket }

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
        process = try DaemonProcess(starts: false)
    }

    /// Starts it; a client's `connect` waits until it answers.
    func start() throws { try process.start() }

    /// SIGKILL, and waits until the process is gone.
    func kill() { process.kill() }

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
