import Glibc

// Safety: words are copied for the call and freed behind it; each list ends with nil.

/// Starts other programs.
enum Spawn {
    /// Starts a program found like a shell finds it, with this process's environment and no signal blocked.
    ///
    /// It gets `descriptors` as its 0, 1 …; the rest is inherited unless close-on-exec.
    static func start(_ words: [String], descriptors: [Int32] = []) throws -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for (number, descriptor) in descriptors.enumerated() {
            unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
        }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        var defaults = sigset_t()
        unsafe sigemptyset(&defaults)
        unsafe sigaddset(&defaults, SIGPIPE)
        unsafe posix_spawnattr_setsigdefault(&attributes, &defaults)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var pid: pid_t = 0
        let outcome = unsafe withCStrings(words) { argv in
            unsafe withCStrings(ProcessFacts.environment()) { environment in
                unsafe posix_spawnp(&pid, argv[0]!, &actions, &attributes, argv, environment)
            }
        }
        guard outcome == 0 else {
            throw BenchError.failed(unsafe "starting \(words[0]): \(String(cString: strerror(outcome)))")
        }
        return pid
    }

    private static func withCStrings<Result>(
        _ texts: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var pointers: [UnsafeMutablePointer<CChar>?] = unsafe texts.map { unsafe strdup($0) }
        unsafe pointers.append(nil)
        defer { unsafe pointers.forEach { unsafe free($0) } }
        return unsafe pointers.withUnsafeMutableBufferPointer { unsafe body($0.baseAddress!) }
    }

    /// The path of this program.
    static func ownPath() throws -> String {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe buffer.withUnsafeMutableBytes {
            unsafe readlink("/proc/self/exe", $0.baseAddress!, $0.count)
        }
        guard count > 0 else { throw BenchError.system("readlink /proc/self/exe") }
        return String(decoding: buffer[0..<count], as: UTF8.self)
    }
}
