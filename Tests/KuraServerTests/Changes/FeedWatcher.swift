import Testing

/// A client that mirrors what it watches, and judges every event by the world's record: nothing left out, nothing twice,
/// nothing of a transaction without the rest.
final class FeedWatcher {
    let world: FeedWorld
    private let store: String?
    private let scope: String?
    private let prefix: String
    private let values: Bool
    private(set) var peer: FeedPeer?
    /// Everything up to here is in `mirror`.
    private(set) var rev: Int
    private var mirror: [FeedWorld.Item: (rev: Int, value: String?)] = [:]
    private(set) var overflows = 0
    /// How often it came too late.
    private(set) var compacted = 0
    private(set) var events = 0

    init(_ world: FeedWorld, random: inout SplitMix) throws {
        self.world = world
        store = [nil, nil, "settings", "documents"].randomElement(using: &random)!
        scope = [nil, nil, "s0", "s1"].randomElement(using: &random)!
        prefix = ["", "", "", "w0", "w1-1"].randomElement(using: &random)!
        values = Bool.random(using: &random)
        rev = Bool.random(using: &random) ? 0 : world.rev
        resync(at: rev)
        try watch()
    }

    func admits(_ item: FeedWorld.Item) -> Bool {
        (store == nil || item.store == store) && (scope == nil || item.scope == scope) && item.key.hasPrefix(prefix)
    }

    private var filter: String {
        var members = ["\"values\":\(values)", "\"prefix\":\"\(prefix)\""]
        if let store { members.append("\"stores\":[\"\(store)\"]") }
        if let scope { members.append("\"scope\":\"\(scope)\"") }
        return members.joined(separator: ",")
    }

    // MARK: Living and dying

    /// Subscribes from where the mirror stands; reads everything anew when the daemon says that it is too late.
    func watch() throws {
        let peer = try world.connect()
        self.peer = peer
        var reply = try world.call(peer, "changes.watch", "{\(filter),\"afterRev\":\(rev)}")
        if let data = reply["error"]?["data"], data["kind"] == .string("compacted") {
            #expect(data["oldestRev"]?.int ?? 0 > rev)
            compacted += 1
            resync(at: world.rev)
            reply = try world.call(peer, "changes.watch", "{\(filter),\"afterRev\":\(rev)}")
        }
        #expect(reply["result"]?["subscription"]?.int == 1, "\(reply)")
        #expect(reply["result"]?["rev"]?.int == rev)
    }

    func die() {
        if let peer { world.disconnect(peer) }
        peer = nil
    }

    /// What a client does that has been told that changes are gone: it reads the items themselves.
    private func resync(at rev: Int) {
        self.rev = rev
        mirror = world.changes(after: 0, upTo: rev, where: admits)
    }

    // MARK: Judging

    func takeEvents() {
        for line in peer?.takeNotifications() ?? [] {
            guard let params = line["params"], params["subscription"]?.int == 1 else {
                Issue.record("unexpected: \(line)")
                continue
            }
            if line["method"] == .string("changes.overflow") {
                let resync = params["resyncRev"]?.int ?? 0
                #expect(resync > rev && resync <= world.rev)
                overflows += 1
                self.resync(at: resync)
            } else {
                events += 1
                take(params["changes"]?.elements ?? [], upTo: params["rev"]?.int ?? 0)
            }
        }
    }

    private func take(_ changes: [JSON], upTo end: Int) {
        Self.judge(changes, after: rev, upTo: end, values: values, world, admits)
        for change in changes {
            let item = Self.item(change)
            let deleted = change["deleted"]?.bool == true
            mirror[item] = (change["rev"]?.int ?? 0, deleted ? nil : world.value(item, at: change["rev"]?.int ?? 0))
        }
        rev = end
    }

    static func item(_ change: JSON) -> FeedWorld.Item {
        FeedWorld.Item(
            store: change["store"]?.text ?? "", scope: change["scope"]?.text ?? "", key: change["key"]?.text ?? "")
    }

    /// A page must be exactly what the record says of the stretch that it covers.
    static func judge(
        _ changes: [JSON], after: Int, upTo end: Int, values: Bool, _ world: FeedWorld,
        _ admits: (FeedWorld.Item) -> Bool
    ) {
        #expect(end > after || changes.isEmpty && end == after, "from \(after) to \(end)")
        #expect(end <= world.rev)
        guard end <= world.rev else { return }
        let expected = world.changes(after: after, upTo: end, where: admits)
        var seen: Set<FeedWorld.Item> = []
        var last = after
        for change in changes {
            let item = item(change)
            let rev = change["rev"]?.int ?? 0
            #expect(seen.insert(item).inserted, "twice: \(item)")
            #expect(rev >= last, "out of order: \(rev) after \(last)")
            last = rev
            guard let wanted = expected[item] else {
                Issue.record(
                    "seed \(world.seed): not asked for, or told before: \(item) at \(rev), page \(after)…\(end)")
                continue
            }
            #expect(wanted.rev == rev, "\(item) changed at \(wanted.rev), not \(rev)")
            #expect((change["deleted"]?.bool == true) == (wanted.value == nil))
            if values, let value = wanted.value { #expect(change["value"] == .string(value)) }
            if !values { #expect(change["value"] == nil) }
        }
        #expect(
            seen.count == expected.count,
            "seed \(world.seed): lost \(expected.keys.filter { !seen.contains($0) }), page \(after)…\(end)")
    }

    /// Whether everything that concerns it has come.
    var isUpToDate: Bool { world.changes(after: rev, upTo: world.rev, where: admits).isEmpty }

    func expectMirror() {
        let truth = world.changes(after: 0, upTo: world.rev, where: admits)
        #expect(truth.count == mirror.count, "seed \(world.seed)")
        for (item, state) in truth { #expect(mirror[item]?.rev == state.rev && mirror[item]?.value == state.value) }
    }
}

extension FeedWorld {
    func value(_ item: Item, at rev: Int) -> String? {
        guard log.indices.contains(rev) else { return nil }
        return log[rev].first { $0.item == item }?.value
    }
}
