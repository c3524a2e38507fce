import Glibc
import KuraTestSupport
import Testing

/// Descriptors that tests pass to their daemon, and how many it may have.
extension TemporaryDaemon {
    /// A file of these bytes, open for reading, without a name.
    func file(_ bytes: [UInt8], flags: Int32 = O_RDONLY) throws -> Int32 {
        let path = root + "/input-\(UInt32.random(in: 0...UInt32.max))"
        let written = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        try #require(written >= 0)
        var done = 0
        while done < bytes.count {
            done += max(0, bytes[done...].withUnsafeBytes { Glibc.write(written, $0.baseAddress, $0.count) })
        }
        close(written)
        let descriptor = open(path, flags | O_CLOEXEC)
        try #require(descriptor >= 0)
        unlink(path)
        return descriptor
    }

    func file(_ text: String) throws -> Int32 { try file(Array(text.utf8)) }

    /// A named pipe, so that both ends are close-on-exec from the first: other tests start daemons meanwhile.
    func pipe() throws -> (read: Int32, write: Int32) {
        let path = root + "/pipe-\(UInt32.random(in: 0...UInt32.max))"
        try #require(mkfifo(path, 0o600) == 0)
        let read = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        let write = open(path, O_WRONLY | O_CLOEXEC)
        try #require(read >= 0 && write >= 0)
        _ = fcntl(read, F_SETFL, 0)
        unlink(path)
        return (read, write)
    }

    /// Everything that comes out of a pipe, which is closed then.
    static func everything(from descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        close(descriptor)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// What the descriptors are of that the daemon has.
    var openFiles: [String] {
        let directory = "/proc/\(pid)/fd/"
        return (FileTree.names(directory) ?? []).map { FileTree.target(ofLink: directory + $0) }
    }

    /// Lets the daemon open no more files, or as many as it likes.
    func limitDescriptors(to count: Int) {
        var wanted = rlimit()
        #expect(processLimit(pid, Int32(RLIMIT_NOFILE.rawValue), nil, &wanted) == 0)
        wanted.rlim_cur = min(rlim_t(count), wanted.rlim_max)
        #expect(processLimit(pid, Int32(RLIMIT_NOFILE.rawValue), &wanted, nil) == 0)
    }
}

@_silgen_name("prlimit")
private func processLimit(
    _ pid: pid_t, _ resource: Int32, _ new: UnsafePointer<rlimit>?, _ old: UnsafeMutablePointer<rlimit>?
) -> Int32
