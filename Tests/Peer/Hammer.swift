import Glibc
import KuraClient

/// One of several processes that change the documents of one collection at once.
///
/// `count-0` to `count-63` are counted up, each by a task of every process, under the revision that was read: who was slower tries again. `live-0` to
/// `live-7` are edited through a `LiveCollection`, each process in a member of its own. What the daemon has acknowledged is said at once, a line each:
/// `counted DOCUMENT`, `saved DOCUMENT ROUND`; `done` when all is, `seen` when the collection shows what `finish SUM` on standard input says the counts
/// come to.
struct Hammer {
    var socket: String
    var number: Int
    var tasks: Int
    var rounds: Int

    /// `by` and `rounds` have a member for each process.
    struct Entry: Codable, Identifiable, Sendable, Equatable {
        var id: String
        var count = 0
        var by: [String: Int] = [:]
        var p0 = 0, p1 = 0, p2 = 0, p3 = 0, p4 = 0, p5 = 0, p6 = 0, p7 = 0

        mutating func setRound(of process: Int, _ round: Int) {
            switch process {
            case 0: p0 = round
            case 1: p1 = round
            case 2: p2 = round
            case 3: p3 = round
            case 4: p4 = round
            case 5: p5 = round
            case 6: p6 = round
            default: p7 = round
            }
        }
    }

    func run() async throws {
        let options = ConnectOptions(
            name: "peer-\(number)", timeout: .seconds(120), patience: .seconds(120), wait: .seconds(60))
        let kura = try await Kura.connect(to: socket, options: options)
        let entries = kura.documents("shared", of: Entry.self)
        let live = try entries.live(saving: .every(.milliseconds(20)))
        await live.loaded()
        // So that all begin together.
        Peer.say("ready")
        guard readLine() == "go" else { exit(4) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<tasks {
                group.addTask { for _ in 0..<rounds { try await count("count-\(task)", entries) } }
            }
            group.addTask {
                for round in 1...rounds {
                    for document in 0..<8 { live.update("live-\(document)") { $0.setRound(of: number, round) } }
                    guard try await live.flush() else {
                        return Peer.say("not saved: \(live.conflicts) \(live.lastError as Any)")
                    }
                    Peer.say("saved \(round)")
                }
            }
            try await group.waitForAll()
        }
        Peer.say("done")
        guard let line = readLine(), line.hasPrefix("finish "), let sum = Int(line.dropFirst(7)) else { exit(4) }
        for _ in 0..<12_000 {
            if live.values.reduce(0, { $0 + $1.count }) == sum { break }
            try await Task.sleep(for: .milliseconds(5))
        }
        Peer.say("seen \(live.values.reduce(0) { $0 + $1.count })")
        try await live.close()
        await kura.close()
    }

    private func count(_ id: String, _ entries: DocumentCollection<Entry>) async throws {
        while true {
            guard let stored = try await entries.stored(id) else { return Peer.say("\(id) is gone") }
            var entry = stored.value
            entry.count += 1
            entry.by["\(number)", default: 0] += 1
            if case .done = try await entries.put(entry, ifRev: stored.rev) { return Peer.say("counted \(id)") }
        }
    }
}
