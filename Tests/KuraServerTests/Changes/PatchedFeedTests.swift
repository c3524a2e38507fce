import KuraTestSupport
import Testing

/// Documents whose changes are patches in the log: the feed and the next start have them whole.
@Suite struct PatchedFeedTests {
    private let daemon: TemporaryDaemon

    /// Segments of 1 MiB, all of which stay.
    private let configuration = "{\"profile\":\"small\",\"changes\":{\"retainBytes\":1000000000}}"

    init() throws {
        daemon = try TemporaryDaemon(configuration: configuration)
    }

    private struct Version: Hashable {
        var id: String
        var rev: Int
    }

    /// Changes of a few large documents, over several segments.
    /// - Returns: the values of all versions.
    private func write(_ client: Client) throws -> [Version: Int] {
        var random = SplitMix(state: 31)
        var written: [Version: Int] = [:]
        var present: Set<String> = []
        for number in 1...600 {
            let id = "d\(Int.random(in: 0..<8, using: &random))"
            // Now and then a document is another altogether.
            let isWhole = !present.contains(id) || Int.random(in: 0..<6, using: &random) == 0
            let filler = isWhole ? (0..<3000).map { _ in "\(UInt64.random(in: 0 ... .max, using: &random))" } : []
            let place = "\"collection\":\"c\",\"id\":\"\(id)\""
            let reply =
                isWhole
                ? try client.result(
                    "documents.put", "{\(place),\"value\":{\"n\":\(number),\"text\":\"\(filler.joined())\"}}")
                : try client.result("documents.increment", "{\(place),\"path\":\"n\",\"by\":\(number)}")
            let value = try isWhole ? number : #require(reply["value"]?.int)
            written[Version(id: id, rev: try #require(reply["rev"]?.int))] = value
            present.insert(id)
        }
        return written
    }

    /// Reads the feed from its beginning, in pages of one change or a few.
    private func check(_ client: Client, _ written: [Version: Int], limit: Int) throws {
        var rev = 0
        var found = 0
        while true {
            let page = try client.result("changes.list", "{\"afterRev\":\(rev),\"limit\":\(limit),\"values\":true}")
            for change in page["changes"]?.elements ?? [] {
                let version = Version(id: change["key"]?.text ?? "", rev: change["rev"]?.int ?? 0)
                #expect(written[version] != nil && change["value"]?["n"]?.int == written[version], "\(version)")
                found += 1
            }
            rev = try #require(page["rev"]?.int)
            if page["hasMore"]?.bool != true { break }
        }
        #expect(limit > 1 || found == written.count, "each version is told")
    }

    @Test func `the feed has every version whole, from whatever segment, and so has the next start`() throws {
        var client = try daemon.connect()
        let written = try write(client)
        let log = try client.result("storage.status")["log"]
        #expect((log?["segments"]?.int ?? 0) > 3, "\(log as Any)")
        #expect((log?["bytes"]?.int ?? 0) < 600 * 60_000 / 2, "most are patches")
        for limit in [1, 7] { try check(client, written, limit: limit) }
        daemon.kill()
        try daemon.start(configuration: configuration)
        client = try daemon.connect()
        for limit in [1, 7] { try check(client, written, limit: limit) }
        for id in Set(written.keys.map(\.id)) {
            let newest = try #require(written.keys.filter { $0.id == id }.max { $0.rev < $1.rev })
            let document = try client.result("documents.get", "{\"collection\":\"c\",\"id\":\"\(id)\"}")
            #expect(document["rev"]?.int == newest.rev && document["value"]?["n"]?.int == written[newest])
        }
    }
}
