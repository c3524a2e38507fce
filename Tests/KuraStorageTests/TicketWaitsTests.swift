import Testing

@testable import KuraStorage

@Suite struct TicketWaitsTests {
    private typealias Cause = TicketWaits.Cause

    private static let causes: [Cause] = [
        .index(collection: [1], name: [2]), .settled(collection: [1]), .rewrapped(nil), .modelsKnown, .blobsKnown,
        .purged, .folded, .scrubbed(4),
    ]
    private enum Ending: CaseIterable {
        case comes, isOver, isAnswered, refusedByFold, refusedByScrub, cancelled, abandoned, forgotten
    }

    /// Somebody is at work for it, so it is not abandoned.
    private static func isWorkedFor(_ cause: Cause) -> Bool {
        [.rewrapped(nil), .purged, .scrubbed(4)].contains(cause)
    }

    private static func source(_ cause: Cause) -> TicketWaits.Source? {
        switch cause {
        case .index, .purged, .folded: .fold
        case .scrubbed: .scrub
        case .settled, .rewrapped, .modelsKnown, .blobsKnown: nil
        }
    }

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
        case .isOver:
            #expect(waits.settle(1000) { _ in false } == 1000)
            if cause == .folded { answers[0].error = "interrupted" }
        case .isAnswered: #expect(waits.answer(7, with: WaitOver()) == true)
        case .refusedByFold, .refusedByScrub:
            let source = ending == .refusedByFold ? TicketWaits.Source.fold : .scrub
            waits.refuse(source, .noSpace)
            answers = [Answered(ticket: 7, error: "noSpace")]
            guard source == Self.source(cause) else {
                #expect(!waits.hasDone && !waits.isEmpty)
                return
            }
        case .cancelled:
            let isCancelled = waits.cancel(7)
            #expect(isCancelled == [.rewrapped(nil), .folded].contains(cause) && !waits.isEmpty)
            guard isCancelled else { return }
            // Asked for again, in a turn that was taken back.
            #expect(waits.cancel(7) == true)
            _ = waits.settle(10) { _ in false }
            if cause == .folded { answers[0].error = "interrupted" }
        case .abandoned:
            let isGone = waits.abandon(7)
            #expect(isGone == !Self.isWorkedFor(cause))
            guard isGone else { return }
            answers = []
        case .forgotten:
            #expect(waits.forget(7) == true)
            answers = []
        }
        #expect(waits.hasDone == !answers.isEmpty)
        #expect(Self.take(&waits) == answers)
        #expect(waits.isEmpty)
        #expect(waits.answer(7, with: WaitOver()) == false)
        #expect(waits.cancel(7) == false)
        #expect(waits.abandon(7) == false)
        #expect(waits.forget(7) == false)
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

    @Test func `a query is given back once the tables are as it must see them`() {
        var waits = TicketWaits()
        let query = ScrubDone(rev: 1)
        waits.add(1, .folded, rev: 5, query)
        waits.add(2, .folded, rev: 6)
        waits.add(3, .purged)
        #expect(waits.wantedRev == 6)
        #expect(waits.takeFolded(to: 4).isEmpty)
        let ready = waits.takeFolded(to: 5)
        #expect(ready.map(\.ticket) == [1] && ready[0].query === query && ready[0].error == nil)
        #expect(waits.wantedRev == 6 && !waits.hasDone)
        #expect(waits.takeFolded(to: 9).map(\.ticket) == [2] && waits.wantedRev == 0)
        // What it was asked with comes with its answer, whatever that is.
        waits.add(4, .scrubbed(9), query)
        waits.refuse(.scrub, .overloaded)
        #expect(waits.takeDone().first?.query === query)
    }

    @Test(arguments: causes) private func `when the daemon stops, who waits for so long at most is told how far it is`(
        cause: Cause
    ) {
        var waits = TicketWaits()
        waits.add(7, cause, until: 1000)
        waits.beginEnding()
        #expect(waits.isEnding)
        _ = waits.settle(10) { _ in false }
        let isTold = [.settled(collection: [1]), .rewrapped(nil)].contains(cause)
        #expect(Self.take(&waits) == (isTold ? [Answered(ticket: 7, error: "")] : []))
        #expect(waits.isEmpty == isTold)
    }

    @Test(arguments: causes) private func `what does not come any more is answered so, and nobody waits for it`(
        cause: Cause
    ) {
        var waits = TicketWaits()
        let query = ScrubDone(rev: 1)
        waits.add(7, cause, rev: 5, query)
        let answer = waits.giveUp(7)
        #expect(answer?.ticket == 7 && answer?.query === query && answer?.error == .cancelled)
        #expect(waits.isEmpty && waits.wantedRev == 0)
        #expect(waits.giveUp(7) == nil)
    }

    @Test func `who waits for long is told now and then`() {
        var waits = TicketWaits()
        waits.add(1, .rewrapped(nil), tellAt: 100)
        waits.add(2, .rewrapped(nil), tellAt: 200)
        waits.add(3, .rewrapped(nil))
        #expect(waits.takeUntold(at: 99) == [])
        #expect(waits.takeUntold(at: 100) == [1])
        #expect(waits.takeUntold(at: 300) == [2])
        #expect(waits.takeUntold(at: 100 + TicketWaits.telling) == [1])
        waits.forget(1)
        #expect(waits.takeUntold(at: 1 << 50) == [2])
    }

    /// As it is meant: a list of who waits for what.
    @Test(arguments: 0..<100) func `no history loses a waiter or answers one twice`(seed: UInt64) {
        var random = SplitMix(state: seed)
        var waits = TicketWaits()
        var model: [(ticket: UInt64, cause: Cause, deadline: UInt64, rev: UInt64)] = []
        var answered: Set<UInt64> = []
        var left: Set<UInt64> = []
        var time: UInt64 = 0
        for ticket: UInt64 in 0..<400 {
            let cause = Self.causes.randomElement(using: &random)!
            let deadline = Bool.random(using: &random) ? time + .random(in: 1...20, using: &random) : .max
            let rev = Bool.random(using: &random) ? ticket : 0
            waits.add(ticket, cause, until: deadline, rev: rev)
            model.append((ticket, cause, deadline, rev))
            let chosen = model.randomElement(using: &random)!
            switch Int.random(in: 0...7, using: &random) {
            case 0:
                time += .random(in: 0...5, using: &random)
                let isThere = chosen.cause
                _ = waits.settle(time) { $0 == isThere }
                model.removeAll { $0.cause == isThere || $0.deadline <= time }
            case 1:
                #expect(waits.answer(chosen.ticket, with: WaitOver()) == true)
                model.removeAll { $0.ticket == chosen.ticket }
            case 2:
                let source = Bool.random(using: &random) ? TicketWaits.Source.fold : .scrub
                waits.refuse(source, .noSpace)
                model.removeAll { Self.source($0.cause) == source }
            case 3 where waits.abandon(chosen.ticket):
                #expect(!Self.isWorkedFor(chosen.cause))
                left.insert(chosen.ticket)
                model.removeAll { $0.ticket == chosen.ticket }
            case 4:
                #expect(waits.forget(chosen.ticket) == true)
                left.insert(chosen.ticket)
                model.removeAll { $0.ticket == chosen.ticket }
            case 5 where waits.cancel(chosen.ticket):
                // It is answered with those whose time is over.
                _ = waits.settle(time) { _ in false }
                model.removeAll { $0.ticket == chosen.ticket || $0.deadline <= time }
            case 6:
                let ready = waits.takeFolded(to: chosen.rev)
                #expect(
                    ready.map(\.ticket) == model.filter { $0.cause == .folded && $0.rev <= chosen.rev }.map(\.ticket))
                left.formUnion(ready.map(\.ticket))
                model.removeAll { $0.cause == .folded && $0.rev <= chosen.rev }
            default: break
            }
            #expect(waits.wantedRev == model.map(\.rev).max() ?? 0)
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
