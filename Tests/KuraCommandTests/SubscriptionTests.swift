import Glibc
import Synchronization
import Testing

@testable import KuraCommand

@Suite struct SubscriptionTests {
    private static func change(_ rev: Int) -> String {
        #"{"jsonrpc":"2.0","method":"changes.changed","params":{"subscription":1,"rev":\#(rev),"changes":[{"key":"k","rev":\#(rev)}]}}"#
    }

    @Test func `a watch whose connection is lost goes on behind what it was told`() {
        let server = FakeServer { request in
            if request.params.contains("\"afterRev\":7") {
                return [request.result(#"{"subscription":1,"rev":7,"epoch":"e"}"#), Self.change(8), ""]
            }
            if request.params.contains("\"afterRev\":8") { return [request.error("epochChanged", code: -32014)] }
            return [request.result(#"{"subscription":1,"rev":5,"epoch":"e"}"#), Self.change(6), Self.change(7), ""]
        }
        let outcome = CapturedConsole().run("watch", "--scope", "app", "--values", on: server)
        #expect(
            server.requests == [
                #"changes.watch {"scope":"app","values":true}"#,
                #"changes.watch {"scope":"app","values":true,"epoch":"e","afterRev":7}"#,
                #"changes.watch {"scope":"app","values":true,"epoch":"e","afterRev":8}"#,
            ])
        #expect(outcome.output == "{\"key\":\"k\",\"rev\":6}\n{\"key\":\"k\",\"rev\":7}\n{\"key\":\"k\",\"rev\":8}\n")
        #expect(outcome.errors.contains("the daemon is gone; waiting for it at \(server.path)"))
        #expect(outcome.errors.contains("connected again, from revision 7"))
        // What it has missed nobody knows: it ends, and says what to do.
        #expect(outcome.status == .refused && outcome.errors.contains("epochChanged"))
    }

    @Test func `a live query is told whole again`() {
        let count = Mutex(0)
        let server = FakeServer { request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            if number == 3 { return [request.error("forbidden", code: -32007)] }
            return [request.result(#"{"subscription":1,"rev":\#(number),"epoch":"e"}"#), ""]
        }
        let outcome = CapturedConsole().run("docs", "watch", "c", "--limit", "2", on: server)
        #expect(outcome.status == .refused)
        #expect(server.requests == Array(repeating: #"documents.watch {"collection":"c","limit":2}"#, count: 3))
    }

    @Test func `with a timeout the waiting ends`() {
        let path = "/tmp/kura-vanishing-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock"
        let vanishing = FakeServer { request in
            unlink(path)
            return [request.result(#"{"subscription":1,"rev":5,"epoch":"e"}"#), ""]
        }
        #expect(rename(vanishing.path, path) == 0)
        let outcome = CapturedConsole().run(["--socket", path, "watch", "--timeout", "1"])
        #expect(outcome.status == .noDaemon)
        // On a busy machine the time may be over before the first answer has come.
        #expect(["no daemon listens at \(path)", "did not answer within"].contains { outcome.errors.contains($0) })
    }
}
