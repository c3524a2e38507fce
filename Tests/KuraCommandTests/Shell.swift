import Glibc
import Testing

/// Shells and the programs that were built beside the tests.
enum Shell {
    struct Outcome {
        var status: Int32
        /// Standard output; standard error too where the script says so.
        var output: String
    }

    /// Where kura and kurad lie.
    static let binaries: String = {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let path = String(decoding: buffer[..<max(count, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
    }()

    /// Runs a script with the programs of the build and the system's in $PATH, whatever this process has there.
    static func run(_ script: String, shell: String = "bash") throws -> Outcome {
        var template = Array("/tmp/kura-script-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        try #require(descriptor >= 0)
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { unlink(path) }
        let bytes = Array(script.utf8)
        #expect(write(descriptor, bytes, bytes.count) == bytes.count)
        close(descriptor)
        let programs = "\(binaries):/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        let pipe = try #require(popen("PATH=\(programs) exec \(shell) \(path) </dev/null", "r"))
        var output: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = fread(&chunk, 1, chunk.count, pipe)
            if count == 0 { break }
            output += chunk[..<count]
        }
        let status = pclose(pipe)
        return Outcome(status: status >> 8 & 0xFF, output: String(decoding: output, as: UTF8.self))
    }

    static func has(_ program: String) -> Bool {
        (try? run("command -v \(program)"))?.status == 0
    }

    /// The beginning of a script that has a daemon of its own, `$KURA_SOCKET` and an empty directory to work in.
    static let daemon = """
        work=$(mktemp -d); cd "$work"
        export KURA_SOCKET=$work/kura.sock KURA_MIN_FREE_BYTES=0
        kurad --ephemeral --profile small 2>"$work/log" &
        daemon=$!
        trap 'kill $daemon 2>/dev/null; wait $daemon 2>/dev/null; rm -rf "$work"' EXIT
        for _ in {1..3000}; do [[ -S $KURA_SOCKET ]] && break; sleep 0.01; done
        """
}
