import Glibc

/// Commands of the shell that a test waits for.
package enum ShellCommand {
    package struct Outcome {
        package var status: Int32
        /// Standard output; standard error too where the command says so.
        package var output: String
    }

    /// Runs what `command` makes of the path of a file with this text, which goes afterwards.
    package static func run(with text: String, _ command: (String) -> String) throws -> Outcome {
        let file = try TemporaryFile(prefix: "kura-script", text)
        guard let pipe = popen(command(file.path), "r") else { throw SystemFailure(call: "popen", number: errno) }
        let output = String(decoding: FileTree.rest(of: pipe), as: UTF8.self)
        return Outcome(status: pclose(pipe) >> 8 & 0xFF, output: output)
    }
}
