import Glibc
public import KuraClient

extension Kura {
    /// A client of a daemon of its own in a process of its own, whose data is in a temporary directory and goes with the client: where `inMemory` is not enough, as to
    /// look at the daemon's own process, or to kill it.
    ///
    /// It is the program `kurad --ephemeral`, which is looked for in `$KURAD`, beside this process's own, and in `$PATH`. It ends with the client, and with this
    /// process however that ends.
    /// - Parameters:
    ///   - memory: its data lie in memory, where a sync costs nothing.
    ///   - options: who the client is, and how long it waits.
    /// - Returns: a client that is connected; `path` names the socket, for further ones.
    /// - Throws: `serverGone` when there is no kurad, or it does not start; what `Kura.connect` throws.
    public static func ephemeralDaemon(
        memory: Bool = false, options: ConnectOptions = .init()
    ) async throws(KuraError) -> Kura {
        let daemon = try EphemeralDaemon(options: memory ? ["--memory"] : [])
        var options = options
        options.wait = max(options.wait, .seconds(60))
        return try await connect(to: daemon.socket, options: options, keeping: daemon)
    }
}

/// A daemon without a past or a future.
///
/// A shell stands between: it reads from a pipe that only this process can write to, and ends the daemon when the pipe does.
final class EphemeralDaemon: Sendable {
    let socket: String
    private let directory: String
    private let lifeline: Int32
    private let shell: pid_t

    /// `options`: what the program is told besides.
    init(options: [String]) throws(KuraError) {
        guard let program = Self.program() else {
            throw KuraError(noDaemon: "there is no kurad in $KURAD, beside this program or in $PATH")
        }
        var template = Array("/tmp/kura-testing-XXXXXX".utf8CString)
        // Safety: the template ends with a zero, and is changed in its place.
        guard unsafe mkdtemp(&template) != nil else { throw KuraError(noDaemon: "no directory can be made in /tmp") }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        socket = directory + "/kura.sock"
        var ends: [Int32] = [-1, -1]
        // Safety: the array has room for the two.
        guard unsafe pipe(&ends) == 0 else { throw KuraError(noDaemon: "there are no descriptors left for a pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        lifeline = ends[1]
        shell = Self.spawn([program, socket] + options, directory: directory, lifeline: ends[0])
        close(ends[0])
        if shell < 0 { throw KuraError(noDaemon: "\(program) cannot be started") }
    }

    deinit {
        close(lifeline)
        if shell > 0 { _ = waitpid(shell, nil, 0) }
        // Safety: Swift lends the paths as C strings for the calls.
        _ = unsafe unlink(socket)
        _ = unsafe rmdir(directory)
    }

    private static let script = """
        exec 3<&0
        "$0" --ephemeral --log-level error --socket "$@" </dev/null 3<&- &
        daemon=$!
        read -r _ <&3
        kill "$daemon"
        wait "$daemon"
        """

    /// Safety: the strings are this function's own until it returns, and end with a zero; the lists end with a null.
    private static func spawn(_ words: [String], directory: String, lifeline: Int32) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, lifeline, 0)
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let words = ["/bin/sh", "-c", script] + words
        let variables: [String] = ["PATH=/usr/bin:/bin", "TMPDIR=\(directory)", "KURA_MIN_FREE_BYTES=0"]
        var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
        var environment = unsafe variables.map { unsafe strdup($0) } + [nil]
        defer {
            unsafe arguments.forEach { unsafe free($0) }
            unsafe environment.forEach { unsafe free($0) }
        }
        var pid: pid_t = -1
        let result = unsafe posix_spawn(&pid, "/bin/sh", &actions, &attributes, &arguments, &environment)
        return result == 0 ? pid : -1
    }

    /// Safety: names end with a zero; what the environment holds is read at once.
    private static func program() -> String? {
        func isProgram(_ path: String) -> Bool { unsafe access(path, X_OK) == 0 }
        if let named = unsafe getenv("KURAD") {
            let path = unsafe String(cString: named)
            return isProgram(path) ? path : nil
        }
        var own = [UInt8](repeating: 0, count: 4096)
        let count = unsafe own.withUnsafeMutableBytes { bytes in
            unsafe readlink("/proc/self/exe", bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        let path = String(decoding: own[..<max(count, 0)], as: UTF8.self)
        if let slash = path.lastIndex(of: "/"), isProgram(path[..<slash] + "/kurad") {
            return path[..<slash] + "/kurad"
        }
        let search = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? "/usr/bin:/bin"
        return search.split(separator: ":").map { $0 + "/kurad" }.first(where: isProgram)
    }
}

extension KuraError {
    fileprivate init(noDaemon message: String) {
        self.init(starting: message, advice: "Build or install kurad, or name it in $KURAD.")
    }
}
