import KuraClient
import Synchronization
import Testing

/// What a client does where a connection begins and ends.
@Suite struct LinkTests {
    private static func reply(_ line: String, _ result: String) -> String {
        #"{"jsonrpc":"2.0","id":\#(FakeDaemon.Connection.id(of: line)),"result":\#(result)}"#
    }

    private static func error(_ line: String, _ kind: String) -> String {
        #"{"jsonrpc":"2.0","id":\#(FakeDaemon.Connection.id(of: line)),"error":{"code":-32000,"message":"no","data":{"kind":"\#(kind)"}}}"#
    }

    private static let patient = ConnectOptions(timeout: .seconds(120), patience: .seconds(120))

    @Test func `a stream that ends after a reconnect takes no other's number along`() async throws {
        let fake = try FakeDaemon { number, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                if line.contains("changes.watch") {
                    let isFirst = line.contains(#""scope":"first""#)
                    // Over the second connection the other stream has the first one's number, which has no answer yet.
                    guard number == 1 || !isFirst else { continue }
                    let own = number == 1 && !isFirst ? 2 : 1
                    connection.send(Self.reply(line, #"{"subscription":\#(own),"rev":5,"epoch":"e"}"#))
                } else if line.contains("settings.get") {
                    guard number > 1 else { return }
                    if line.contains(#""tell""#) {
                        connection.send(
                            #"{"jsonrpc":"2.0","method":"changes.changed","params":{"subscription":1,"rev":6,"changes":[{"store":"settings","scope":"second","key":"k","rev":6}]}}"#
                        )
                    }
                    connection.send(Self.reply(line, #"{"rev":0}"#))
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        var first: ChangeStream? = kura.changes(.settings("first"))
        let second = kura.changes(.settings("second"))
        // Over two connections, the second of which both streams have begun on when this is answered.
        _ = try await kura.settings["app"].get("a", as: Int.self)
        withExtendedLifetime(first) {}
        first = nil
        _ = try await kura.settings["app"].get("tell", as: Int.self)
        await kura.close()
        var told: [String] = []
        for try await event in second {
            if case .changes(let changes, _) = event { told += changes.map { $0.scope ?? "" } }
        }
        #expect(told == ["second"])
        #expect(!fake.lines.withLock { $0 }.contains { $0.line.contains("unwatch") })
    }

    @Test func `what was not read of another history is not taken for this one`() async throws {
        let fake = try FakeDaemon { number, connection in
            guard connection.hello() else { return }
            var isFlooded = false
            while let line = connection.line() {
                if line.contains("unwatch") { continue }
                if number == 1 {
                    guard line.contains("changes.watch") else { return }
                    connection.send(Self.reply(line, #"{"subscription":1,"rev":500,"epoch":"one"}"#))
                } else if line.contains("settings.get") {
                    // More than is kept for somebody who does not read.
                    let much = String(repeating: "x", count: 1 << 20)
                    for rev in 511..<521 {
                        connection.send(
                            #"{"jsonrpc":"2.0","method":"changes.changed","params":{"subscription":1,"rev":\#(rev),"changes":[],"x":"\#(much)"}}"#
                        )
                    }
                    isFlooded = true
                    connection.send(Self.reply(line, #"{"rev":0}"#))
                } else if line.contains(#""epoch":"one""#) {
                    connection.send(Self.error(line, "epochChanged"))
                } else {
                    connection.send(Self.reply(line, #"{"subscription":1,"rev":510,"epoch":"two"}"#))
                    if isFlooded {
                        connection.send(
                            #"{"jsonrpc":"2.0","method":"changes.changed","params":{"subscription":1,"rev":521,"changes":[]}}"#
                        )
                    }
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        let events = kura.changes().makeAsyncIterator()
        guard case .progress(rev: 500)? = try await events.next() else { return #expect(Bool(false)) }
        _ = try await kura.settings["app"].get("a", as: Int.self)
        let next = try await events.next()
        guard case .resync(let resync)? = next else {
            Issue.record("\(String(describing: next))")
            return
        }
        #expect(resync == Resync(reason: .epochChanged, rev: 510, epoch: "two"))
        await kura.close()
    }
}
