import Glibc
import Testing

/// A further process of the program `kura-peer`, which is built beside the tests.
final class PeerProcess: @unchecked Sendable {
    // Each is used by one test, one step after the other.
    private var pid: pid_t = 0
    /// What it reads comes from the right end.
    private let input = Pair()
    /// What it says goes to a file, where it is whatever becomes of the process.
    private let file: TemporaryFile

    init(_ arguments: [String]) throws {
        file = try TemporaryFile(prefix: "kura-peer")
        pid = try spawn(
            [BuiltPrograms.peer] + arguments,
            environment: ["PATH=/usr/bin:/bin", "TMPDIR=/tmp"] + Sanitizers.environment, input: input.left,
            output: .descriptor(file.descriptor))
    }

    deinit {
        kill()
    }

    /// Writes a line to its standard input.
    func tell(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        #expect(write(input.right, bytes, bytes.count) == bytes.count)
    }

    /// Whole lines that it has written.
    var lines: [String] {
        let text = FileTree.contents(file.path) ?? []
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
