import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct HashedRowsTests {
    private struct Row: HashedRow {
        var key: Int
        var chain: UInt32 = 0
        var value: Int

        /// Many share one.
        static func hash(_ key: Int, _ seed: UInt64) -> UInt64 { Hash.number(UInt64(key % 50), seed: seed) }
    }

    @Test func `rows are found by their keys whoever shares their hash, and keep their places`() {
        var rows = HashedRows<Row>()
        var model: [Int: (place: Int32, value: Int)] = [:]
        var random = SystemRandomNumberGenerator()
        for step in 0..<20_000 {
            let key = Int.random(in: 0..<400, using: &random)
            if let known = model[key] {
                rows.remove(known.place)
                rows.giveUp(known.place)
                model[key] = nil
            } else {
                model[key] = (rows.insert(Row(key: key, value: step)), step)
            }
        }
        var wrong = 0
        for key in 0..<400 {
            let place = rows.find(key)
            if place != model[key]?.place { wrong += 1 }
            if let place, rows[place].value != model[key]?.value { wrong += 1 }
        }
        let (count, places) = (rows.count, rows.places.count)
        #expect(wrong == 0)
        #expect(count == model.count)
        #expect(places <= 400)
    }

    @Test func `a row that is not found any more keeps its place until that is given up`() {
        var rows = HashedRows<Row>()
        let first = rows.insert(Row(key: 1, value: 10))
        rows.remove(first)
        let second = rows.insert(Row(key: 2, value: 20))
        let (found, value) = (rows.find(1), rows[first].value)
        #expect(second != first)
        #expect(found == nil)
        #expect(value == 10)
        rows.giveUp(first)
        let third = rows.insert(Row(key: 3, value: 30))
        #expect(third == first)
    }
}
