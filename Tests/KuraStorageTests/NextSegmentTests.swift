import Testing

@testable import KuraStorage

@Suite struct NextSegmentTests {
    @Test func `a segment is taken once`() throws {
        let directory = TemporaryDirectory()
        let next = NextSegment()
        #expect(next.take() == nil && !next.isReady)
        let segment = try Segment(creating: 1, in: directory.path, capacity: 1 << 16, recycled: nil)
        next.put(segment)
        #expect(next.isReady)
        #expect(next.take() === segment)
        #expect(next.take() == nil && !next.isReady)
    }

    @Test func `a failure is told once`() {
        let next = NextSegment()
        #expect(next.takeFailure() == nil)
        next.fail(.noSpace)
        #expect(next.takeFailure() == .noSpace)
        #expect(next.takeFailure() == nil)
    }
}
