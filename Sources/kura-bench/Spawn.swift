import Glibc

/// Starts other programs.
enum Spawn {
    /// Starts a program found like a shell finds it, with this process's environment and no signal blocked.
    ///
    /// It gets `descriptors` as its 0, 1 …; the rest is inherited unless close-on-exec.
    static func start(_ words: [String], descriptors: [Int32] = []) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, descriptor) in descriptors.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var defaults = sigset_t()
        sigemptyset(&defaults)
        sigaddset(&defaults, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var pid: pid_t = 0
        let outcome = withCStrings(words) { argv in
            withCStrings(ProcessFacts.environment()) { environment in
                posix_spawnp(&pid, argv[0]!, &actions, &attributes, argv, environment)
            }
        }
        guard outcome == 0 else {
            throw BenchError.failed("starting \(words[0]): \(String(cString: strerror(outcome)))")
        }
        return pid
    }

    private static func withCStrings<Result>(
        _ texts: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var pointers: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) }
        pointers.append(nil)
        defer { for pointer in pointers { free(pointer) } }
        return pointers.withUnsafeMutableBufferPointer { body($0.baseAddress!) }
    }

    /// The path of this program.
    static func ownPath() throws -> String {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes { readlink("/proc/self/exe", $0.baseAddress!, $0.count) }
        guard count > 0 else { throw BenchError.system("readlink /proc/self/exe") }
        return String(decoding: buffer[0..<count], as: UTF8.self)
    }
}
