import Glibc
import SQLite
import Testing

/// Disks that have less room than there is.
@Suite struct DiskLimitTests {
    private let directory = TemporaryDirectory(prefix: "disk-limit")

    /// Whether a new file beneath the directory may take so many bytes.
    private func admits(_ count: Int) -> Bool {
        let file = open(directory.path + "/new", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        return DiskLimit.admits(file, count, at: 0)
    }

    @Test func `a disk that is filled takes nothing more, and what is there may be written again`() {
        CountingScope.run(CountingScope()) {
            write([UInt8](repeating: 1, count: 8192), to: directory.path + "/old")
            #expect(admits(4096))
            DiskLimit.fill(beneath: directory.path, milliseconds: nil)
            #expect(!admits(1) && errno == ENOSPC)
            let old = open(directory.path + "/old", O_RDWR | O_CLOEXEC)
            #expect(DiskLimit.admits(old, 8192, at: 0) && !DiskLimit.admits(old, 8193, at: 0))
            close(old)
            var room = statvfs()
            #expect(statvfs(directory.path, &room) == 0)
            DiskLimit.apply(to: &room)
            #expect(room.f_bavail == 0)
            DiskLimit.empty()
            #expect(admits(1 << 20))
        }
    }

    @Test func `what is taken away from a full disk can be taken again`() {
        CountingScope.run(CountingScope()) {
            write([UInt8](repeating: 1, count: 8192), to: directory.path + "/old")
            DiskLimit.fill(beneath: directory.path, milliseconds: nil)
            unlink(directory.path + "/old")
            #expect(admits(8192))
        }
    }

    @Test func `a full disk has room when its time is over, and a limit still holds`() {
        CountingScope.run(CountingScope()) {
            DiskLimit.set(64 << 10, beneath: directory.path)
            DiskLimit.fill(beneath: directory.path, milliseconds: 50)
            #expect(!admits(4096))
            usleep(80_000)
            #expect(admits(4096) && !admits(128 << 10))
        }
    }

    @Test func `a limit holds in its scope alone`() {
        CountingScope.run(CountingScope()) {
            DiskLimit.fill(beneath: directory.path, milliseconds: nil)
            CountingScope.run(CountingScope()) { #expect(admits(4096)) }
            #expect(!admits(4096))
        }
        #expect(admits(4096))
    }
}
