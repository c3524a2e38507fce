import Testing

@testable import KuraServer

@Suite struct UnsentRepliesTests {
    private func taken(_ unsent: inout UnsentReplies, upTo position: UInt64) -> [String] {
        var taken: [String] = []
        unsent.take(upTo: position) { taken.append("\($0.count)x\($0.method)@\($0.since)") }
        return taken
    }

    @Test func `a reply is measured when its last byte has left, each once`() {
        var unsent = UnsentReplies()
        #expect(!unsent.hasAny(upTo: .max))
        unsent.note(1, since: 5, end: 10, [])
        unsent.note(1, since: 5, end: 20, [])
        unsent.note(2, since: 5, end: 30, [])
        unsent.note(2, since: 6, end: 40, [])
        #expect(!unsent.hasAny(upTo: 19) && taken(&unsent, upTo: 19).isEmpty)
        #expect(unsent.hasAny(upTo: 20) && taken(&unsent, upTo: 35) == ["2x1@5", "1x2@5"])
        #expect(taken(&unsent, upTo: 35).isEmpty)
        #expect(taken(&unsent, upTo: 40) == ["1x2@6"] && !unsent.hasAny(upTo: .max))
    }

    @Test func `what a turn that is taken back has answered is not measured, what came before is`() {
        var unsent = UnsentReplies()
        unsent.note(1, since: 5, end: 10, [])
        unsent.seal()
        unsent.note(1, since: 5, end: 20, [])
        unsent.note(2, since: 5, end: 30, [])
        unsent.cut(to: 10)
        unsent.note(1, since: 5, end: 25, [])
        #expect(taken(&unsent, upTo: .max) == ["1x1@5", "1x1@5"])
    }

    @Test func `requests that have waited for different things are told apart`() {
        var unsent = UnsentReplies()
        unsent.note(1, since: 5, end: 10, [])
        unsent.note(1, since: 5, end: 20, .query)
        unsent.note(1, since: 5, end: 30, .query)
        #expect(taken(&unsent, upTo: .max) == ["1x1@5", "2x1@5"])
    }
}

@Suite struct ArrivalsTests {
    @Test func `a line counts from when its last byte was read`() {
        var arrivals = Arrivals()
        // A line in three pieces: nothing whole waits.
        arrivals.note(at: 10, behind: 0, consumed: 0, isWaiting: false)
        arrivals.note(at: 20, behind: 50, consumed: 0, isWaiting: false)
        #expect(arrivals.time(ofLineTo: 70) == 20)
        arrivals.note(at: 30, behind: 80, consumed: 0, isWaiting: false)
        #expect(arrivals.time(ofLineTo: 100) == 30)
    }

    @Test func `lines that wait keep their time while others come`() {
        var arrivals = Arrivals()
        arrivals.note(at: 10, behind: 0, consumed: 0, isWaiting: false)
        arrivals.note(at: 20, behind: 100, consumed: 40, isWaiting: true)
        arrivals.note(at: 30, behind: 200, consumed: 40, isWaiting: true)
        #expect(arrivals.time(ofLineTo: 100) == 10)
        #expect(arrivals.time(ofLineTo: 101) == 20)
        // Too early, never too late.
        #expect(arrivals.time(ofLineTo: 300) == 20)
        arrivals.removed(40)
        #expect(arrivals.time(ofLineTo: 60) == 10 && arrivals.time(ofLineTo: 61) == 20)
        // The first ones are done with: there is room for another time.
        arrivals.note(at: 40, behind: 260, consumed: 80, isWaiting: true)
        #expect(arrivals.time(ofLineTo: 260) == 20 && arrivals.time(ofLineTo: 261) == 40)
        arrivals.note(at: 50, behind: 300, consumed: 300, isWaiting: false)
        #expect(arrivals.time(ofLineTo: 400) == 50)
    }
}
