import Glibc

/// A directory that goes with the test.
package final class TemporaryDirectory {
    package let path: String

    /// `folders` are made in it.
    package init(prefix: String, folders: [String] = []) {
        do { path = try Self.make(prefix) } catch { preconditionFailure("\(error)") }
        for name in folders { mkdir("\(path)/\(name)", 0o700) }
    }

    deinit {
        FileTree.remove(path)
    }

    /// Where they are made: in memory where the host has room, since what disks do is tested on file systems of their own. $TEST_DIRECTORY names
    /// another place.
    package static let parent: String = {
        if let named = getenv("TEST_DIRECTORY") { return String(cString: named) }
        var information = statvfs()
        guard statvfs("/dev/shm", &information) == 0, access("/dev/shm", W_OK) == 0,
            Int(information.f_bavail) * Int(information.f_frsize) >= leastBytes
        else { return "/tmp" }
        return "/dev/shm"
    }()
    private static let leastBytes = 4 << 30

    /// Makes a directory that nobody else has: whoever asked for it removes it.
    package static func make(_ prefix: String, in parent: String = parent) throws -> String {
        var template = Array("\(parent)/\(prefix)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemFailure(call: "mkdtemp", number: errno) }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
