import Testing

/// A client that writes keys that nobody else writes, several requests at a time, and records what was acknowledged.
final class FeedWriter {
    private let world: FeedWorld
    private let number: Int
    private var peer: FeedPeer
    private var present: Set<FeedWorld.Item> = []
    private var counter = 0

    init(_ world: FeedWorld, number: Int) throws {
        self.world = world
        self.number = number
        peer = try world.connect()
    }

    func reconnect() throws { peer = try world.connect() }

    private func item(_ store: String, _ random: inout SplitMix) -> FeedWorld.Item {
        FeedWorld.Item(
            store: store, scope: "s\(Int.random(in: 0...2, using: &random))",
            key: "w\(number)-\(Int.random(in: 0...12, using: &random))")
    }

    private func value(_ random: inout SplitMix) -> String {
        counter += 1
        // One long value behind another is a patch in the log.
        let length = [0, 10, 100, 3000, 3000, 3000].randomElement(using: &random)!
        return "\(number).\(counter)." + String(repeating: "x", count: length)
    }

    /// Sends some requests at once, waits for all replies, and records them.
    func write(_ count: Int, random: inout SplitMix) throws {
        var text = ""
        var expected: [[FeedWorld.Entry]] = []
        for id in 0..<count {
            let store = Bool.random(using: &random) ? "settings" : "documents"
            let (scopeName, keyName) = store == "settings" ? ("domain", "key") : ("collection", "id")
            let item = item(store, &random)
            let place = "\"\(scopeName)\":\"\(item.scope)\""
            switch Int.random(in: 0...5, using: &random) {
            case 0:
                // Removing what is not there is no change.
                expected.append(present.remove(item) == nil ? [] : [.init(item: item, value: nil)])
                text += Client.request("\(store).delete", "{\(place),\"\(keyName)\":\"\(item.key)\"}", id: "\(id)")
            case 1, 2:
                // A transaction over several items of a scope.
                var entries: [FeedWorld.Entry] = []
                for _ in 0..<Int.random(in: 1...12, using: &random) {
                    var other = self.item(store, &random)
                    other.scope = item.scope
                    if entries.contains(where: { $0.item == other }) { continue }
                    entries.append(.init(item: other, value: value(&random)))
                    present.insert(other)
                }
                expected.append(entries)
                let members = entries.map { entry in
                    store == "settings"
                        ? "\"\(entry.item.key)\":\"\(entry.value!)\""
                        : "{\"id\":\"\(entry.item.key)\",\"value\":\"\(entry.value!)\"}"
                }.joined(separator: ",")
                let list = store == "settings" ? "\"values\":{\(members)}" : "\"documents\":[\(members)]"
                text += Client.request("\(store).putMany", "{\(place),\(list)}", id: "\(id)")
            default:
                let entry = FeedWorld.Entry(item: item, value: value(&random))
                present.insert(item)
                expected.append([entry])
                text += Client.request(
                    "\(store).put", "{\(place),\"\(keyName)\":\"\(item.key)\",\"value\":\"\(entry.value!)\"}",
                    id: "\(id)")
            }
        }
        try world.write(text, expecting: expected, through: peer)
    }
}

extension FeedWorld {
    /// Sends writes whose numbers are those of the entries that they make, and records these with the revisions that the replies tell.
    func write(_ text: String, expecting expected: [[Entry]], through peer: FeedPeer) throws {
        peer.send(text)
        for (id, entries) in expected.enumerated() {
            var reply: JSON?
            turns {
                reply = peer.takeReply() ?? reply; return reply != nil
            }
            #expect(reply?["id"]?.int == id)
            let rev = try #require(reply?["result"]?["rev"]?.int, "\(String(describing: reply))")
            if !entries.isEmpty { record(rev, entries) }
        }
    }
}
