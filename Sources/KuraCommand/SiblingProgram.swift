import CSyscalls
import Glibc
import KuraProtocol

// Safety: the words are copied for `execv`, which reads them up to the nil at their end and does not return;
// `readlink`, `read` and `access` get buffers with their lengths and paths that Swift lends for the call; a child's words and actions are ours until it has been
// started; the text of `strerror` is copied at once by
// the only thread.

/// Another of Kura's programs, which lies beside kura or in $PATH.
enum SiblingProgram {
    /// Becomes it.
    /// - Throws: when there is none; else it does not come back.
    static func become(_ name: String, _ words: [String]) throws(Failure) -> Never {
        guard let program = find(name) else { throw missing(name) }
        var arguments: [UnsafeMutablePointer<CChar>?] = unsafe ([program] + words).map { unsafe strdup($0) }
        unsafe arguments.append(nil)
        unsafe execv(program, arguments)
        throw .usage(unsafe "cannot run \(program): \(String(cString: strerror(errno)))")
    }

    /// Runs it to its end, with this program's environment and standard error.
    /// - Returns: its exit status and what it wrote to standard output; nil when there is none, or it cannot be run.
    static func output(_ name: String, _ words: [String]) -> (status: Int32, output: [UInt8])? {
        var ends: [Int32] = [-1, -1]
        guard let program = find(name), unsafe csys_pipe(&ends) == 0 else { return nil }
        defer { close(ends[0]) }
        let child = start(program, words, output: ends[1])
        close(ends[1])
        guard let child else { return nil }
        var output: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = unsafe read(ends[0], &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            output += chunk[..<count]
        }
        return (end(of: child), output)
    }

    /// Runs it to its end, with this program's environment, output and standard error.
    /// - Parameters:
    ///   - name: which.
    ///   - words: its arguments.
    /// - Returns: its exit status, as shells have it.
    /// - Throws: when there is none, or it cannot be run.
    static func run(_ name: String, _ words: [String]) throws(Failure) -> Int32 {
        guard let program = find(name) else { throw missing(name) }
        guard let child = start(program, words, output: STDOUT_FILENO) else {
            throw .usage(unsafe "cannot run \(program): \(String(cString: strerror(errno)))")
        }
        return end(of: child)
    }

    /// - Returns: the child; nil, and errno, when it cannot be run.
    private static func start(_ program: String, _ words: [String], output: Int32) -> pid_t? {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        var arguments: [UnsafeMutablePointer<CChar>?] = unsafe ([program] + words).map { unsafe strdup($0) }
        unsafe arguments.append(nil)
        defer { for index in unsafe arguments.indices { unsafe free(arguments[index]) } }
        var child: pid_t = 0
        errno = unsafe posix_spawn(&child, program, &actions, nil, &arguments, csys_environment())
        return errno == 0 ? child : nil
    }

    private static func end(of child: pid_t) -> Int32 {
        var status: Int32 = 0
        while unsafe waitpid(child, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
    }

    static func missing(_ name: String) -> Failure {
        Failure(
            status: .usage, message: "\(name) lies neither beside kura nor in $PATH",
            hint: "put it beside kura, or into a directory of $PATH; the sources make it by scripts/build \(name)")
    }

    static func find(_ name: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = unsafe readlink("/proc/self/exe", &buffer, buffer.count)
        let own = String(decoding: buffer[..<max(count, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let beside = String(own[..<(own.lastIndex(of: "/") ?? own.startIndex)])
        let path = (SocketPath.environment("PATH") ?? "").split(separator: ":").map(String.init)
        return ([beside] + path).map { "\($0)/\(name)" }.first { unsafe access($0, X_OK) == 0 }
    }
}
