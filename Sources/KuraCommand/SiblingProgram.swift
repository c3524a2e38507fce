import Glibc
import KuraProtocol

// Safety: the words are copied for `execv`, which reads them up to the nil at their end and does not return;
// `readlink` and `access` get a buffer with its length and paths that Swift lends for the call; the text of `strerror` is copied at once by
// the only thread.

/// Another of Kura's programs, which lies beside kura or in $PATH.
enum SiblingProgram {
    /// Becomes it.
    /// - Throws: when there is none; else it does not come back.
    static func become(_ name: String, _ words: [String]) throws(Failure) -> Never {
        guard let program = find(name) else {
            throw Failure(
                status: .usage, message: "\(name) lies neither beside kura nor in $PATH",
                hint: "build it: scripts/build \(name)")
        }
        var arguments: [UnsafeMutablePointer<CChar>?] = unsafe ([program] + words).map { unsafe strdup($0) }
        unsafe arguments.append(nil)
        unsafe execv(program, arguments)
        throw .usage(unsafe "cannot run \(program): \(String(cString: strerror(errno)))")
    }

    private static func find(_ name: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = unsafe readlink("/proc/self/exe", &buffer, buffer.count)
        let own = String(decoding: buffer[..<max(count, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let beside = String(own[..<(own.lastIndex(of: "/") ?? own.startIndex)])
        let path = (SocketPath.environment("PATH") ?? "").split(separator: ":").map(String.init)
        return ([beside] + path).map { "\($0)/\(name)" }.first { unsafe access($0, X_OK) == 0 }
    }
}
