import Testing

@testable import KuraCommand

@Suite struct TopTests {
    private func numbers(_ status: String, _ stats: String) throws -> DaemonNumbers {
        try DaemonNumbers(status: Array(status.utf8), stats: Array(stats.utf8))
    }

    private func screen(
        _ now: DaemonNumbers, _ before: DaemonNumbers?, width: Int = 80, height: Int = 24
    ) -> [String] {
        TopScreen(now: now, before: before, socket: "/run/kura/kura.sock")
            .lines(width: width, height: height, style: Style(isOn: false))
    }

    @Test func `rates and ranks are those between the two moments`() throws {
        let before = try numbers(
            ObservedDaemon.status(requests: 1000), ObservedDaemon.stats(uptime: 10_000, puts: 900, slower: 9))
        let now = try numbers(
            ObservedDaemon.status(requests: 5000),
            ObservedDaemon.stats(uptime: 12_000, puts: 2900, slower: 109, conflicts: 8, hits: 170))
        let lines = screen(now, before)
        #expect(lines[0] == "kurad 0.1.0, up 12 s, in the last 2.0 s  /run/kura/kura.sock")
        #expect(lines[1] == "requests  2,000/s, 1.5 refused/s; 3 connections, 1 subscriptions; 0 slow")
        #expect(lines[2] == "waiting   sync 2, transfers 1")
        #expect(lines[3] == "commits   100/s of 10.0 changes, 10 at p99")
        #expect(lines[4] == "syncs     100/s of 10.0 revisions; p50 81.9 µs, p99 81.9 µs")
        #expect(lines[5] == "tables    0 folds, p99 –; 0 checkpoints; WAL 3.0 MiB, overlay 2.0 KiB")
        #expect(lines[6] == "disk      195.3 KiB/s written; log 2.0 MiB, 1.0 GiB free")
        #expect(lines[7] == "caches    documents 100 %, models –, blobs – found; 1.0 MiB in memory")
        // 2,000 more, of which 100 took about a millisecond: a twentieth.
        #expect(
            lines[10].split(separator: " ") == [
                "settings.put", "1,000", "98.3", "µs", "98.3", "µs", "1.1", "ms", "1.1", "ms", "1.5",
            ])
    }

    @Test func `the first screen, and that of a daemon which has been started anew, is since its start`() throws {
        let first = try numbers(ObservedDaemon.status(), ObservedDaemon.stats())
        let lines = screen(first, nil)
        #expect(lines[0].contains("since its start") && lines[1].hasPrefix("requests  100/s"))
        let anew = try numbers(
            ObservedDaemon.status(startedAt: "2026-11-22T09:00:00.000Z", requests: 10),
            ObservedDaemon.stats(uptime: 1000, puts: 10, slower: 0))
        #expect(screen(anew, first)[0].contains("since its start"))
        #expect(screen(anew, first)[1].hasPrefix("requests  10/s"))
    }

    @Test(arguments: [20, 40, 80, 200]) func `no line is wider than the terminal, and there are no more than it has`(
        width: Int
    ) throws {
        let now = try numbers(ObservedDaemon.status(), ObservedDaemon.stats())
        for height in [1, 9, 10, 11, 24] {
            let lines = screen(now, nil, width: width, height: height)
            #expect(
                lines.count <= height && lines.allSatisfy { Visible.width($0) <= width },
                "\(width) x \(height): \(lines)")
        }
    }

    @Test func `where there is no terminal one screen is printed`() {
        let server = FakeServer { request in
            [request.result(request.method == "storage.status" ? ObservedDaemon.status() : ObservedDaemon.stats())]
        }
        let outcome = CapturedConsole().run("top", on: server)
        #expect(outcome.status == .done && outcome.output.hasPrefix("kurad 0.1.0, up 10 s, since its start"))
        #expect(outcome.output.contains("settings.put") && !outcome.output.contains("\u{1B}"))
        #expect(server.requests == ["storage.status", "storage.stats {\"histograms\":true}"])
    }

    @Test(arguments: ["9223372036854775807", "-9223372036854775808", "9007199254740991", "-9007199254740991", "1e18"])
    func `numbers that no daemon has end nobody who shows or judges them`(number: String) throws {
        func spoilt(_ text: String) -> String { text.replacing(/":[0-9]+/, with: "\":\(number)") }
        let many = (0..<2000).map { "\"kind\($0)\":\(number)" }.joined(separator: ",")
        let (status, stats) = (spoilt(ObservedDaemon.status()), spoilt(ObservedDaemon.stats()))
        let crowded = stats.replacing("\"refusals\":{", with: "\"refusals\":{\(many),")
        let now = try numbers(status, crowded)
        let before = try numbers(ObservedDaemon.status(), ObservedDaemon.stats())
        let moments: [(DaemonNumbers, DaemonNumbers?)] = [(now, nil), (now, before), (before, now), (now, now)]
        for (now, before) in moments { #expect(screen(now, before).first?.hasPrefix("kurad 0.1.0") == true) }
        #expect(now.metrics.contains("kura_up 1"))
        _ = DaemonExamination.judge(now.status, now.stats, isDirectoryKnown: false, now: 1_795_000_000)
    }

    @Test func `times and rates have the unit that suits them`() {
        for (value, text) in [
            (Int64(0), "0 ns"), (850, "850 ns"), (999, "999 ns"), (1000, "1.0 µs"), (98_304, "98.3 µs"),
            (123_456, "123 µs"),
            (999_600, "1.0 ms"), (12_345_678, "12.3 ms"), (1_500_000_000, "1.5 s"),
        ] { #expect(TopScreen.time(value) == text) }
        for (count, text) in [(Int64(0), "0"), (1, "0.5"), (19, "9.5"), (20, "10"), (24_690, "12,345")] {
            #expect(TopScreen.rate(count, 2) == text)
        }
    }
}
