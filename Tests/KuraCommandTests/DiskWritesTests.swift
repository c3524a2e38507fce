import Glibc
import Testing

@testable import KuraCommand

@Suite struct DiskWritesTests {
    private static let answer = """
        {"window":"day","by":"method","startedAt":"2026-11-21T06:00:00.000Z","seconds":7200,
        "totals":{"bytes":3145728,"log":2097152,"tables":1048576,"caches":0,"other":0,"syncs":12,"changes":100,"logicalBytes":1048576,
        "writes":40,"creates":2,"deletes":1,"metadataBytes":40960,"upkeepBytes":1024,"noOpWrites":3,"syncsSaved":88},
        "groups":[{"name":"settings.put","changes":90,"logicalBytes":524288,"bytes":2097152},
        {"name":"","changes":10,"logicalBytes":524288,"bytes":1048576}],
        "series":[{"startedAt":"2026-11-21T06:00:00.000Z","seconds":3600,"bytes":2097152,"byStore":{"settings":2097152,"upkeep":0}},
        {"startedAt":"2026-11-21T07:00:00.000Z","seconds":3600,"bytes":1048576,"byStore":{"documents":1047552,"upkeep":1024}}],
        "days":{"count":5,"p50":1048576,"p90":2097152,"trend":-1024},
        "files":[{"group":"log","kind":"wal","bytes":2097152,"writes":30,"syncs":12,"creates":2,"renames":5,"deletes":1,"metadataBytes":122880}],
        "budgets":[{"client":"mail","diskWriteBudget":1048576,"bytes":2097152,"throttle":true,"throttled":true},
        {"store":"models","diskWriteBudget":1048576,"bytes":5,"throttle":false,"throttled":false}],
        "reports":[{"id":3,"client":"mail","diskWriteBudget":1048576,"openedAt":"2026-11-20T06:00:00.000Z","lastAt":"2026-11-21T07:00:00.000Z",
        "count":2,"bytes":2097152,"share":66,"clients":[{"name":"mail/1","changes":90,"bytes":2097152}],
        "methods":[{"name":"settings.put","changes":90,"bytes":2097152}],
        "keys":[{"store":"settings","scope":"app","key":"theme","changes":88}],"batchSizes":[1,1,2]}],
        "advice":[{"kind":"scan","store":"documents","scope":"notes","count":3,"documents":30000,"what":"3 queries looked at 30000 documents of notes",
        "fix":"an index on the fields n","lastAt":"2026-11-21T07:00:00.000Z"}]}
        """
        .replacing("\n", with: "")
    private let server = FakeServer { [$0.result(answer)] }

