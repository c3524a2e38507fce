import KuraClient
import KuraTesting
import Testing

/// Processes that change one collection at once, 64 tasks in each of them (`kura-peer hammer`).
@Suite struct HammerTests {
    private static let processes = 8
    private static let tasks = 64
    private static let rounds = 4

    private struct Entry: Codable, Identifiable, Sendable, Equatable {
        var id: String
        var count = 0
        var by: [String: Int] = [:]
        var p0 = 0, p1 = 0, p2 = 0, p3 = 0, p4 = 0, p5 = 0, p6 = 0, p7 = 0

        var edits: [Int] { [p0, p1, p2, p3, p4, p5, p6, p7] }
    }

    /// What a process says that it was told is done.
    private struct Acknowledged {
        /// By document.
        var counted: [String: Int] = [:]
        /// The last round of edits that is saved.
        var saved = 0
        var isReady = false
        var isDone = false
        var seen: Int?
        /// What it says besides: that something went wrong.
        var complaints: [String] = []

        init(_ peer: PeerProcess) {
            for line in peer.lines {
                let words = line.split(separator: " ").map(String.init)
                switch words.first {
                case "ready": isReady = true
                case "done": isDone = true
                case "counted" where words.count == 2: counted[words[1], default: 0] += 1
                case "saved" where words.count == 2: saved = Int(words[1]) ?? -1
                case "seen" where words.count == 2: seen = Int(words[1])
                default: complaints.append(line)
                }
            }
        }
    }

    /// A daemon with the documents, and processes that wait to begin.
    /// `endless`: one that goes on until it is killed.
    private static func begin(endless: Int? = nil) async throws -> (DaemonProcess, Kura, [PeerProcess]) {
        let daemon = try DaemonProcess()
        let kura = try await daemon.connect()
        let entries = kura.documents("shared", of: Entry.self)
        try await entries.putMany(
            (0..<tasks).map { Entry(id: "count-\($0)") } + (0..<8).map { Entry(id: "live-\($0)") })
        let peers = try (0..<processes).map {
            try PeerProcess(["hammer", daemon.socket, "\($0)", "\(tasks)", "\($0 == endless ? 1 << 30 : rounds)"])
        }
        try await eventually("all are ready") { peers.allSatisfy { Acknowledged($0).isReady } }
        for peer in peers { peer.tell("go") }
        return (daemon, kura, peers)
    }

    /// Has those that are left look at the end, which is to be the daemon's.
    private static func finish(_ peers: [PeerProcess], _ stored: [Entry]) async throws {
        let sum = stored.reduce(0) { $0 + $1.count }
        for peer in peers { peer.tell("finish \(sum)") }
        for peer in peers {
            #expect(try await peer.ended(within: 120) == 0)
            let said = Acknowledged(peer)
            #expect(said.seen == sum && said.complaints.isEmpty, "\(said.complaints)")
        }
    }

    @Test func `what 64 tasks in each of 8 processes change is there once`() async throws {
        let (daemon, kura, peers) = try await Self.begin()
        defer { withExtendedLifetime(daemon) {} }
        try await eventually("all are done", seconds: 300) { peers.allSatisfy { Acknowledged($0).isDone } }
        let stored = try await kura.documents("shared", of: Entry.self).list().all().map(\.value)
        #expect(stored.count == Self.tasks + 8)
        for (number, peer) in peers.enumerated() {
            let said = Acknowledged(peer)
            for entry in stored where entry.id.hasPrefix("count-") {
                #expect(said.counted[entry.id] == Self.rounds && entry.by["\(number)"] == Self.rounds)
            }
            #expect(said.saved == Self.rounds)
        }
        for entry in stored {
            let isCounted = entry.id.hasPrefix("count-")
            #expect(entry.count == (isCounted ? Self.processes * Self.rounds : 0), "\(entry)")
            #expect(entry.edits.allSatisfy { $0 == (isCounted ? 0 : Self.rounds) }, "\(entry)")
        }
        try await Self.finish(peers, stored)
    }

    @Test func `of a process that is killed everything acknowledged is there, and nothing twice`() async throws {
        let rounds = Self.rounds
        let (daemon, kura, peers) = try await Self.begin(endless: 3)
        defer { withExtendedLifetime(daemon) {} }
        let victim = peers[3]
        try await eventually("it has counted") { Acknowledged(victim).counted.values.reduce(0, +) >= Self.tasks }
        victim.kill()
        let last = Acknowledged(victim)
        #expect(!last.isDone && last.complaints.isEmpty, "\(last.complaints)")
        let others = peers.enumerated().filter { $0.offset != 3 }
        try await eventually("the others are done", seconds: 300) {
            others.allSatisfy { Acknowledged($0.element).isDone }
        }
        let stored = try await kura.documents("shared", of: Entry.self).list().all().map(\.value)
        #expect(stored.count == Self.tasks + 8)
        for entry in stored where entry.id.hasPrefix("count-") {
            #expect(entry.by.values.reduce(0, +) == entry.count, "\(entry)")
            for (number, peer) in others {
                #expect(entry.by["\(number)"] == rounds && Acknowledged(peer).counted[entry.id] == rounds, "\(entry)")
            }
            // One task counts a document; what it had under way may have been stored and not answered.
            let acknowledged = last.counted[entry.id] ?? 0
            let found = entry.by["3"] ?? 0
            #expect(found == acknowledged || found == acknowledged + 1, "\(entry), acknowledged \(acknowledged)")
        }
        for entry in stored where entry.id.hasPrefix("live-") {
            for (number, round) in entry.edits.enumerated() {
                #expect(number == 3 ? (last.saved...last.saved + 1).contains(round) : round == rounds, "\(entry)")
            }
        }
        try await Self.finish(others.map(\.element), stored)
    }
}
