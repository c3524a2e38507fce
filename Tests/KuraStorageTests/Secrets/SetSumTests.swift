import KuraBytes
import Sodium
import Testing

@testable import KuraStorage

@Suite struct SetSumTests {
    private func sum(_ bytes: [UInt8]) -> SetSum { bytes.withBytes { SetSum($0) } }

    private func bytes(_ sum: SetSum) -> [UInt8] {
        var buffer = ByteBuffer()
        sum.append(to: &buffer)
        return Array(buffer.bytes)
    }

    @Test func `carries and borrows go through all words`() {
        var all = sum([UInt8](repeating: 0xFF, count: 32))
        let one = sum([1] + [UInt8](repeating: 0, count: 31))
        all += one
        #expect(all == SetSum())
        all -= one
        #expect(bytes(all) == [UInt8](repeating: 0xFF, count: 32))
        var middle = sum([UInt8](repeating: 0xFF, count: 8) + [UInt8](repeating: 0, count: 24))
        middle += one
        #expect(bytes(middle) == [UInt8](repeating: 0, count: 8) + [1] + [UInt8](repeating: 0, count: 23))
    }

    @Test(arguments: 0..<20) func `what was added in any order is gone when it is subtracted in any other`(seed: UInt64)
    {
        var random = SplitMix(state: seed)
        let parts = (0..<50).map { _ in sum((0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }) }
        var (forth, back) = (SetSum(), SetSum())
        for part in parts { forth += part }
        for part in parts.shuffled(using: &random) { back += part }
        #expect(forth == back && forth != SetSum())
        for part in parts.shuffled(using: &random) { forth -= part }
        #expect(forth == SetSum())
    }
}
