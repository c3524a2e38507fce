import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct ScanPlaceTests {
    @Test func `a walk that nothing was walked over has no position`() {
        let place = ScanPlace(behind: nil)
        let (row, position) = (place.row, place.position(.collection))
        #expect(row == nil)
        #expect(position == nil)
    }

    @Test func `a place is behind the last row, by what the plan walks by`() {
        var place = ScanPlace(behind: .row(3))
        let before = place.position(.collection)
        #expect(before == .row(3))
        Array("b".utf8).withBytes { place.set(4, $0) }
        let positions = [
            place.position(.collection), place.position(.ids([], isDescending: false)), place.position(.none),
        ]
        #expect(positions == [.row(4), .id(Array("b".utf8)), nil])
    }

    @Test func `a walk goes on behind the id or the key that an earlier page ended with`() {
        let id = ScanPlace(behind: .id([7]))
        let (idRow, idKey) = (id.row, Array(id.key.bytes))
        #expect(idRow == 0)
        #expect(idKey == [7])
        let key = ScanPlace(behind: .key(index: 1, [8], row: 9))
        let (keyRow, keyBytes) = (key.row, Array(key.key.bytes))
        #expect(keyRow == 9)
        #expect(keyBytes == [8])
    }

    @Test func `a budget is spent when either part of it is`() {
        var budget = ScanBudget()
        #expect(!budget.isSpent)
        budget.candidates = 0
        #expect(budget.isSpent)
        #expect(budget.stepsAhead == 1)
        budget = ScanBudget(candidates: 5, bytes: 0, wanted: 3)
        #expect(budget.isSpent)
        #expect(budget.stepsAhead == 3)
    }
}
