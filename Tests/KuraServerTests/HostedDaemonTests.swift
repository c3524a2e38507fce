import Glibc
import KuraServer
import Testing

/// Daemons inside of a process that does with itself what it likes.
@Suite struct HostedDaemonTests {
    private let directory = TemporaryDirectory(prefix: "kura-hosted")

    private static func start(in path: String) async -> (daemon: HostedDaemon?, refusal: String?) {
        do throws(Configuration.Refusal) {
            return (try await HostedDaemon.start(in: path), nil)
        } catch {
            return (nil, error.description)
        }
    }

    @Test func `a directory that would be another one elsewhere is refused, and none is made`() async {
        for path in ["kura-hosted-nowhere", "./kura-hosted-nowhere", ""] {
            #expect(await Self.start(in: path).refusal?.contains("absolute") == true, "\(path)")
        }
        #expect(access("kura-hosted-nowhere", F_OK) != 0)
    }

    @Test func `a directory has one daemon at a time, whatever a child of the process has of its locks`() async throws {
        let path = directory.path
        let first = await Self.start(in: path)
        try #require(first.daemon != nil, "\(first.refusal ?? "")")
        #expect(await Self.start(in: path).refusal?.contains("in use") == true)
        let inherited = locks.map { fcntl($0, F_DUPFD_CLOEXEC, 3) }
        defer { for descriptor in inherited { close(descriptor) } }
        try #require(inherited.count >= 2)
        await first.daemon?.stopped()
        let next = await Self.start(in: path)
        #expect(next.daemon != nil, "\(next.refusal ?? "")")
        await next.daemon?.stopped()
    }

    /// Descriptors that hold the locks of the directory's data: whoever is forked has them as well.
    private var locks: [Int32] {
        let data = directory.path + "/data"
        return (0..<4096 as Range<Int32>).filter { number in
            var target = [CChar](repeating: 0, count: 4096)
            let count = readlink("/proc/self/fd/\(number)", &target, 4095)
            guard count > 0 else { return false }
            let path = String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
            return path == data || path == data + "/lock"
        }
    }
}
