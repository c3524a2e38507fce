import Testing

@testable import KuraCommand

/// Requests of several connections that were under way at once.
@Suite struct ReplayOrderTests {
    /// Eight connections write one document, all from the same revision: the first one that the daemon reads wins.
    private static let race: String = {
        var lines = (1...8).map { "{\"at\":1,\"connection\":\($0),\"role\":\"admin\"}" }
        var rev = 0
        for round in 1...60 {
            // Another one wins each time.
            let order = (0..<8).map { ($0 + round * 3) % 8 + 1 }
            lines += order.map {
                #"{"at":\#(round * 10),"connection":\#($0),"request":{"jsonrpc":"2.0","id":\#(round),"method":"documents.put","params":{"collection":"c","id":"x","value":\#($0),"ifRev":\#(rev)}}}"#
            }
            lines += order.enumerated().map { place, connection in
                "{\"at\":\(round * 10 + 5),\"connection\":\(connection),\"reply\":\(round),"
                    + (place == 0
                        ? "\"minted\":{\"id\":\"x\",\"rev\":\(round)}}"
                        : "\"error\":\"conflict\",\"minted\":{\"currentRev\":\(round)}}")
            }
            rev = round
        }
        return lines.joined(separator: "\n") + "\n"
    }()

    @Test func `the daemon begins requests of several connections in the recorded order`() throws {
        let file = try RecordedFile(RecordedTrafficTests.head + Self.race + RecordedTrafficTests.end)
        for speed in ["max", "1000"] {
            let outcome = try Shell.run("kura replay \(file.path) --speed \(speed) --expect same")
            #expect(outcome.status == 0, "\(outcome)")
        }
    }

    @Test func `a connection's end has been seen before the next request of another one`() throws {
        // The right to fetch goes with the connection that has it.
        let lines = (1...100).flatMap { number in
            [
                "{\"at\":1,\"connection\":\(number),\"role\":\"admin\"}",
                #"{"at":1,"connection":\#(number),"request":{"jsonrpc":"2.0","id":1,"method":"models.get","params":{"namespace":"n","key":"k","claim":true}}}"#,
                #"{"at":1,"connection":\#(number),"reply":1,"outline":{"state":"miss","token":1}}"#,
                "{\"at\":1,\"connection\":\(number),\"closed\":true}",
            ]
        }
        let file = try RecordedFile(
            RecordedTrafficTests.head + lines.joined(separator: "\n") + "\n" + RecordedTrafficTests.end)
        let outcome = try Shell.run("kura replay \(file.path) --speed max --expect same")
        #expect(outcome.status == 0, "\(outcome)")
    }
}
