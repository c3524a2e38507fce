import CSyscalls
import Glibc
import KuraBytes
import KuraProtocol

// Safety: the template ends with a zero and is changed in its place; words, variables, actions and attributes of the child are this function's own
// until it has been started; Swift lends paths as C strings for a call.

/// A daemon with nothing in it, which goes with this object and with this process, however that ends.
///
/// A shell stands between: it reads from a pipe that only this process can write to, and ends the daemon when the pipe does.
final class ThrowAwayDaemon {
    let socket: String
    private let directory: String
    private let lifeline: Int32
    private let shell: pid_t

    private static let script = """
        exec 3<&0
        "$0" --ephemeral --socket "$1" --log-level error </dev/null 3<&- &
        daemon=$!
        read -r _ <&3
        kill "$daemon"
        wait "$daemon"
        """

    /// - Throws: when there is no kurad, or it cannot be started.
    init() throws(Failure) {
        guard let program = SiblingProgram.find("kurad") else { throw SiblingProgram.missing("kurad") }
        var template = Array("/tmp/kura-replay-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw .file("cannot make a directory in /tmp") }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        socket = directory + "/kura.sock"
        var ends: [Int32] = [-1, -1]
        guard unsafe csys_pipe(&ends) == 0 else { throw .file("cannot make a pipe") }
        lifeline = ends[1]
        shell = Self.start(program, socket, directory, lifeline: ends[0])
        close(ends[0])
        guard shell > 0 else { throw .file("cannot run \(program)") }
    }

    deinit {
        close(lifeline)
        if shell > 0 { while waitpid(shell, nil, 0) < 0, errno == EINTR {} }
        unsafe unlink(socket)
        unsafe rmdir(directory)
    }

    private static func start(_ program: String, _ socket: String, _ directory: String, lifeline: Int32) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, lifeline, STDIN_FILENO)
        // A signal from the terminal is for this process: it has the daemon end.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        let words = ["/bin/sh", "-c", script, program, socket]
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
