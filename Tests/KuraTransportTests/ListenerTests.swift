import Glibc
import Testing

@testable import KuraTransport

@Suite struct ListenerTests {
    /// A directory that goes with the test.
    private final class Directory {
        let path: String

        init() {
            var template = Array("/tmp/kura-listener-XXXXXX".utf8CString)
            precondition(mkdtemp(&template) != nil)
            path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }

        deinit {
            for name in ["kura.sock", "a/b/kura.sock"] { unlink(path + "/" + name) }
            for name in ["/a/b", "/a", ""] { rmdir(path + name) }
        }
    }
    private let directory = Directory()
    private var path: String { directory.path + "/kura.sock" }

    private func mode(_ path: String) -> mode_t {
        var information = stat()
        return lstat(path, &information) == 0 ? information.st_mode & 0o7777 : 0
    }

    /// Leaves a socket file that nobody listens to.
    private func leaveStale() {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { room in
            for (index, byte) in path.utf8.enumerated() { room[index] = byte }
        }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(result == 0)
        close(descriptor)
    }

    @Test(arguments: [0o600, 0o660] as [UInt32]) func `the socket has the mode that was asked for`(wanted: UInt32)
        throws
    {
        let listener = try Listener.bind(path: path, mode: wanted)
        #expect(mode(path) == wanted)
        _ = try Socket.connect(to: path)
        guard case .connection(let descriptor) = listener.accept() else {
            Issue.record("nobody came")
            return
        }
        close(descriptor)
        guard case .nothing = listener.accept() else {
            Issue.record("somebody came")
            return
        }
    }

    @Test func `directories that are missing are made, closed to others`() throws {
        let deep = directory.path + "/a/b/kura.sock"
        let listener = try Listener.bind(path: deep)
        #expect(mode(directory.path + "/a/b") == 0o700)
        #expect(mode(directory.path + "/a") == 0o700)
        _ = listener.descriptor
    }

    @Test func `a stale socket file is replaced and the file goes with the listener`() throws {
        leaveStale()
        do {
            let listener = try Listener.bind(path: path)
            _ = try Socket.connect(to: path)
            _ = listener.descriptor
        }
        #expect(access(path, F_OK) != 0)
    }

    @Test func `a file that is no socket is left alone`() throws {
        let descriptor = creat(path, 0o600)
        #expect(write(descriptor, "x", 1) == 1)
        close(descriptor)
        do throws(SystemError) {
            _ = try Listener.bind(path: path)
            Issue.record("bound over a file")
        } catch { #expect(error.code == EEXIST) }
        var information = stat()
        #expect(lstat(path, &information) == 0 && information.st_size == 1)
        unlink(path)
        // A symbolic link is no socket either, wherever it leads.
        symlink("/nowhere", path)
        #expect(throws: SystemError.self) { _ = try Listener.bind(path: path) }
    }

    @Test func `a listener that was replaced leaves its successor's file alone`() throws {
        func first() throws -> Listener { try Listener.bind(path: path) }
        let successor: Listener
        do {
            let early = try first()
            successor = try Listener.bind(path: path)
            _ = early.descriptor
        }
        _ = try Socket.connect(to: path)
        _ = successor.descriptor
    }

    @Test func `a path that does not fit is an error`() {
        let long = directory.path + "/" + String(repeating: "x", count: 120)
        #expect(throws: SystemError.self) { _ = try Listener.bind(path: long) }
    }
}
