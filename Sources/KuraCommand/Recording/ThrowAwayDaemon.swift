import CSyscalls
import Glibc
import KuraBytes
import KuraProtocol

// Safety: the template ends with a zero and is changed in its place; words, variables, actions and attributes of the child are this function's own
// until it has been started; Swift lends paths as C strings for a call.

/// A daemon with nothing in it, which goes with this object and with this process, however that ends.
///
/// A shell stands between: it reads from a pipe that only this process can write to, and ends the daemon when the pipe does. Of another pipe the daemon
/// alone has the end that is written to: when the daemon ends, so does that.
final class ThrowAwayDaemon {
    /// By the roles that they give; `admin` is one of them.
    let sockets: [String: String]
    private let directory: String
    private let lifeline: Int32
    private let life: Int32
    private let shell: pid_t

    private static let script = """
        exec 3<&0
        exec 4>&1 >&2
        "$0" --ephemeral --config "$1" --log-level error </dev/null 3<&- &
        daemon=$!
        exec 4>&-
        read -r _ <&3
        kill "$daemon"
        wait "$daemon"
        """

    /// - Parameter configuration: the recorded daemon's, or one like it; nil: none.
    /// - Throws: when there is no kurad, or it cannot be started.
    init(_ configuration: ReplayConfiguration?) throws(Failure) {
        guard let program = SiblingProgram.find("kurad") else { throw SiblingProgram.missing("kurad") }
        var template = Array("/tmp/kura-replay-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw .file("cannot make a directory in /tmp") }
        let directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        self.directory = directory
        let places = (configuration ?? ReplayConfiguration()).roles.enumerated().map { place, role in
            (role, "\(directory)/\(place).sock")
        }
        sockets = Dictionary(uniqueKeysWithValues: places)
        let file = directory + "/config.json"
        try Self.write((configuration ?? ReplayConfiguration()).text(sockets: places), to: file)
        var (ends, life): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard unsafe csys_pipe(&ends) == 0, unsafe csys_pipe(&life) == 0 else { throw .file("cannot make a pipe") }
        (lifeline, self.life) = (ends[1], life[0])
        shell = Self.start(program, file, directory, lifeline: ends[0], life: life[1])
        close(ends[0])
        close(life[1])
        guard shell > 0 else { throw .file("cannot run \(program)") }
    }

    deinit {
        close(lifeline)
        close(life)
        if shell > 0 { while waitpid(shell, nil, 0) < 0, errno == EINTR {} }
        for socket in sockets.values { unsafe unlink(socket) }
        unsafe unlink(directory + "/config.json")
        unsafe rmdir(directory)
    }

    /// The daemon exited on its own. Its standard error has the reason.
    var hasEnded: Bool {
        var request = pollfd(fd: life, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&request, 1, 0) > 0
    }

    private static func write(_ text: [UInt8], to path: String) throws(Failure) {
        let descriptor = unsafe csys_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        defer { if descriptor >= 0 { close(descriptor) } }
        let count = text.withBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
        guard count == text.count else { throw .file("cannot write \(path)") }
    }

    private static func start(
        _ program: String, _ configuration: String, _ directory: String, lifeline: Int32, life: Int32
    ) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, lifeline, STDIN_FILENO)
        unsafe posix_spawn_file_actions_adddup2(&actions, life, STDOUT_FILENO)
        // A signal from the terminal is for this process: it has the daemon end.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        let words = ["/bin/sh", "-c", script, program, configuration]
        let variables = ["PATH=/usr/bin:/bin", "TMPDIR=\(directory)", "KURA_MIN_FREE_BYTES=0"]
        var arguments: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) }
        var environment: [UnsafeMutablePointer<CChar>?] = unsafe variables.map { unsafe strdup($0) }
        unsafe arguments.append(nil)
        unsafe environment.append(nil)
        defer {
            for index in unsafe arguments.indices { unsafe free(arguments[index]) }
            for index in unsafe environment.indices { unsafe free(environment[index]) }
        }
        var child: pid_t = 0
        errno = unsafe posix_spawn(&child, "/bin/sh", &actions, &attributes, &arguments, &environment)
        return errno == 0 ? child : -1
    }
}
