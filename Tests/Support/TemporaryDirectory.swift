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

    /// Makes a directory that nobody else has: whoever asked for it removes it.
    package static func make(_ prefix: String, in parent: String = "/tmp") throws -> String {
        var template = Array("\(parent)/\(prefix)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemFailure(call: "mkdtemp", number: errno) }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
