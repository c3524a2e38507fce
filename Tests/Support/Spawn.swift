package import Glibc

/// Where what a program writes goes.
package enum ProgramOutput {
    /// To the end of a file, errors too.
    case file(String)
    /// To a descriptor; errors to the test's own.
    case descriptor(Int32)
}

/// Starts a program, whose path and arguments `words` are, with signals as a shell would leave them. It reads `input`, nothing when
/// that is nil, gets `passing` as descriptor 3, and inherits no other of the test's.
package func spawn(
    _ words: [String], environment: [String], input: Int32? = nil, output: ProgramOutput, passing passed: Int32? = nil
) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let input {
        posix_spawn_file_actions_adddup2(&actions, input, 0)
    } else {
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    }
    switch output {
    case .file(let path):
        posix_spawn_file_actions_addopen(&actions, 2, path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 2, 1)
    case .descriptor(let descriptor):
        posix_spawn_file_actions_adddup2(&actions, descriptor, 1)
    }
    if let passed { posix_spawn_file_actions_adddup2(&actions, passed, 3) }
    // What other tests have open just now is none of its business: it would hold pipes open that are to end.
    _ = closeFrom(&actions, passed == nil ? 3 : 4)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var argv = words.map { strdup($0) } + [nil]
    var envp = environment.map { strdup($0) } + [nil]
    defer { for pointer in argv + envp { free(pointer) } }
    var pid: pid_t = 0
    let result = posix_spawn(&pid, words[0], &actions, &attributes, &argv, &envp)
    guard result == 0 else { throw SystemFailure(call: "posix_spawn \(words[0])", number: result) }
    return pid
}

/// Swift's Glibc leaves what is the GNU library's own out.
@_silgen_name("posix_spawn_file_actions_addclosefrom_np")
private func closeFrom(_ actions: UnsafeMutablePointer<posix_spawn_file_actions_t>, _ first: Int32) -> Int32
