import Testing

@testable import KuraServer

@Suite struct WaitTableTests {
    private typealias Cause = WaitTable.Cause

    private enum Ending: CaseIterable { case comes, isOver, leaves, waitsForAnother }
    private static let causes: [Cause] = [.room, .slot, .moment(7), .page(7), .answer(7), .transfer(7)]

    /// What comes for one alone, or is there for all.
    private static func bring(_ cause: Cause, _ table: inout WaitTable) -> [UInt64] {
        switch cause {
        case .room, .slot: table.open(cause)
        case .page, .answer, .transfer, .none: table.take(cause).map { [$0] } ?? []
        // Its deadline alone brings it.
        case .moment: table.takeOverdue(at: .max).map(\.token)
        }
    }

    @Test(arguments: causes, Ending.allCases)
    private func `each way that a wait ends wakes it once, and leaves nothing`(cause: Cause, ending: Ending) {
        var table = WaitTable()
        table.set(3, cause, until: 1000)
        #expect(!table.isEmpty && table.count { $0 == cause } == 1)
        switch ending {
        case .comes: #expect(Self.bring(cause, &table) == [3])
        case .isOver:
            #expect(table.takeOverdue(at: 999).isEmpty)
            let time = 1000 + WaitTable.pause
            #expect(table.next == time)
            #expect(table.takeOverdue(at: time) == [WaitTable.Woken(token: 3, cause: cause)])
        case .leaves: table.remove(3)
        case .waitsForAnother:
            table.set(3, .page(8))
            #expect(table.take(.page(8)) == 3)
        }
        #expect(table.isEmpty)
        #expect(Self.bring(cause, &table).isEmpty)
        #expect(!table.awaits(.room) && !table.awaits(.slot))
        #expect(table.takeOverdue(at: .max).isEmpty)
        #expect(table.next == .max)
    }

    @Test func `those who wait for room have their order, and each is woken once`() {
        var table = WaitTable()
        for token: UInt64 in [5, 2, 9] { table.set(token, .room) }
        table.set(2, .room)
        table.remove(9)
        table.set(9, .room)
        #expect(table.open(.room) == [5, 2, 9])
        #expect(table.open(.room).isEmpty)
        #expect(table.isEmpty)
    }

    /// As it is meant: a list of who waits for what until when.
    @Test(arguments: 0..<100) func `no history loses a waiter or wakes one twice`(seed: UInt64) {
        var random = SplitMix(state: seed)
        var table = WaitTable()
        var model: [(token: UInt64, cause: Cause, deadline: UInt64)] = []
        var ticket: UInt64 = 0
        var time: UInt64 = 0
        for _ in 0..<500 {
            let token = UInt64.random(in: 0...20, using: &random)
            switch Int.random(in: 0...9, using: &random) {
            case 0...4:
                ticket += 1
                let cause = [Cause.room, .slot, .page(ticket), .answer(ticket), .transfer(ticket)].randomElement(
                    using: &random)!
                let deadline =
                    Bool.random(using: &random) ? time + .random(in: 1...10, using: &random) * WaitTable.pause : 0
                table.set(token, cause, until: deadline)
                if let known = model.firstIndex(where: { $0.token == token && $0.cause == cause }) {
                    model[known].deadline = deadline
                } else {
                    model.removeAll { $0.token == token }
                    model.append((token, cause, deadline))
                }
            case 5:
                table.remove(token)
                model.removeAll { $0.token == token }
            case 6, 7:
                // Of what was waited for once, and of what still is.
                let cause = model.randomElement(using: &random)?.cause ?? .page(ticket)
                // Who has left and comes again keeps his place.
                let found = Set(model.filter { $0.cause == cause }.map(\.token))
                let woken = Self.bring(cause, &table)
                #expect(Set(woken) == found && woken.count == found.count)
                model.removeAll { $0.cause == cause }
            default:
                time += .random(in: 0...2, using: &random) * WaitTable.pause
                let least = model.map(\.deadline).filter { $0 > 0 }.min()
                let woken = table.takeOverdue(at: time)
                let overdue = model.filter { $0.deadline > 0 && $0.deadline <= time }
                if woken.isEmpty {
                    // It looks a little later than the first is due.
                    #expect(overdue.allSatisfy { time < $0.deadline + WaitTable.pause }, "\(least ?? 0) at \(time)")
                } else {
                    #expect(woken.map(\.token).sorted() == overdue.map(\.token).sorted())
                    model.removeAll { $0.deadline > 0 && $0.deadline <= time }
                }
            }
            #expect(table.isEmpty == model.isEmpty && table.count { _ in true } == model.count)
        }
        time += 20 * WaitTable.pause
        #expect(table.takeOverdue(at: time).count == model.count { $0.deadline > 0 })
        model.removeAll { $0.deadline > 0 }
        for cause in model.map(\.cause) { _ = Self.bring(cause, &table) }
        #expect(table.isEmpty)
    }
}
