import Glibc
import KuraBytes
import SQLite
import Synchronization
import Testing

/// Clients that write all kinds of things until they are told to stop, each noting what it was told.
final class BackupWriters: Sendable {
    private let isOver = Atomic<Bool>(false)
    private let model: BackupModel
    private let daemon: String
    private let failures = Guarded<[String]>([])

    init(_ socket: String, _ model: BackupModel) {
        daemon = socket
        self.model = model
    }

    func stop() { isOver.store(true, ordering: .relaxed) }
    var failed: [String] { failures.withLock { $0 } }

    /// Writes until `stop`; each writer has keys of its own, so that its replies' order is the changes'.
    func run(_ writer: Int, seed: UInt64) {
        do {
            let client = try Client(path: daemon)
            var choice = SplitMix(state: seed &+ UInt64(writer) &* 7919)
            var round = 0
            while !isOver.load(ordering: .relaxed) {
                round += 1
                try step(client, writer, round, &choice)
            }
        } catch { failures.withLock { $0.append("writer \(writer): \(error)") } }
    }

    /// Asks what has to be folded first, until `stop`.
    func query() {
        do {
            let client = try Client(path: daemon)
            while !isOver.load(ordering: .relaxed) {
                try client.result("documents.list", "{\"collection\":\"c0\",\"limit\":1}")
                usleep(20_000)
            }
        } catch { failures.withLock { $0.append("query: \(error)") } }
    }

    private func step(_ client: Client, _ writer: Int, _ round: Int, _ choice: inout SplitMix) throws {
        let number = Int.random(in: 0..<120, using: &choice)
        let text = String(repeating: "x", count: Int.random(in: 0..<900, using: &choice))
        let value = "{\"round\":\(round),\"text\":\"\(text)\"}"
        switch Int.random(in: 0..<20, using: &choice) {
        case 0..<9:
            let collection = "c\(number % 3)"
            let id = "w\(writer)-\(number)"
            let result = try client.result(
                "documents.put", "{\"collection\":\"\(collection)\",\"id\":\"\(id)\",\"value\":\(value)}")
            model.note(try #require(result["rev"]?.int), "documents/\(collection)/\(id)", value)
        case 9..<11:
            let (collection, id) = ("c\(number % 3)", "w\(writer)-\(number)")
            let result = try client.result(
                "documents.delete", "{\"collection\":\"\(collection)\",\"id\":\"\(id)\"}")
            if result["deleted"]?.bool == true {
                model.note(try #require(result["rev"]?.int), "documents/\(collection)/\(id)", nil)
            }
        case 11..<15:
            let (domain, key) = ("d\(number % 2)", "w\(writer)-\(number)")
            let result = try client.result(
                "settings.put", "{\"domain\":\"\(domain)\",\"key\":\"\(key)\",\"value\":\(round)}")
            model.note(try #require(result["rev"]?.int), "settings/\(domain)/\(key)", "\(round)")
        case 15:
            let (domain, key) = ("d\(number % 2)", "w\(writer)-\(number)")
            let result = try client.result("settings.delete", "{\"domain\":\"\(domain)\",\"key\":\"\(key)\"}")
            if result["deleted"]?.bool == true {
                model.note(try #require(result["rev"]?.int), "settings/\(domain)/\(key)", nil)
            }
        case 16, 17:
            // Both or neither.
            let (key, id) = ("w\(writer)-pair", "w\(writer)-pair")
            let result = try client.result(
                "transaction.apply",
                """
                {"operations":[{"method":"settings.put","params":{"domain":"d0","key":"\(key)","value":\(round)}},\
                {"method":"documents.put","params":{"collection":"c0","id":"\(id)","value":\(round)}}]}
                """)
            let rev = try #require(result["rev"]?.int)
            model.note(rev, "settings/d0/\(key)", "\(round)")
            model.note(rev, "documents/c0/\(id)", "\(round)")
        case 18:
            // A collection of its own, which comes and goes under the same name.
            let collection = "own\(writer)"
            for id in 0..<3 {
                let result = try client.result(
                    "documents.put", "{\"collection\":\"\(collection)\",\"id\":\"\(id)\",\"value\":\(round)}")
                model.note(try #require(result["rev"]?.int), "documents/\(collection)/\(id)", "\(round)")
            }
            guard round % 3 == 0 else { return }
            let result = try client.result("documents.drop", "{\"collection\":\"\(collection)\"}")
            if let rev = result["rev"]?.int, rev > 0 { model.note(rev, "documents/\(collection)/", nil) }
        default:
            let id = "w\(writer)-attached"
            let result = try client.result(
                "documents.put", "{\"collection\":\"c1\",\"id\":\"\(id)\",\"value\":\(round)}")
            model.note(try #require(result["rev"]?.int), "documents/c1/\(id)", "\(round)")
            let attached = try client.result(
                "documents.attach",
                "{\"collection\":\"c1\",\"id\":\"\(id)\",\"name\":\"a\",\"data\":\"\(AttachmentWorld.base64(Array("\(writer) \(round)".utf8)))\"}"
            )
            model.note(try #require(attached["rev"]?.int), "documents/c1/\(id)", "\(round)")
        }
    }
}
