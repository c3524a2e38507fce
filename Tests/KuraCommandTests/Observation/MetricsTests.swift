import Glibc
import Testing

@testable import KuraCommand

@Suite struct MetricsTests {
    private let server = FakeServer { request in
        [request.result(request.method == "storage.status" ? ObservedDaemon.status() : ObservedDaemon.stats())]
    }

    @Test func `what is printed is Prometheus' text format, and says what the daemon says`() throws {
        let outcome = CapturedConsole().run("metrics", on: server)
        #expect(outcome.status == .done && outcome.errors == "")
        let metrics = try PrometheusText(outcome.output)
        #expect(metrics.value("kura_up") == 1)
        #expect(metrics.value("kura_info", ["version": "0.1.0", "profile": "small"]) == 1)
        #expect(metrics.value("kura_uptime_seconds") == 10)
        let put = ["method": "settings.put"]
        #expect(metrics.value("kura_request_duration_seconds_count", put) == 900)
        #expect(metrics.value("kura_request_duration_seconds_sum", put) == 0.08919)
        func bucket(_ bound: String) -> Double? {
            metrics.value("kura_request_duration_seconds_bucket", put.merging(["le": bound]) { $1 })
        }
        #expect(bucket("0.000065536") == 0 && bucket("0.000131072") == 891)
        #expect(bucket("0.001048576") == 891 && bucket("0.002097152") == 900 && bucket("+Inf") == 900)
        #expect(metrics.value("kura_requests_refused_total", put) == 5)
        #expect(metrics.value("kura_errors_total", ["kind": "conflict"]) == 5)
        #expect(metrics.value("kura_sync_revisions_sum") == 900 && metrics.value("kura_commit_changes_count") == 90)
        #expect(metrics.value("kura_sync_revisions_bucket", ["le": "8"]) == 0)
        #expect(metrics.value("kura_sync_revisions_bucket", ["le": "16"]) == 90)
        #expect(metrics.value("kura_waiting", ["for": "sync"]) == 2)
        #expect(metrics.value("kura_wal_bytes") == 3_145_728 && metrics.value("kura_log_bytes") == 2_097_152)
        #expect(metrics.value("kura_document_lookups_total", ["in": "memory"]) == 80)
        #expect(metrics.value("kura_cache_lookups", ["store": "models", "result": "hit"]) == 6)
        #expect(metrics.value("kura_disk_written_bytes_total", ["files": "log"]) == 100_000)
        #expect(metrics.value("kura_connections") == 3 && metrics.value("kura_recoveries_unacknowledged") == 0)
        #expect(!outcome.output.contains("private"), "names of scopes are no labels")
    }

