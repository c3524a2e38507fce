import Glibc
import KuraClient
import Testing

@testable import KuraTesting

/// What operations of clients have written to the disk, against what is committed in Tests/Baselines: measured as applications would in their own tests.
@Suite struct DiskWriteBaselineTests {
    private let daemon: TemporaryDaemon
    private let meter: DiskWriteMeter
    private let baseline = DiskWriteBaseline(
        file: String(#filePath.prefix(#filePath.count - "KuraServerTests/DiskWriteMeterTests.swift".utf8.count))
            + "Baselines/disk-writes.json")

    init() throws {
        daemon = try TemporaryDaemon(profile: "default")
        meter = try DiskWriteMeter(socket: daemon.socket)
        // What the first of all writes makes is not what is measured: files, schemas, the first segment.
        let client = try daemon.connect()
        _ = try meter.measure {
            try client.result("settings.put", "{\"domain\":\"warm\",\"key\":\"k\",\"value\":1}")
            try client.result("models.put", "{\"namespace\":\"warm\",\"key\":\"k\",\"value\":1}")
        }
    }

    private func put(_ number: Int) -> String {
        "\"domain\":\"app\",\"key\":\"key \(number)\",\"value\":\"value \(number) \(String(repeating: "v", count: 80))\""
    }

    @Test func `a thousand settings in one apply`() throws {
        let client = try daemon.connect()
        let list = (0..<1000).map { "{\"method\":\"settings.put\",\"params\":{\(put($0))}}" }.joined(separator: ",")
        let written = try meter.measure { try client.result("transaction.apply", "{\"operations\":[\(list)]}") }
        try baseline.check("1,000 settings in one apply", written)
    }

    @Test func `a thousand settings one by one, from 64 connections`() throws {
        let clients = try (0..<64).map { _ in try daemon.connect() }
        let written = try meter.measure { () throws in
            for round in stride(from: 0, to: 1000, by: 64) {
                // All have sent before the daemon reads: who shares a commit with whom is not left to chance.
                kill(daemon.pid, SIGSTOP)
                let numbers = round..<min(1000, round + 64)
                for number in numbers {
                    clients[number - round].send(Client.request("settings.put", "{\(put(number))}", id: "\(number)"))
                }
                kill(daemon.pid, SIGCONT)
                for number in numbers { #expect(try clients[number - round].reply()["id"]?.int == number) }
            }
        }
        // On a slow machine they are folded in several slices; commits of their own would take twenty times as much.
        try baseline.check("1,000 settings one by one from 64 connections", written, tolerance: 2)
    }

    @Test func `ten thousand entries of the model cache`() throws {
        let client = try daemon.connect()
        let written = try meter.measure { () throws in
            for part in 0..<100 {
                let batch = (0..<100).map { number in
                    let key = part * 100 + number
                    return
                        "{\"jsonrpc\":\"2.0\",\"id\":\(key),\"method\":\"models.put\",\"params\":{\"namespace\":\"feed\","
                        + "\"key\":\"entry \(key)\",\"value\":\"\(String(repeating: "v", count: 80))\"}}"
                }
                client.send("[\(batch.joined(separator: ","))]\n")
                #expect(try client.reply().elements.count == 100)
            }
        }
        // They are written behind, as many at once as a tenth of a second brings: on a slow machine fewer.
        try baseline.check("10,000 entries of the model cache", written, tolerance: 2)
    }

    @Test func `what an operation waits for is measured as well`() async throws {
        let client = try daemon.connect()
        let written = try await meter.measure {
            await Task.yield()
            try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        }
        #expect(written.log >= 4096 && written.tables > 0 && written.caches == 0 && written.syncs > 0, "\(written)")
        #expect(try meter.measure {} == DiskWrites())
        #expect(throws: DiskWriteFault.self) { try written.require(atMost: written.bytes - 1) }
        try written.require(atMost: written.bytes)
    }
}

@Suite struct DiskWriteBaselineFileTests {
    private let path = "/tmp/kura-baseline-\(UInt64.random(in: 0 ... .max)).json"

    private func baseline(isRecording: Bool = false) -> DiskWriteBaseline {
        DiskWriteBaseline(file: path, tolerance: 0.1, isRecording: isRecording)
    }

    private func text() -> String { String(decoding: TemporaryDaemon.contents(path) ?? [], as: UTF8.self) }

    @Test func `a baseline is recorded, holds within its tolerance, and fails beyond it with the figures`() throws {
        defer { unlink(path) }
        let measured = DiskWrites(log: 700, tables: 200, caches: 100, syncs: 3)
        let missing = #expect(throws: DiskWriteFault.self) { try baseline().check("save \"all\"", measured) }
        #expect(missing?.description.contains("KURA_RECORD_DISK_WRITES=1") == true)
        try baseline(isRecording: true).check("save \"all\"", measured)
        try baseline(isRecording: true).check("load", DiskWrites(), tolerance: 0.25)
        #expect(
            text() == """
                {
                  "load": {"bytes": 0, "log": 0, "tables": 0, "caches": 0, "tolerance": 0.25},
                  "save \\"all\\"": {"bytes": 1000, "log": 700, "tables": 200, "caches": 100, "tolerance": 0.1}
                }

                """)
        #expect(try baseline().check("save \"all\"", DiskWrites(log: 1100)) == -10)
        #expect(try baseline().check("save \"all\"", DiskWrites(log: 250)) == 75)
        let fault = #expect(throws: DiskWriteFault.self) {
            try baseline().check("save \"all\"", DiskWrites(log: 1000, tables: 101))
        }
        let description = fault?.description ?? ""
        #expect(description.contains("10 % more than its baseline, 10 % are allowed"))
        #expect(description.contains("measured 1101 bytes (log 1000, tables 101, caches 0)"))
        #expect(description.contains("baseline 1000 bytes (log 700, tables 200, caches 100)"))
        // Of nothing every byte is too much.
        #expect(throws: DiskWriteFault.self) { try baseline().check("load", DiskWrites(caches: 1)) }
        // Recording one leaves the others.
        try baseline(isRecording: true).check("load", DiskWrites(log: 5))
        #expect(try baseline().check("save \"all\"", measured) == 0)
    }

    @Test func `a file that is no baseline is refused, and stays as it is`() {
        defer { unlink(path) }
        for wrong in ["[]", "{\"a\":1}", "{\"a\":{\"bytes\":1}}", "{"] {
            TemporaryDaemon.write(wrong, to: path)
            #expect(throws: DiskWriteFault.self) { try baseline().check("a", DiskWrites()) }
            #expect(throws: DiskWriteFault.self) { try baseline(isRecording: true).check("a", DiskWrites()) }
            #expect(text() == wrong)
        }
    }

    @Test func `a daemon that is not there, and one that does not tell, are faults`() throws {
        #expect(throws: ClientError.self) { try DiskWriteMeter(socket: path) }
        let reader = "\"readers\":{\"grants\":[{\"store\":\"storage\",\"scope\":\"*\",\"allow\":[\"read\"]}]}"
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.start(
            configuration: "{\"sockets\":[{\"path\":\"\(daemon.socket)\",\"role\":\"readers\"}],\"roles\":{\(reader)}}")
        let meter = try DiskWriteMeter(socket: daemon.socket)
        let fault = #expect(throws: DiskWriteFault.self) { try meter.measure {} }
        #expect(fault?.description.contains("admin") == true)
    }
}
