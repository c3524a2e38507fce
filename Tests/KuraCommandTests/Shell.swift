// What the test targets share is known in all files of this one.
@_exported public import KuraTestSupport

/// Shells and the programs that were built beside the tests.
enum Shell {
    typealias Outcome = ShellCommand.Outcome

    /// Where kura and kurad lie.
    static let binaries = BuiltPrograms.directory

    /// Runs a script with the programs of the build and the system's in $PATH, whatever this process has there.
    static func run(_ script: String, shell: String = "bash") throws -> Outcome {
        let programs = "\(binaries):/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        return try ShellCommand.run(with: script) { "PATH=\(programs) exec \(shell) \($0) </dev/null" }
    }

    static func has(_ program: String) -> Bool {
        (try? run("command -v \(program)"))?.status == 0
    }

    /// The beginning of a script that has a daemon of its own, `$KURA_SOCKET` and an empty directory to work in.
    static let daemon = """
        work=$(mktemp -d); cd "$work"
        export KURA_SOCKET=$work/kura.sock KURA_MIN_FREE_BYTES=0 KURA_QUERY_MS=600000
        export KURA_UNDO_FILE=
        kurad --ephemeral --profile small 2>"$work/log" &
        daemon=$!
        trap 'kill $daemon 2>/dev/null; wait $daemon 2>/dev/null; rm -rf "$work"' EXIT
        for _ in {1..6000}; do [[ -S $KURA_SOCKET ]] && break; sleep 0.01; done
        """
}