    @Test func `labels are escaped, and fractions exact`() throws {
        var text = MetricsText()
        let nasty = "a\\b\"c\nd}, x=\"1"
        text.family("kura_x", .gauge, "Two\nlines \\.")
        text.sample("kura_x", [("l", nasty), ("m", "")], 7)
        let metrics = try PrometheusText(text.text)
        #expect(metrics.value("kura_x", ["l": nasty, "m": ""]) == 7)
        for (value, digits, wanted) in [
            (Int64(1024), 9, "0.000001024"), (0, 6, "0"), (1_500_000, 6, "1.5"), (-25, 1, "-2.5"),
            (3_000_000_000, 9, "3"),
        ] { #expect(MetricsText.decimal(value, digits: digits) == wanted) }
    }

    @Test func `the parser of these tests finds fault`() {
        let head = "# HELP kura_x A.\n# TYPE kura_x "
        for text in [
            head + "gauge\nkura_y 1\n", head + "gauge\nkura_x{a=\"b} 1\n", head + "gauge\nkura_x 1", "kura_x 1\n",
            head + "gauge\nkura_x one\n", head + "gauge\nkura_x 1\nkura_x 2\n", head + "counter\nkura_x 1\n",
            head + "histogram\nkura_x_bucket{le=\"1\"} 2\nkura_x_bucket{le=\"+Inf\"} 1\nkura_x_sum 1\nkura_x_count 1\n",
            head + "histogram\nkura_x_bucket{le=\"1\"} 1\nkura_x_sum 1\nkura_x_count 1\n",
            head + "histogram\nkura_x_bucket{le=\"+Inf\"} 1\nkura_x_sum 1\nkura_x_count 2\n",
        ] { #expect(throws: PrometheusText.Fault.self, "\(text)") { try PrometheusText(text) } }
    }

    @Test func `a role that is not told of the daemon is told why`() {
        let server = FakeServer { request in
            [request.result(request.method == "storage.status" ? ObservedDaemon.status() : "{\"databases\":[]}")]
        }
        let outcome = CapturedConsole().run("metrics", on: server)
        #expect(outcome.status == .refused && outcome.output == "" && outcome.errors.contains("monitor"))
    }

    // MARK: Over HTTP

    private func answer(_ request: String) -> String {
        let head = Array((request + "\r\n\r\n").utf8)
        return String(decoding: MetricsServer.answer(to: head) { "page\n" }, as: UTF8.self)
    }

    @Test func `one page is served, by GET and HEAD, to who asks for this host`() {
        let host = "\r\nHost: 127.0.0.1:9464"
        let page = answer("GET /metrics HTTP/1.1" + host)
        #expect(page.hasPrefix("HTTP/1.1 200 OK\r\n") && page.hasSuffix("\r\n\r\npage\n"))
        #expect(page.contains("\r\nContent-Length: 5\r\n"))
        #expect(page.contains("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"))
        #expect(answer("GET /metrics?x=1 HTTP/1.1" + host) == page)
        #expect(answer("HEAD /metrics HTTP/1.1" + host) == String(page.dropLast(5)))
        #expect(answer("GET /metrics HTTP/1.0").hasPrefix("HTTP/1.1 200 "))
        for name in ["localhost", "LocalHost:1", "[::1]:9464", "[::1]", "127.8.0.1"] {
            #expect(answer("GET /metrics HTTP/1.1\r\nhost:  \(name) ").hasPrefix("HTTP/1.1 200 "), "\(name)")
        }
        for (request, status) in [
            ("GET /other HTTP/1.1" + host, 404), ("POST /metrics HTTP/1.1" + host, 405), ("GET /metrics HTTP/1.1", 400),
            ("GET /metrics HTTP/1.1" + host + host, 400), ("GET /metrics" + host, 400), ("nonsense", 400),
            ("GET /metrics HTTP/2.0" + host, 400), ("GET http://x/metrics HTTP/1.1" + host, 400),
            ("GET /metrics HTTP/1.1\r\nHost: evil.example:9464", 403),
            ("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1.evil", 403),
            ("GET /metrics HTTP/1.1\r\nHost: 10.0.0.1", 403), ("GET /metrics HTTP/1.1\r\nHost:", 403),
        ] {
            let answer = answer(request)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && !answer.contains("page\n"), "\(request): \(answer)")
        }
    }

    @Test(arguments: [
        "0.0.0.0:0", "192.168.1.1:0", "[::]:0", "example.org:80", "9464", "127.0.0.1", "127.0.0.1:x", "::1:70000", ":0",
    ])
    func `only loopback addresses are listened at`(address: String) {
        let outcome = CapturedConsole().run("metrics", "--listen", address, on: server)
        #expect(outcome.status == .usage, "\(address): \(outcome)")
    }

    @Test func `a scraper reads the numbers of a living daemon, and learns when there is none`() throws {
        let outcome = try Shell.run(
            """
            work=$(mktemp -d); export KURA_SOCKET=$work/s
            kurad --data-dir "$work/d" --socket "$work/s" --profile small 2>"$work/log" &
            daemon=$!
            trap 'kill -9 $daemon $exporter 2>/dev/null; wait; rm -rf "$work"' EXIT
            for _ in {1..6000}; do [[ -S $KURA_SOCKET ]] && break; sleep 0.01; done
            for n in 1 2 3; do kura settings put private-app key-$n $n -q; done
            kura settings get private-app key-1 -q
            kura metrics --listen 127.0.0.1:0 2>"$work/exporter" &
            exporter=$!
            for _ in {1..6000}; do grep -q serving "$work/exporter" && break; sleep 0.01; done
            port=$(sed -n 's/.*127.0.0.1:\\([0-9]*\\).*/\\1/p' "$work/exporter")
            ask() {
              exec 3<>/dev/tcp/127.0.0.1/$port
              printf 'GET /metrics HT' >&3; sleep 0.05
              printf 'TP/1.1\\r\\nHost: localhost:%s\\r\\n\\r\\n' "$port" >&3
              tr -d '\\r' <&3; exec 3>&-
            }
            ask; printf '\\036'; kura metrics; printf '\\036'
            kill -9 $daemon; wait $daemon 2>/dev/null
            ask
            """)
        let parts = outcome.output.split(separator: "\u{1E}").map(String.init)
        try #require(parts.count == 3, "\(outcome.output)")
        for (position, part) in [String(parts[0].drop { $0 != "#" }), parts[1]].enumerated() {
            let metrics = try PrometheusText(part)
            #expect(metrics.value("kura_request_duration_seconds_count", ["method": "settings.put"]) == 3)
            #expect(metrics.value("kura_request_duration_seconds_count", ["method": "settings.get"]) == 1)
            #expect(metrics.value("kura_sync_revisions_sum") == 3 && metrics.value("kura_revision") == 3)
            // The scrape before counts.
            #expect(
                (metrics.value("kura_request_duration_seconds_count", ["method": "storage.stats"]) ?? 0)
                    == Double(position))
            #expect(!part.contains("private"))
        }
        #expect(parts[0].hasPrefix("HTTP/1.1 200 OK\n") && parts[2].hasPrefix("HTTP/1.1 200 OK\n"))
        #expect(try PrometheusText(String(parts[2].drop { $0 != "#" })).value("kura_up") == 0)
    }
}
