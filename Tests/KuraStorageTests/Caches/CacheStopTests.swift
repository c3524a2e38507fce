import Glibc
import SQLite
import Testing

@testable import KuraStorage

/// What is left of the caches' threads when they have been stopped.
@Suite struct CacheStopTests {
    private func descriptor() -> Int32 { open("/dev/null", O_RDONLY | O_CLOEXEC) }

    @Test func `a file that is let go after the stop is closed all the same`() throws {
        let world = try CacheWorld()
        let (before, after) = (descriptor(), descriptor())
        world.blobs.files.letGo(before, temporary: nil)
        world.caches.stop()
        #expect(fcntl(before, F_GETFD) == -1)
        world.blobs.files.letGo(after, temporary: nil)
        #expect(fcntl(after, F_GETFD) == -1)
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
