import Glibc
import Testing

@testable import KuraStorage

@Suite struct LogSyncTests {
    private let directory = TemporaryDirectory()

    @Test func `after a failed sync no later one makes anything durable, whoever makes it`() throws {
        let segment = try Segment(creating: 1, in: directory.path, capacity: 1 << 16, recycled: nil)
        let sync = LogSync(syncedRev: 0, wake: {})
        try sync.begin()
        defer { sync.stop() }
        sync.syncInline(to: 1, segments: UnsyncedSegments(segment))
        #expect(sync.syncedRev == 1)
        // A pipe cannot be synced; the segment can again when it has its own file back, as the kernel has it that tells of
        // lost pages once.
        let file = dup(segment.descriptor)
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0 && dup2(ends[1], segment.descriptor) == segment.descriptor)
        sync.sync(to: 2, segments: UnsyncedSegments(segment))
        while sync.failure == nil || sync.isBusy { usleep(1000) }
        #expect(dup2(file, segment.descriptor) == segment.descriptor)
        for descriptor in ends + [file] { close(descriptor) }
        sync.syncInline(to: 3, segments: UnsyncedSegments(segment))
        sync.sync(to: 4, segments: UnsyncedSegments(segment))
        while sync.isBusy { usleep(1000) }
        #expect(sync.syncedRev == 1 && sync.failure == EINVAL)
    }
}
