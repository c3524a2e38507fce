import Glibc
import KuraBytes
import KuraProtocol

// Safety: the words are copied for `execv`, which reads them up to the nil at their end and does not return;
// `readlink` and `access` get a buffer with its length and paths that Swift lends for the call.

/// `kura bench`: becomes kura-bench, which lies beside kura or in $PATH.
enum BenchCommand {
    /// - Parameters:
    ///   - words: kura-bench's own; without a target this daemon is measured.
    ///   - socket: this daemon's.
    /// - Throws: when there is no kura-bench; else it does not come back.
    static func run(_ words: [String], socket: String) throws(Failure) -> Never {
        guard let program = program() else {
            throw Failure(
                status: .usage, message: "kura-bench lies neither beside kura nor in $PATH",
                hint: "build it: scripts/build kura-bench")
        }
        var arguments: [UnsafeMutablePointer<CChar>?] = unsafe ([program] + completed(words, socket: socket)).map {
            unsafe strdup($0)
        }
        unsafe arguments.append(nil)
        unsafe execv(program, arguments)
        throw .usage(unsafe "cannot run \(program): \(String(cString: strerror(errno)))")
    }

    /// The words with this daemon as target, where they name none and are no call for help.
    static func completed(_ words: [String], socket: String) -> [String] {
        let named = ["--target", "--a", "--b", "--help", "-h", "help"]
        let hasTarget = words.contains { word in named.contains(String(word.prefix { $0 != "=" })) }
        return hasTarget
            ? words : words.prefix { $0 != "--" } + ["--target", "kura:\(socket)"] + words.drop { $0 != "--" }
    }

    private static func program() -> String? {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = unsafe readlink("/proc/self/exe", &buffer, buffer.count)
        let own = String(decoding: buffer[..<max(count, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let beside = String(own[..<(own.lastIndex(of: "/") ?? own.startIndex)])
        let path = (SocketPath.environment("PATH") ?? "").split(separator: ":").map(String.init)
        return ([beside] + path).map { $0 + "/kura-bench" }.first { unsafe access($0, X_OK) == 0 }
    }
}
