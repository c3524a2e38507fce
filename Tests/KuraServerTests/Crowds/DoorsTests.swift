import KuraBytes
import KuraSocket
import KuraTransport
import Testing

@testable import KuraServer

@Suite struct DoorsTests {
    private let time = ManualTime()
    private var clock: Clock { Clock(time) }

    /// Sockets that listen, and are gone with the test.
    private final class Place {
        let root: String
        let sockets: [DaemonSocket]
        let loop: EventLoop

        init(_ count: Int) throws {
            let root = try TemporaryDirectory.make("kura-doors", in: "/tmp")
            self.root = root
            sockets = try (0..<count).map { index in
                let rule = AccessRules.single("\(root)/\(index)").sockets[0]
                return DaemonSocket(try Listener.bind(path: rule.path), rule)
            }
            loop = try EventLoop()
            loop.adoptThread()
        }

        deinit {
            for socket in sockets { socket.close() }
            TemporaryDaemon.remove(root)
        }

        /// The sockets at which clients wait whom the loop sees.
        func seen() -> Int {
            var count = 0
            loop.wait(timeout: 0) { event in if event.token == Server.socketsToken { count += 1 } }
            return count
        }
    }

    @Test func `each socket comes first in its turn`() throws {
        let place = try Place(3)
        let doors = Doors(place.sockets)
        let orders = (0..<4).map { turn in
            doors.inOrder(turn: turn).map { socket in place.sockets.firstIndex { $0 === socket }! }
        }
        #expect(orders == [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]])
    }

    @Test func `while there is no room nobody is looked at, until the pause is over or somebody has gone`() throws {
        let place = try Place(1)
        var doors = Doors(place.sockets)
        try doors.watch(place.loop)
        let client = try Socket.connect(to: place.sockets[0].rule.path)
        #expect(place.seen() == 1)
        doors.pause(place.loop, clock)
        #expect(place.seen() == 0)
        var next = doors.next(at: time.monotonic)
        #expect(next == time.monotonic + Doors.pause)
        time.advance(by: Doors.pause - 1)
        // Once more changes nothing.
        doors.pause(place.loop, clock)
        doors.resumeIfDue(place.loop, clock)
        #expect(place.seen() == 0)
        time.advance(by: 1)
        doors.resumeIfDue(place.loop, clock)
        #expect(place.seen() == 1)
        next = doors.next(at: time.monotonic)
        #expect(next == .max)
        doors.pause(place.loop, clock)
        doors.hurry()
        next = doors.next(at: time.monotonic)
        #expect(next == 0)
        doors.resumeIfDue(place.loop, clock)
        #expect(place.seen() == 1)
        // With no pause there is nothing to end.
        doors.hurry()
        next = doors.next(at: time.monotonic)
        #expect(next == .max)
        _ = client.send(Bytes())
    }

    @Test func `at the end nobody else comes in`() throws {
        let place = try Place(2)
        var doors = Doors(place.sockets)
        try doors.watch(place.loop)
        let client = try Socket.connect(to: place.sockets[1].rule.path)
        let count = doors.takeAll(place.loop).count
        #expect(count == 2 && place.seen() == 0)
        let isEmpty = doors.sockets.isEmpty
        #expect(isEmpty)
        doors.pause(place.loop, clock)
        let next = doors.next(at: time.monotonic)
        #expect(next == .max)
        _ = client.send(Bytes())
    }

    @Test func `without a descriptor a client is told, and the spare one is there for that once`() throws {
        let place = try Place(1)
        var doors = Doors(place.sockets)
        // Whether it is told at once is up to what the process closes just then.
        let exhausted = doors.exhausted(place.loop, clock)
        #expect(exhausted != .again, "nobody lingers")
        time.advance(by: Doors.patience)
        let later = doors.exhausted(place.loop, clock)
        #expect(later == .refuse)
        doors.hasTakenIn()
        var lent = [doors.lendSpare()]
        doors.returnSpare()
        lent.append(doors.lendSpare())
        #expect(lent == [true, true])
        doors.returnSpare()
    }
}
