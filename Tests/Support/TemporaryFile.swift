import Glibc

/// A file that goes with the test.
package final class TemporaryFile {
    package let path: String
    /// Open for reading and writing, for as long as the file is there.
    package let descriptor: Int32

    package init(prefix: String, _ text: String = "") throws {
        var template = Array("/tmp/\(prefix)-XXXXXX".utf8CString)
        descriptor = mkstemp(&template)
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard descriptor >= 0 else { throw SystemFailure(call: "mkstemp", number: errno) }
        // Programs that other tests start do not get it.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        let bytes = Array(text.utf8)
        guard write(descriptor, bytes, bytes.count) == bytes.count else {
            throw SystemFailure(call: "write", number: errno)
        }
    }

    deinit {
        guard descriptor >= 0 else { return }
        close(descriptor)
        unlink(path)
    }
}
