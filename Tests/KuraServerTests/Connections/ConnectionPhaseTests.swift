import Testing

@testable import KuraServer

@Suite struct ConnectionPhaseTests {
    /// What may happen to a connection.
    private enum Event: CaseIterable {
        case receive, endInput, stopReading, leave, unwatch, close

        func happen(to phase: inout ConnectionPhase) {
            switch self {
            case .receive: phase.receive()
            case .endInput: phase.endInput()
            case .stopReading: phase.stopReading()
            case .leave: phase.leave()
            case .unwatch: phase.unwatch()
            case .close: _ = phase.close()
            }
        }
    }

    /// What is known of a connection, one fact at a time: the phase stands for all of them together.
    private struct Facts {
        var hasSpoken = false
        var isHalfClosed = false
        var isStopped = false
        var isGone = false
        var isUnwatched = false
        var isClosed = false

        mutating func note(_ event: Event) {
            switch event {
            case .receive: hasSpoken = true
            case .endInput: isHalfClosed = true
            case .stopReading: isStopped = true
            case .leave: isGone = true
            case .unwatch: (isGone, isUnwatched) = (true, true)
            case .close: isClosed = true
            }
        }
    }

    @Test func `it says what has happened, in whatever order it did`() {
        func walk(_ phase: ConnectionPhase, _ facts: Facts, _ left: Int) {
            #expect(phase.isClosed == facts.isClosed)
            #expect(phase.hasEnded == (facts.isHalfClosed || facts.isStopped || facts.isClosed))
            if !facts.isClosed {
                #expect(phase.isGone == facts.isGone)
                #expect(phase.isUnwatched == facts.isUnwatched)
                #expect(phase.isUnread == (facts.isUnwatched && !phase.hasEnded))
                if !facts.isGone {
                    #expect((phase == .halfClosed) == facts.isHalfClosed)
                    #expect((phase == .new) == (!facts.hasSpoken && !phase.hasEnded))
                }
            }
            guard left > 0 else { return }
            for event in Event.allCases {
                var (next, known) = (phase, facts)
                event.happen(to: &next)
                known.note(event)
                walk(next, known, left - 1)
            }
        }
        walk(.new, Facts(), 5)
    }

    @Test func `epoll is told once that a connection is closed, and not of one that it is silent about`() {
        var open = ConnectionPhase.open
        let closes = [open.close(), open.close()]
        #expect(closes == [true, false])
        var gone = ConnectionPhase.open
        gone.leave()
        var silent = gone
        silent.unwatch()
        let ends = [gone.close(), silent.close()]
        #expect(ends == [true, false])
    }

    @Test func `what comes too late is refused so often, and only while its sender is there`() {
        func refusals(_ events: Event...) -> Int {
            var phase = ConnectionPhase.open
            for event in events { event.happen(to: &phase) }
            var count = 0
            while count < 10, phase.mayRefuse(atMost: 2) { count += 1 }
            return count
        }
        #expect(refusals() == 0)
        #expect(refusals(.stopReading) == 2)
        #expect(refusals(.stopReading, .leave) == 0)
        #expect(refusals(.endInput, .stopReading) == 0)
        #expect(refusals(.stopReading, .close) == 0)
    }
}
