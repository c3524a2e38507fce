import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct CacheOrderTests {
    @Test func `a scan over what nobody wants again does not push out what is wanted`() {
        let places = CachePlaces()
        var order = CacheOrder(places)
        let sketch = FrequencySketch(counters: 10_000)
        let limit = 1000
        func hash(_ row: UInt32) -> UInt64 { Hash.number(UInt64(row), seed: 7) }
        func add(_ row: UInt32) {
            while order.bytes + 1 > limit, let victim = order.victim(sketch, limit: limit, hash: hash) {
                order.remove(victim)
            }
            order.insert(row, bytes: 1, limit: limit)
        }
        for row in 1...500 as ClosedRange<UInt32> { add(row) }
        for _ in 0..<4 {
            for row in 1...500 as ClosedRange<UInt32> {
                sketch.add(hash(row))
                places.visit(row)
            }
        }
        for row in 501...20_000 as ClosedRange<UInt32> {
            add(row)
            #expect(order.bytes <= limit && order.count <= limit)
        }
        let left = (1...500 as ClosedRange<UInt32>).filter { places.holds($0) }.count
        #expect(left > 490, "\(left)")
        #expect(order.rejected > 15_000)
    }

    @Test func `what is taken out and put in again leaves the lists whole`() {
        let places = CachePlaces()
        var order = CacheOrder(places)
        let sketch = FrequencySketch(counters: 1000)
        var generator = SystemRandomNumberGenerator()
        var sizes: [UInt32: Int] = [:]
        for _ in 0..<20_000 {
            let row = UInt32.random(in: 1...200, using: &generator)
            switch UInt8.random(in: 0...3, using: &generator) {
            case 0 where sizes[row] == nil:
                sizes[row] = Int.random(in: 1...50, using: &generator)
                order.insert(row, bytes: sizes[row]!, limit: 4000)
            case 1 where sizes[row] != nil:
                order.remove(row)
                sizes[row] = nil
            case 2 where sizes[row] != nil: places.visit(row)
            case 3:
                guard let victim = order.victim(sketch, limit: 4000, hash: { UInt64($0) }) else { continue }
                #expect(sizes[victim] != nil)
                order.remove(victim)
                sizes[victim] = nil
            default: break
            }
            #expect(order.bytes == sizes.values.reduce(0, +) && order.count == sizes.count)
        }
        while let row = order.any {
            order.remove(row)
            sizes[row] = nil
        }
        #expect(sizes.isEmpty && order.bytes == 0)
    }

    @Test func `a sketch counts about right, and forgets`() {
        let sketch = FrequencySketch(counters: 4096)
        func hash(_ number: Int) -> UInt64 { Hash.number(UInt64(number), seed: 3) }
        for number in 0..<1000 { for _ in 0..<(number % 8) { sketch.add(hash(number)) } }
        let wrong = (0..<1000).filter { sketch.frequency(hash($0)) != $0 % 8 }.count
        #expect((0..<1000).allSatisfy { sketch.frequency(hash($0)) >= $0 % 8 })
        #expect(wrong < 50, "\(wrong) of 1000 are counted too often")
        for number in 10_000..<100_000 { sketch.add(hash(number)) }
        #expect((0..<1000).filter { sketch.frequency(hash($0)) >= 8 }.count < 1000)
    }

    @Test func `an index finds what was put in while it grows`() {
        var index = RowIndex()
        var hashes: [UInt64] = [0]
        var chains: [UInt32] = [0]
        func find(_ hash: UInt64) -> UInt32 {
            var row = index.first(hash)
            while row != 0, hashes[Int(row)] != hash { row = chains[Int(row)] }
            return row
        }
        for number in 1...5000 {
            let hash = Hash.number(UInt64(number), seed: 1)
            hashes.append(hash)
            chains.append(index.insert(UInt32(number), hash))
            index.grow(
                rows: number, hash: { hashes[Int($0)] }, next: { chains[Int($0)] }, setNext: { chains[Int($0)] = $1 })
            if number % 500 == 0 { for row in 1...number { #expect(find(hashes[row]) == UInt32(row)) } }
        }
        #expect(find(12345) == 0)
    }
}
