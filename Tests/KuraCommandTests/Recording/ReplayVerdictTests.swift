import Glibc
import Testing

@testable import KuraCommand

/// What `kura replay` says of a run as a whole, and what it ends with.
@Suite struct ReplayVerdictTests {
    private static let head = RecordedTrafficTests.head
    private static let end = RecordedTrafficTests.end
    private static let ping = """
        {"at":1,"connection":1,"role":"admin"}
        {"at":2,"connection":1,"request":{"jsonrpc":"2.0","id":1,"method":"storage.ping"}}
        {"at":3,"connection":1,"reply":1}

        """

    private func replay(_ text: String, _ options: String = "--speed max --expect same") throws -> Shell.Outcome {
        let file = try RecordedFile(text)
        return try Shell.run("kura replay \(file.path) \(options) 2>&1")
    }

    @Test func `an interrupted replay tells how far it came, and ends by the signal`() throws {
        let file = try RecordedFile(
            Self.head + Self.ping + Self.ping.split(separator: "\n")[1].replacing("\"at\":2", with: "\"at\":60000000")
                + "\n"
                + Self.end)
        let outcome = try Shell.run(
            """
            for options in "" "--expect same" "--loop 3"; do
                kura replay \(file.path) $options >told 2>&1 & replay=$!
                sleep 1; kill $replay; wait $replay; echo "ended $?"; cat told; rm told
            done
            kura replay \(file.path) --loop 0 >told 2>&1 & replay=$!
            sleep 1; kill $replay; wait $replay; echo "for ever $?"; tail -1 told; rm told
            kura replay \(file.path) --loop 0 --expect same >told 2>&1 & replay=$!
            sleep 1; kill $replay; wait $replay; echo "no run $?"; rm told
            """)
        #expect(outcome.output.ranges(of: "ended 143\n").count == 3, "\(outcome)")
        #expect(
            outcome.output.ranges(
                of: "interrupted after 1 of 2 requests; 1 of 2 requests compared, all by kind as then"
            )
            .count == 3, "\(outcome)")
        #expect(!outcome.output.contains("all were answered"), "\(outcome)")
        #expect(
            outcome.output.contains("none of 1 run differed, before it was interrupted\nfor ever 0\nnone"), "\(outcome)"
        )
        #expect(outcome.output.hasSuffix("no run 13\n"), "\(outcome)")
    }

    @Test func `a recording without requests, or that was cut off, is not the same`() throws {
        let end = Self.end.replacing("2", with: "0").replacing("1", with: "0")
        let empty = try replay(Self.head + end)
        #expect(empty.status == ExitCode.negative.rawValue, "\(empty)")
        #expect(empty.output.contains("the recording has no requests: nothing was compared\n"), "\(empty)")
        let cut = try replay(Self.head + Self.ping)
        #expect(cut.status == ExitCode.negative.rawValue, "\(cut)")
        #expect(
            cut.output.contains("the recording was cut off; 1 of 1 request compared, all by kind as then"), "\(cut)")
        let dropped = try replay(Self.head + Self.ping + "{\"at\":4,\"dropped\":7}\n" + Self.end)
        #expect(dropped.status == ExitCode.negative.rawValue, "\(dropped)")
        #expect(try replay(Self.head + Self.ping + Self.end).status == 0)
        #expect(try replay(Self.head + Self.ping, "--speed max").status == 0)
    }

    @Test func `runs have a heading, and a sum`() throws {
        let differing = Self.ping.replacing("\"reply\":1", with: "\"reply\":1,\"error\":\"conflict\"")
        let outcome = try replay(Self.head + differing + Self.end, "--speed max --loop 2")
        #expect(outcome.output.hasPrefix("run 1 of 2:\nmethod "), "\(outcome)")
        #expect(outcome.output.contains("\n\nrun 2 of 2:\n"), "\(outcome)")
        #expect(outcome.output.contains("1 request was answered otherwise:\n"), "\(outcome)")
        #expect(outcome.output.hasSuffix("2 of 2 runs differed\n"), "\(outcome)")
        #expect(try replay(Self.head + Self.ping + Self.end, "--loop 3").output.hasSuffix("none of 3 runs differed\n"))
    }

    @Test func `all differences are listed with their lines`() throws {
        let differing = Self.ping.replacing("\"reply\":1", with: "\"reply\":1,\"error\":\"conflict\"")
        let text =
            Self.head + differing + differing.split(separator: "\n").dropFirst().joined(separator: "\n") + "\n"
            + Self.end
        let one = try replay(text, "--speed max")
        #expect(
            one.output.contains(
                "2 requests were answered otherwise:\n  storage.ping: conflict, now a result: 2, such as line 3, connection 1, id 1, at 0.000 s\n"
            ), "\(one)")
        let all = try replay(text, "--speed max --differences")
        #expect(
            all.output.contains(
                "now a result: 2\n    line 3, connection 1, id 1, at 0.000 s\n    line 5, connection 1, id 1, at 0.000 s\n"
            ),
            "\(all)")
        let json = try JSON(String(try replay(text, "--speed max --differences --json").output.dropLast()))
        #expect(json["methods"]?[0]?["differences"]?[0]?["requests"]?[1]?["line"]?.int == 5, "\(json)")
        #expect(json["same"]?.bool == false && json["run"]?.int == 1 && json["compared"]?.int == 2, "\(json)")
    }
}
