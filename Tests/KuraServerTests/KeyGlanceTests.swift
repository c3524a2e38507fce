import KuraBytes
import KuraProtocol
import KuraTransport
import Testing

@testable import KuraServer
@testable import KuraStorage

/// Which keys the lines to come are about: a guess that must never do harm, and that must be right for what clients send.
@Suite struct KeyGlanceTests {
    /// Looks at a text as a connection's input; how many keys were found, and where it ended.
    private func look(at text: [UInt8], rounds: Int = 1) throws -> (keys: Int, end: Int) {
        // For its directory.
        let place = try TemporaryDaemon(starts: false)
        let loop = try EventLoop()
        loop.adoptThread()
        let storage = try Storage(
            StorageConfiguration(dataDirectory: place.root + "/data", profile: .small), executor: loop, wake: {}
        ) { _ in }
        return storage.assumeIsolated { storage in
            storage.beginTurn()
            for at in 0..<5000 {
                _ = Array("\(at)".utf8).withBytes {
                    try? storage.settings.put(Bytes("d"), $0, Bytes("1"), ifRev: nil, by: .daemon)
                }
            }
            _ = storage.commitTurn()
            let (glance, reader) = (KeyGlance(.standard), RequestReader())
            var (keys, end) = (0, 0)
            text.withBytes { bytes in
                for _ in 0..<rounds {
                    guard glance.begin(storage) else { return }
                    end = glance.look(at: bytes, from: end, reader, storage)
                    keys += glance.count
                    glance.fetch(storage)
                }
            }
            _ = storage.close()
            return (keys, end)
        }
    }

    private func request(_ method: String, _ params: String, id: String = "1") -> String {
        #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":{\#(params)}}"# + "\n"
    }

    @Test func `lines that are alike behind their ids lead to their keys`() throws {
        var text = ""
        for at in 0..<20 {
            text += request(
                "settings.get", "\"domain\":\"d\",\"key\":\"key\(at)\"", id: at < 10 ? "\(at)" : "\"x\(at)\"")
        }
        let (keys, end) = try look(at: Array(text.utf8), rounds: 2)
        #expect(keys == 20 && end == text.utf8.count)
    }

    @Test func `writes are looked at as well, what has no key is passed over, and a line that is not whole ends it`()
        throws
    {
        var text = ""
        for at in 0..<4 {
            text += request("settings.put", "\"domain\":\"d\",\"key\":\"k\(at)\",\"value\":{\"a\":[1,2,3]}")
            text += request("settings.get", "\"domain\":\"d\",\"key\":\"k\(at)\"")
            text +=
                #"{"jsonrpc":"2.0","id":1,"method":"storage.ping","params":{}}"# + String(repeating: " ", count: 20)
                + "\n"
        }
        let rest = #"{"jsonrpc":"2.0","id":1,"method":"settings.get","params":{"domain":"d","key":"half"#
        // One shape is learned a group.
        let (keys, end) = try look(at: Array((text + text + rest).utf8), rounds: 4)
        #expect(keys >= 8 && end == (text + text).utf8.count)
    }

    @Test func `whatever the bytes are, it stays within them`() throws {
        var random = SplitMix(state: 7)
        let lines = [
            request("settings.get", "\"domain\":\"d\",\"key\":\"k\""), request("storage.ping", ""), "\n\n{}\n",
            request("settings.get", "\"domain\":\"nobody\",\"key\":\"k\""), request("no.such", "\"a\":1"),
            request("models.get", "\"namespace\":\"n\",\"key\":\"k\""), String(repeating: "x", count: 200) + "\n",
            #"{"jsonrpc":"2.0","id":"a,b","method":"settings.get","params":{"domain":"d","key":"k"}}"# + "\n",
        ]
        for _ in 0..<20 {
            var text = Array((0..<40).map { _ in lines.randomElement(using: &random)! }.joined().utf8)
            for _ in 0..<20 {
                text[Int.random(in: 0..<text.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            text.removeLast(Int.random(in: 0..<100, using: &random))
            let (keys, end) = try look(at: text, rounds: 6)
            #expect(keys <= 6 * KeyGlance.group && end <= text.count)
        }
    }

    @Test func `a daemon that looks ahead answers as one that does not`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        for page in 0..<5 {
            let entries = (0..<1000).map { "\"key\(page * 1000 + $0)\":\($0)" }.joined(separator: ",")
            try client.result("settings.putMany", "{\"domain\":\"d\",\"values\":{\(entries)}}")
        }
        var model: [String: Int] = [:]
        for at in 0..<5000 { model["key\(at)"] = at % 1000 }
        var random = SplitMix(state: 11)
        for _ in 0..<10 {
            var (text, expected) = ("", [Int?]())
            for at in 0..<200 {
                let key = "key\(Int.random(in: 0..<5200, using: &random))"
                switch Int.random(in: 0..<8, using: &random) {
                case 0:
                    text += request("settings.put", "\"domain\":\"d\",\"key\":\"\(key)\",\"value\":\(at)", id: "\(at)")
                    model[key] = at
                case 1:
                    text += request("settings.delete", "\"domain\":\"d\",\"key\":\"\(key)\"", id: "\(at)")
                    model[key] = nil
                case 2: text += request("storage.ping", "", id: "\(at)")
                default:
                    text += request("settings.get", "\"domain\":\"d\",\"key\":\"\(key)\"", id: "\(at)")
                    expected.append(model[key])
                    continue
                }
                expected.append(-1)
            }
            client.send(text)
            for (at, value) in expected.enumerated() {
                let reply = try client.reply()
                #expect(reply["id"]?.int == at)
                if value != -1 { #expect(reply["result"]?["value"]?.int == value) }
            }
        }
    }
}
