import Glibc
import KuraBytes
import Synchronization
import Testing

@testable import KuraStorage

@Suite struct FileSystemTests {
    private let directory = TemporaryDirectory()

    @Test func `a file whose name others take at that moment can be linked`() throws {
        let (place, path) = (directory.path + "/place", directory.path)
        let isDone = Atomic<Bool>(false)
        @Sendable func make(_ name: String) { Glibc.close(Glibc.open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)) }
        make(place)
        try onThreads(3) { index in
            guard index == 0 else {
                let other = path + "/other-\(index)"
                while !isDone.load(ordering: .relaxed) {
                    make(other)
                    Glibc.rename(other, place)
                }
                return
            }
            defer { isDone.store(true, ordering: .relaxed) }
            // The control: what the kernel says without us. Where it never says it there is nothing to see.
            var missed = 0
            for _ in 0..<300_000 where missed < 20 {
                if Glibc.link(place, path + "/link") != 0, errno == ENOENT { missed += 1 }
                unlink(path + "/link")
                let isNew = try FileSystem.link(place, path + "/link")
                #expect(isNew)
                unlink(path + "/link")
            }
        }
    }

    /// Files of /proc give a page at a time, as any file may give less than was asked for.
    @Test func `a file is read to its end, however little it gives at once`() throws {
        let file = Glibc.open("/proc/self/maps", O_RDONLY | O_CLOEXEC)
        defer { Glibc.close(file) }
        var once = [UInt8](repeating: 0, count: 16 << 10)
        try #require(unsafe pread(file, &once, once.count, 0) < once.count)
        var buffer = ByteBuffer()
        #expect(try FileSystem.read(file, atMost: once.count, at: 0, into: &buffer, path: "maps") == once.count)
        #expect(buffer.count == once.count)
    }

    @Test func `a name that is taken, one that leads nowhere and one in no directory are told apart`() throws {
        let path = directory.path
        Glibc.close(Glibc.open(path + "/a", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600))
        #expect(try FileSystem.link(path + "/a", path + "/b"))
        #expect(try !FileSystem.link(path + "/a", path + "/b"))
        for (from, to) in [("gone", "c"), ("a", "nowhere/c")] {
            #expect(throws: StorageFault.self) { try FileSystem.link(path + "/" + from, path + "/" + to) }
        }
    }
}
