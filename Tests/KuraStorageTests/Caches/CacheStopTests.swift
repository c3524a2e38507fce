import Glibc
import SQLite
import Testing

@testable import KuraStorage

/// What is left of the caches' threads when they have been stopped.
@Suite struct CacheStopTests {
    private func descriptor() -> Int32 { open("/dev/null", O_RDONLY | O_CLOEXEC) }

    /// A descriptor, and the end of its pipe that tells whether it is closed: other tests may be given its number.
    private func watched() -> (descriptor: Int32, other: Int32) {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        return (ends[1], ends[0])
    }

    private func isClosed(_ other: Int32) -> Bool {
        var byte: UInt8 = 0
        return read(other, &byte, 1) == 0
    }

    @Test func `a file that is let go after the stop is closed all the same`() throws {
        let world = try CacheWorld()
        let (before, after) = (watched(), watched())
        defer { for pipe in [before, after] { close(pipe.other) } }
        #expect(!isClosed(before.other))
        world.blobs.files.letGo(before.descriptor, temporary: nil)
        world.caches.stop()
        #expect(isClosed(before.other) && !isClosed(after.other))
        world.blobs.files.letGo(after.descriptor, temporary: nil)
        #expect(isClosed(after.other))
    }

    @Test func `jobs that nobody looks at any more keep nothing`() throws {
        weak var files: BlobFiles?
        weak var caches: Caches?
        do {
            let world = try CacheWorld()
            (files, caches) = (world.blobs.files, world.caches)
            // What came of it is not fetched before the stop.
            world.blobs.files.letGo(descriptor(), temporary: nil)
        }
        #expect(files == nil && caches == nil)
    }
}
