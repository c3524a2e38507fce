import Glibc
import KuraProtocol
import Testing

/// Every method of secrets in every state that keys and rows can be in: it is answered, and the daemon goes on.
@Suite struct SecretsStatesScenarioTests {
    enum State: String, CaseIterable {
        /// The first start found no key where the configuration says that it is.
        case noKey
        /// The first start found a credential of 31 bytes.
        case shortKey
        case sealed
        /// slots.json was altered.
        case damagedSlots
        case noSlots
        /// The store's record was altered.
        case damagedRecord
    }

    private let daemon: TemporaryDaemon

    init() throws {
        daemon = try TemporaryDaemon(starts: false)
    }

    private func enter(_ state: State) throws {
        switch state {
        case .noKey: return try daemon.start(configuration: "{\"secrets\":{\"keyFile\":\"/nonexistent/key\"}}")
        case .shortKey:
            TemporaryDaemon.write(String(repeating: "k", count: 31), to: daemon.root + "/kura.key")
            return try daemon.start(environment: ["CREDENTIALS_DIRECTORY=\(daemon.root)"])
        default: try daemon.start()
        }
        let secret = "{\"service\":\"mail\",\"account\":\"ada\",\"secret\":\"open sesame\"}"
        try daemon.connect().result("secrets.put", secret)
        if state == .sealed {
            try daemon.connect().result("secrets.lock")
            return
        }
        #expect(daemon.terminate() == 0)
        let slots = daemon.data + "/keys/slots.json"
        switch state {
        case .damagedSlots: try TemporaryDaemon.overwrite(slots, at: 10, [UInt8(ascii: "3")])
        case .noSlots: unlink(slots)
        case .damagedRecord:
            let tables = try SecretsTables(daemon.data)
            let record = try #require(try tables.beside("."))
            var value = record.value
            value[value.count / 2] ^= 1
            try tables.write(value, to: record)
        case .noKey, .shortKey, .sealed: break
        }
        try daemon.start(more: state == .noSlots ? ["--without-secrets"] : [])
    }

    @Test(arguments: State.allCases) func `every method of secrets is answered in every state`(state: State) throws {
        try enter(state)
        let client = try daemon.connect()
        // What may lead out of the state comes last.
        let ways: Set = ["secrets.repair", "secrets.unlock", "secrets.lock"]
        let methods = Method.all.filter { $0.store == .secrets }
        for method in methods.filter({ !ways.contains($0.name) }) + methods.filter({ ways.contains($0.name) }) {
            let reply = try client.call(method.name, method.example)
            let kind = reply["error"]?["data"]?["kind"]?.text
            #expect(reply["result"] != nil || kind != nil && kind != "internalError", "\(method.name): \(reply)")
        }
        try client.result("storage.ping")
    }

    @Test func `slots that could not be made say which source has no key`() throws {
        try enter(.noKey)
        let client = try daemon.connect()
        let refusal = try client.refusal("secrets.slots")
        #expect(refusal["kind"]?.text == "sealed", "\(refusal)")
        #expect(refusal["hint"]?.text?.contains("secrets.keyFile") == true, "\(refusal)")
        #expect(try client.result("secrets.status")["state"]?.text == "unusable")
        #expect(try client.refusal("secrets.unlock")["kind"]?.text == "wrongKey")
    }
}
