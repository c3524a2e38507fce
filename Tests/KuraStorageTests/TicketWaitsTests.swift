import Testing

@testable import KuraStorage

@Suite struct TicketWaitsTests {
    private typealias Cause = TicketWaits.Cause

    private static let causes: [Cause] = [
        .index(collection: [1], name: [2]), .settled(collection: [1]), .rewrapped(nil), .modelsKnown, .blobsKnown,
        .purged,
    ]
    private enum Ending: CaseIterable { case comes, isOver, isAnswered, refused, cancelled, abandoned }

    private struct Answered: Equatable {
        var ticket: UInt64
        var error: String
    }

    private static func take(_ waits: inout TicketWaits) -> [Answered] {
        waits.takeDone().map { Answered(ticket: $0.ticket, error: $0.error.map { "\($0)" } ?? "") }
    }

    @Test(arguments: causes, Ending.allCases)
    private func `each way that a wait ends answers it once`(cause: Cause, ending: Ending) {
        var waits = TicketWaits()
        waits.add(7, cause, until: 1000)
        #expect(waits.settle(10) { _ in false } == 1000)
        #expect(Self.take(&waits) == [])
        var answers = [Answered(ticket: 7, error: "")]
        switch ending {
        case .comes: #expect(waits.settle(10) { $0 == cause } == 10)
        case .isOver: #expect(waits.settle(1000) { _ in false } == 1000)
        case .isAnswered: #expect(waits.answer(7, with: WaitOver()) == true)
        case .refused:
            waits.refuse(.noSpace)
            answers = [Answered(ticket: 7, error: "noSpace")]
            switch cause {
            case .index, .purged: break
            case .settled, .rewrapped, .modelsKnown, .blobsKnown:
                #expect(!waits.hasDone)
                return
            }
        case .cancelled:
            guard waits.cancel(7) else {
                #expect(cause != .rewrapped(nil) && !waits.isEmpty)
                return
            }
            #expect(cause == .rewrapped(nil))
            _ = waits.settle(10) { _ in false }
        case .abandoned:
            let isGone = waits.abandon(7)
            // What somebody is at work for is answered.
            let isWorkedFor = [.rewrapped(nil), .purged].contains(cause)
            #expect(isGone == !isWorkedFor)
            if isWorkedFor { return }
            answers = []
        }
        #expect(waits.hasDone == !answers.isEmpty)
        #expect(Self.take(&waits) == answers)
        #expect(waits.isEmpty)
        #expect(waits.answer(7, with: WaitOver()) == false)
        #expect(waits.cancel(7) == false)
        #expect(waits.abandon(7) == false)
        #expect(waits.settle(5000) { _ in true } == nil)
    }

    @Test func `the tables are wanted as far as the newest who waits wants them`() {
        var waits = TicketWaits()
        #expect(waits.wantedRev == 0)
        waits.add(1, .index(collection: [1], name: [2]), rev: 5)
        waits.add(2, .settled(collection: [1]), until: 100, rev: 9)
        #expect(waits.wantedRev == 9)
        #expect(waits.abandon(2) == true)
        #expect(waits.wantedRev == 5)
    }

    /// As it is meant: a list of who waits for what.
    @Test(arguments: 0..<100) func `no history loses a waiter or answers one twice`(seed: UInt64) {
        var random = SplitMix(state: seed)
        var waits = TicketWaits()
        var model: [(ticket: UInt64, cause: Cause, deadline: UInt64)] = []
        var answered: Set<UInt64> = []
        var left: Set<UInt64> = []
        var time: UInt64 = 0
        for ticket: UInt64 in 0..<400 {
            let cause = Self.causes.randomElement(using: &random)!
            let deadline = Bool.random(using: &random) ? time + .random(in: 1...20, using: &random) : .max
            waits.add(ticket, cause, until: deadline)
            model.append((ticket, cause, deadline))
            let chosen = model.randomElement(using: &random)!
            switch Int.random(in: 0...4, using: &random) {
            case 0:
                time += .random(in: 0...5, using: &random)
                let isThere = chosen.cause
                _ = waits.settle(time) { $0 == isThere }
                model.removeAll { $0.cause == isThere || $0.deadline <= time }
            case 1:
                #expect(waits.answer(chosen.ticket, with: WaitOver()) == true)
                model.removeAll { $0.ticket == chosen.ticket }
            case 2:
                waits.refuse(.noSpace)
                model.removeAll {
                    if case .index = $0.cause { true } else { $0.cause == .purged }
                }
            case 3 where waits.abandon(chosen.ticket):
                left.insert(chosen.ticket)
                model.removeAll { $0.ticket == chosen.ticket }
            default: break
            }
            for answer in Self.take(&waits) {
                let isFirst = answered.insert(answer.ticket).inserted
                #expect(isFirst)
            }
            #expect(answered.count + left.count + model.count == Int(ticket) + 1)
        }
        _ = waits.settle(.max) { _ in true }
        for answer in Self.take(&waits) {
            let isFirst = answered.insert(answer.ticket).inserted
            #expect(isFirst)
        }
        #expect(waits.isEmpty && answered.count + left.count == 400 && answered.isDisjoint(with: left))
    }
}
