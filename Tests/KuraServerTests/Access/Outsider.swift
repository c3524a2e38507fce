import Glibc
import Testing

/// Programs that run as another user, in other groups or in a namespace of their own. Starting them takes root.
struct Outsider {
    var uid: UInt32
    var gid: UInt32 = 60_000
    var groups: [UInt32] = []

    /// Sends text to a socket and returns what comes back, line by line.
    /// - Throws: `Refused` when the socket cannot be connected to.
    func exchange(_ socket: String, _ text: String) throws -> [String] {
        let identity = "setpriv --reuid \(uid) --regid \(gid) " + Self.option(groups)
        let outcome = try Self.run("\(identity) -- socat -t 60 - UNIX-CONNECT:\(socket)", input: text)
        guard outcome.status == 0 else { throw Refused(message: outcome.output) }
        return outcome.output.split(separator: "\n").map(String.init)
    }

    struct Refused: Error {
        var message: String
    }

    private static func option(_ groups: [UInt32]) -> String {
        groups.isEmpty ? "--clear-groups" : "--groups " + groups.map(String.init).joined(separator: ",")
    }

    /// Runs a shell command with `input` on its standard input; standard error comes along with the output.
    static func run(_ command: String, input: String = "") throws -> (status: Int32, output: String) {
        var template = Array("/tmp/kura-input-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        try #require(descriptor >= 0)
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { unlink(path) }
        let bytes = Array(input.utf8)
        #expect(write(descriptor, bytes, bytes.count) == bytes.count)
        close(descriptor)
        let pipe = try #require(popen("( \(command) ) <\(path) 2>&1", "r"))
        var output: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = fread(&chunk, 1, chunk.count, pipe)
            if count == 0 { break }
            output += chunk[..<count]
        }
        let status = pclose(pipe)
        return (status >> 8 & 0xFF, String(decoding: output, as: UTF8.self))
    }
}

extension RoleDaemon {
    /// Lets everybody come to the sockets: what they may do is the daemon's to say.
    func open() {
        chmod(root, 0o711)
        for role in roles.keys { chmod(path(of: role), 0o666) }
    }
}
