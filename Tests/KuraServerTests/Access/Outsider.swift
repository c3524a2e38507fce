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
        let outcome = try ShellCommand.run(with: input) { "( \(command) ) <\($0) 2>&1" }
        return (outcome.status, outcome.output)
    }
}

extension RoleDaemon {
    /// Lets everybody come to the sockets: what they may do is the daemon's to say.
    func open() {
        chmod(root, 0o711)
        for role in roles.keys { chmod(path(of: role), 0o666) }
    }
}
