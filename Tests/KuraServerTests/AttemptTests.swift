import Glibc
import KuraSocket
import Testing

@testable import KuraServer

/// One attempt to answer a request.
@Suite struct AttemptTests {
    @Test func `an attempt has nothing of the one before`() {
        var attempt = Attempt()
        attempt.begin(isAhead: true, replyAt: 7, takesAway: true)
        attempt.keepTurn()
        attempt.deferReply()
        #expect(attempt.isAhead && attempt.keepsTurn && attempt.isDeferred && attempt.replyStart == 7)
        #expect(attempt.takesAway)
        attempt.begin(isAhead: false, replyAt: 3, takesAway: false)
        #expect(!attempt.isAhead && !attempt.keepsTurn && !attempt.isDeferred && attempt.replyStart == 3)
        #expect(!attempt.takesAway)
    }

    @Test func `a descriptor is held until it is on its way, or the attempt is over`() {
        var attempt = Attempt()
        for end in 0...1 {
            let descriptor = PassedDescriptor(owning: open("/dev/null", O_RDONLY | O_CLOEXEC))
            attempt.pass(descriptor)
            #expect(attempt.descriptor === descriptor)
            if end == 0 {
                attempt.dropDescriptor()
            } else {
                attempt.begin(isAhead: false, replyAt: 0, takesAway: false)
            }
            #expect(attempt.descriptor == nil)
        }
    }
}
