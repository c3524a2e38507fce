import Testing

/// A client that writes documents of a few fields, several requests at a time, and records what was acknowledged.
final class LiveWriter {
    private let world: FeedWorld
    private var peer: FeedPeer
    private var present: Set<FeedWorld.Item> = []
    private let names: Int

    init(_ world: FeedWorld, names: Int) throws {
        self.world = world
        self.names = names
        peer = try world.connect()
    }

    func reconnect() throws { peer = try world.connect() }

    private func item(_ random: inout SplitMix) -> FeedWorld.Item {
        FeedWorld.Item(
            store: "documents", scope: Int.random(in: 0...5, using: &random) == 0 ? "other" : "live",
            key: "d\(Int.random(in: 0..<names, using: &random))")
    }

    private static func value(_ random: inout SplitMix) -> String {
        var members: [String] = []
        if Int.random(in: 0...7, using: &random) > 0 {
            members.append("\"n\":\(Int.random(in: 0...20, using: &random))")
        }
        members.append("\"g\":\"\(["a", "b", "c"].randomElement(using: &random)!)\"")
        if Bool.random(using: &random) { members.append("\"m\":null") }
        let length = [0, 5, 200].randomElement(using: &random)!
        members.append("\"t\":\"\(["x", "y"].randomElement(using: &random)!)\(String(repeating: "z", count: length))\"")
        return "{\(members.joined(separator: ","))}"
    }

    /// Deletes most of what is there, so that windows run short.
    func clear(random: inout SplitMix) throws {
        let count = present.count * Int.random(in: 70...97, using: &random) / 100
        for start in stride(from: 0, to: count, by: 50) {
            try write(min(50, count - start), deleting: true, random: &random)
        }
    }

    /// `deleting`: only what is there, one after the other.
    func write(_ count: Int, deleting: Bool = false, random: inout SplitMix) throws {
        var text = ""
        var expected: [[FeedWorld.Entry]] = []
        for id in 0..<count {
            let item = item(&random)
            let place = "\"collection\":\"\(item.scope)\""
            switch deleting ? 0 : Int.random(in: 0...5, using: &random) {
            case 0:
                let victim = deleting ? present.randomElement(using: &random) ?? item : item
                expected.append(present.remove(victim) == nil ? [] : [.init(item: victim, value: nil)])
                text += Client.request(
                    "documents.delete", "{\"collection\":\"\(victim.scope)\",\"id\":\"\(victim.key)\"}", id: "\(id)")
            case 1:
                var entries: [FeedWorld.Entry] = []
                for _ in 0..<Int.random(in: 1...12, using: &random) {
                    var other = self.item(&random)
                    other.scope = item.scope
                    if entries.contains(where: { $0.item == other }) { continue }
                    entries.append(.init(item: other, value: Self.value(&random)))
                    present.insert(other)
                }
                expected.append(entries)
                let members = entries.map { "{\"id\":\"\($0.item.key)\",\"value\":\($0.value!)}" }
                    .joined(separator: ",")
                text += Client.request("documents.putMany", "{\(place),\"documents\":[\(members)]}", id: "\(id)")
            default:
                let entry = FeedWorld.Entry(item: item, value: Self.value(&random))
                present.insert(item)
                expected.append([entry])
                text += Client.request(
                    "documents.put", "{\(place),\"id\":\"\(item.key)\",\"value\":\(entry.value!)}", id: "\(id)")
            }
        }
        try world.write(text, expecting: expected, through: peer)
    }
}
