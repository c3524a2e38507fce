@testable import SQLite
import KuraBytes
import Testing

extension SQLiteModule {
    /// The rules one by one, without files. Pages are of 512 bytes, so frame n (from 0) begins at 32 + 536 n.
    @Suite struct FrameJoinerTests {
        private func bytes(_ count: Int, commitSize: UInt8 = 0) -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: count)
            if count == 24 { bytes[7] = commitSize }
            return bytes
        }

        private var walHeader: [UInt8] {
            var header = bytes(32)
            header.replaceSubrange(0..<4, with: [0x37, 0x7f, 0x06, 0x82])
            header[10] = 2
            return header
        }

        private func frame(_ number: Int) -> Int64 { Int64(32 + number * 536) }

        private func started() -> FrameJoiner {
            var joiner = FrameJoiner()
            walHeader.withBytes { header in
                #expect(joiner.take(header, at: 0) == .passOn)
                joiner.passed(header, at: 0)
            }
            return joiner
        }

        @Test func `frames are kept until the commit frame's page is there`() {
            var joiner = started()
            #expect(joiner.take(bytes(24), at: frame(0)) == .kept)
            #expect(joiner.take(bytes(512), at: frame(0) + 24) == .kept)
            #expect(joiner.take(bytes(24, commitSize: 2), at: frame(1)) == .kept)
            #expect(joiner.take(bytes(512), at: frame(1) + 24) == .complete)
            #expect(joiner.start == 32 && joiner.count == 2 * 536)
        }

        @Test func `a header written again is not kept, even a commit frame's`() {
            var joiner = started()
            for number in 0..<3 {
                _ = joiner.take(bytes(24, commitSize: number == 2 ? 3 : 0), at: frame(number))
                _ = joiner.take(bytes(512), at: frame(number) + 24)
            }
            joiner.clear(dropped: false)
            #expect(joiner.take(bytes(24), at: frame(1)) == .passOn)
            joiner.passed(bytes(24), at: frame(1))
            #expect(joiner.take(bytes(24, commitSize: 3), at: frame(2)) == .passOn)
            joiner.passed(bytes(24, commitSize: 3), at: frame(2))
            #expect(joiner.take(bytes(24), at: frame(3)) == .kept)
        }

        @Test func `after a rollback frames below the end pass once and are joined again`() {
            var joiner = started()
            for number in 0..<3 {
                _ = joiner.take(bytes(24), at: frame(number))
                _ = joiner.take(bytes(512), at: frame(number) + 24)
            }
            joiner.clear(dropped: false)
            #expect(joiner.take(bytes(24), at: frame(0)) == .passOn)
            joiner.passed(bytes(24), at: frame(0))
            #expect(joiner.take(bytes(512), at: frame(0) + 24) == .passOn)
            joiner.passed(bytes(512), at: frame(0) + 24)
            #expect(joiner.take(bytes(24), at: frame(1)) == .kept)
        }

        @Test func `a dropped block's place is the next block's`() {
            var joiner = started()
            _ = joiner.take(bytes(24, commitSize: 1), at: frame(0))
            #expect(joiner.take(bytes(512), at: frame(0) + 24) == .complete)
            joiner.clear(dropped: true)
            #expect(joiner.count == 0)
            #expect(joiner.take(bytes(24), at: frame(0)) == .kept)
        }

        @Test func `a page split around a sync passes, also when a part is as long as a frame header`() {
            var joiner = started()
            #expect(joiner.take(bytes(24, commitSize: 1), at: frame(0)) == .kept)
            #expect(joiner.take(bytes(488), at: frame(0) + 24) == .passOn)
            joiner.clear(dropped: false)
            joiner.passed(bytes(488), at: frame(0) + 24)
            #expect(joiner.take(bytes(24), at: frame(0) + 512) == .passOn)
            #expect(joiner.count == 0)
        }

        @Test func `a full block is written before it could overflow`() {
            var joiner = started()
            var number = 0
            var verdict = FrameJoiner.Verdict.kept
            while verdict == .kept {
                #expect(joiner.take(bytes(24), at: frame(number)) == .kept)
                verdict = joiner.take(bytes(512), at: frame(number) + 24)
                number += 1
            }
            #expect(verdict == .complete && number == FrameJoiner.capacity / 536)
        }

        @Test func `without a WAL header nothing is kept`() {
            var joiner = FrameJoiner()
            #expect(joiner.take(bytes(24), at: frame(0)) == .passOn)
            bytes(32).withBytes { joiner.learn(header: $0) }
            #expect(joiner.pageSize == 0)
        }

        @Test func `overlapping is told to the byte`() {
            var joiner = started()
            _ = joiner.take(bytes(24), at: 32)
            #expect(
                !joiner.overlaps(0, 32) && joiner.overlaps(0, 33) && joiner.overlaps(55, 1) && !joiner.overlaps(56, 9))
        }
    }
}

extension FrameJoiner {
    fileprivate mutating func take(_ bytes: [UInt8], at offset: Int64) -> Verdict {
        bytes.withBytes { take($0, at: offset) }
    }

    fileprivate mutating func passed(_ bytes: [UInt8], at offset: Int64) {
        bytes.withBytes { passed($0, at: offset) }
    }
}
