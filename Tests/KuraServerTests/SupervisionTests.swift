import KuraBytes
import KuraTransport
import Testing

@testable import KuraServer

@Suite struct SupervisionTests {
    @Test func `without signals a daemon is ended by a request, once that is made`() throws {
        let request = StopRequest()
        let supervision = Supervision(.nobody, stopRequest: request)
        // There is nothing to watch.
        try supervision.watch(EventLoop(), token: 1)
        #expect(!supervision.isToStop)
        request.make()
        #expect(supervision.isToStop)
        #expect(!Supervision(.nobody).isToStop)
    }

    @Test func `nobody wants a sign of life`() {
        let supervision = Supervision(.nobody)
        supervision.ready(Clock(ManualTime()), "serving")
        #expect(supervision.timeToNext(at: 0) == nil)
    }
}
