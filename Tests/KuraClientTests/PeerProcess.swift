import Glibc
import Testing

/// A further process of the program `kura-peer`, which is built beside the tests.
final class PeerProcess: @unchecked Sendable {
    // Each is used by one test, one step after the other.
    private var pid: pid_t = 0
    private var input: Int32 = -1
    private let file: String

    private static let program: String = {
        var path = DaemonProcess.program
        path.removeLast("kurad".count)
        return path + "kura-peer"
    }()

    /// What it says goes to a file, where it is whatever becomes of the process.
    init(_ arguments: [String]) throws {
        var template = Array("/tmp/kura-peer-XXXXXX".utf8CString)
        let output = mkstemp(&template)
        try #require(output >= 0)
        file = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { close(output) }
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let result = socketpair(AF_UNIX, type, 0, &ends)
        try #require(result == 0)
        input = ends[1]
        defer { close(ends[0]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        // Signals as a shell would leave them, whatever this thread has blocked.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var argv = ([Self.program] + arguments).map { strdup($0) } + [nil]
        let variables: [String] = ["PATH=/usr/bin:/bin", "TMPDIR=/tmp"]
        var envp = variables.map { strdup($0) } + [nil]
        defer { for text in argv + envp { free(text) } }
        let spawned = posix_spawn(&pid, Self.program, &actions, &attributes, &argv, &envp)
        try #require(spawned == 0, "\(Self.program): \(spawned)")
    }

    deinit {
        kill()
        if input >= 0 { close(input) }
        unlink(file)
    }

    /// Writes a line to its standard input.
    func tell(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        #expect(write(input, bytes, bytes.count) == bytes.count)
    }

    /// Whole lines that it has written.
    var lines: [String] {
        guard let stream = fopen(file, "re") else { return [] }
        defer { fclose(stream) }
        var text: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = fread(&chunk, 1, chunk.count, stream)
            if count == 0 { break }
            text += chunk[..<count]
        }
        let whole = text.lastIndex(of: 0x0A).map { text[..<$0] } ?? []
        return String(decoding: whole, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Ends it at once.
    func kill() {
        guard pid > 0 else { return }
        Glibc.kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
        pid = 0
    }

    /// Waits until it ends.
    /// - Returns: its exit status, or the signal that has ended it, below zero; nil when it does not end.
    func ended(within seconds: Int) async throws -> Int32? {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while true {
            // Before it is called late: other tests may have held up this task for as long.
            let isLate = ContinuousClock.now >= deadline
            var status: Int32 = 0
            if waitpid(pid, &status, WNOHANG) == pid {
                pid = 0
                return status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F)
            }
            if isLate { return nil }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}
