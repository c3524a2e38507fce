import Testing

@testable import KuraServer

/// How many refusals of a user are in the audit before they are answered.
@Suite struct RefusalBudgetsTests {
    @Test func `so many at once, then one an interval, for each user by themselves`() {
        var budgets = RefusalBudgets()
        let start: UInt64 = 1_000_000_000_000
        func taken(_ user: UInt32, _ count: Int, at time: UInt64) -> Int {
            (0..<count).count { _ in budgets.take(user, at: time) }
        }
        #expect(taken(7, 100, at: start) == 32)
        #expect(taken(7, 10, at: start + RefusalBudgets.interval - 1) == 0)
        #expect(taken(7, 10, at: start + RefusalBudgets.interval) == 1)
        #expect(taken(8, 100, at: start) == 32)
        #expect(taken(7, 100, at: start + 11 * RefusalBudgets.interval) == 10)
        #expect(taken(7, 100, at: start + 1000 * RefusalBudgets.interval) == 32)
    }

    @Test func `who has all of theirs is forgotten, and nobody gets more by that`() {
        var budgets = RefusalBudgets()
        let start: UInt64 = 1_000_000_000_000
        for _ in 0..<40 { _ = budgets.take(1, at: start) }
        for user in 2..<3000 as Range<UInt32> { _ = budgets.take(user, at: start + 1) }
        let isTaken = budgets.take(1, at: start + 2)
        #expect(!isTaken)
    }
}