    @Test func `a terminal shows what was written when, and a row a group`() {
        let terminal = CapturedConsole(isTerminal: true, environment: ["NO_COLOR": "1"])
        let shown = terminal.run("disk-writes", "--by", "method", "--limit", "2", on: server)
        #expect(shown.status == .done)
        let lines = shown.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        #expect(lines[0] == "written in the last day")
        #expect(shown.output.contains("3.0 MiB: log 2.0 MiB, tables 1.0 MiB"))
        #expect(shown.output.contains("100 changes of 1.0 MiB; 3.00 bytes written for each byte"))
        #expect(shown.output.contains("falling by"))
        let bars = lines.filter { $0.contains("█") }
        #expect(bars.count == 2 && bars[0].hasPrefix("06:00  █") && bars[1].hasPrefix("07:00  █"))
        let (long, short) = (bars[0].count { $0 == "█" }, bars[1].count { $0 == "█" })
        #expect(long == 2 * short || long == 2 * short + 1)
        #expect(lines.contains { $0.hasPrefix("settings.put") && $0.hasSuffix("66 %") })
        #expect(lines.contains { $0.hasPrefix("(unnamed)") && $0.hasSuffix("33 %") })
        #expect(server.requests == [#"storage.diskWrites {"by":"method","limit":2}"#])
        #expect(lines.contains { $0.hasPrefix("client mail") && $0.contains("2.0 MiB") && $0.hasSuffix("throttled") })
        #expect(lines.contains { $0.hasPrefix("store models") && $0.contains("5 B") })
        #expect(lines.contains("report 3: client mail is over budget, since 2026-11-20"))
        let words = shown.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains("2.0 MiB in a day, 1.0 MiB are allowed; 66 % of all; over it on 2 days"))
        #expect(words.contains("mail/1 (2.0 MiB, 90 changes)") && words.contains("app/theme (88 times)"))
        #expect(words.contains("changes in a request 1 1 2"))
        #expect(
            words.contains(
                "30000 documents 3 queries looked at 30000 documents of notes. Better: an index on the fields n."))
    }

    @Test func `elsewhere, and with json, it prints the answer`() {
        #expect(CapturedConsole().run("disk-writes", on: server).output == Self.answer + "\n")
        let terminal = CapturedConsole(isTerminal: true)
        #expect(terminal.run("disk-writes", "--json", on: server).output == Self.answer + "\n")
    }

    @Test func `a page has its charts and tables inside, and shows names as they are`() throws {
        let nasty = FakeServer { request in
            [request.result(Self.answer.replacing("\"settings.put\"", with: "\"<script>alert(1)</script>&\""))]
        }
        let path = "/tmp/kura-writes-\(getpid()).html"
        defer { unlink(path) }
        let written = CapturedConsole().run("disk-writes", "--window", "day", "--html", path, on: nasty)
        #expect(written.status == .done && written.output == "")
        let file = open(path, O_RDONLY | O_CLOEXEC)
        try #require(file >= 0)
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = read(file, &bytes, bytes.count)
        close(file)
        let page = String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
        #expect(page.hasPrefix("<!DOCTYPE html>") && page.hasSuffix("</html>\n"))
        #expect(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&amp;") && !page.contains("<script"))
        #expect(page.contains("<svg") && page.contains("prefers-color-scheme:dark"))
        #expect(!page.contains("http://") && !page.contains("https://"), "it needs no other file")
        #expect(page.components(of: "<rect ") == 3)
        #expect(page.contains("<h2>Report 3: client mail is over budget, since 2026-11-20</h2>"))
        #expect(page.contains("<h2>Budgets</h2>") && page.contains("<td>client mail</td><td class=\"n\">2.0 MiB</td>"))
        #expect(page.contains("<td>30000 documents</td>") && page.contains("<td>an index on the fields n</td>"))
        #expect(page.contains("<td>log wal</td><td class=\"n\">2.0 MiB</td><td class=\"n\">30</td>"))
        // Once each, though the page asks several times.
        #expect(page.components(of: "<h2>Report 3") == 1 && page.components(of: "<h2>By kind of file") == 1)
        #expect(nasty.requests.count == 4)
    }

    @Test(arguments: ["9223372036854775807", "-9223372036854775808", "9007199254740991", "null", "\"x\""])
    func `numbers that no daemon has, or that are none, end nobody who shows them`(number: String) {
        let liar = FakeServer { request in
            let by = request.params.contains("scope") ? "scope" : "method"
            let answer = Self.answer.replacing(/:-?[0-9]+([,}])/) { ":\(number)\($0.1)" }
            return [request.result(answer.replacing("\"by\":\"method\"", with: "\"by\":\"\(by)\""))]
        }
        for grouping in ["method", "scope"] {
            let terminal = CapturedConsole(isTerminal: true, environment: ["NO_COLOR": "1"])
            #expect(terminal.run("disk-writes", "--by", grouping, on: liar).status == .done)
        }
        let path = "/tmp/kura-writes-\(getpid())-liar.html"
        defer { unlink(path) }
        #expect(CapturedConsole().run("disk-writes", "--html", path, "--replace", on: liar).status == .done)
    }

    @Test func `a bar is as long as its value, to an eighth`() {
        #expect(WriteBillView.bar(8, of: 8, width: 3) == "███")
        #expect(WriteBillView.bar(4, of: 8, width: 3) == "█▌")
        #expect(WriteBillView.bar(1, of: 1_000_000, width: 3) == "▏", "what is there is seen")
        #expect(WriteBillView.bar(0, of: 8, width: 3) == "" && WriteBillView.bar(0, of: 0, width: 3) == "")
    }

    @Test func `sizes are in the largest unit that leaves one`() {
        for (bytes, text) in [
            (Int64(0), "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (-1536, "-1.5 KiB"), (1 << 20, "1.0 MiB"),
            (5 << 40, "5.0 TiB"), (Int64.max, "8388607.9 TiB"),
        ] { #expect(ByteText.size(bytes) == text) }
    }
}

extension String {
    fileprivate func components(of part: String) -> Int { ranges(of: part).count }
}
