import Glibc
import KuraBytes
import KuraServer
import KuraSocket
import KuraStorage
import KuraTransport
import Testing

@testable import KuraServer

/// A whole daemon on the test's own thread, turn by turn, over tiny segments, with a record of every change that it
/// acknowledged. Restarting is a step like any other.
final class FeedWorld {
    struct Item: Hashable {
        var store: String
        var scope: String
        var key: String
    }
    struct Entry {
        var item: Item
        /// JSON text; nil when the item was deleted.
        var value: String?
    }

    let root: String
    private let configuration: StorageConfiguration
    private let limits: ServerLimits
    private struct Daemon {
        let loop: EventLoop
        let storage: Storage
        let server: Server
    }
    private var daemon: Daemon?
    /// What each revision changed, from 1 on.
    private(set) var log: [[Entry]] = [[]]
    private(set) var peers: [FeedPeer] = []

    /// Where the history comes from, for saying which one failed.
    let seed: UInt64
    /// Moves its time, but for a microsecond a turn; nil: the system's.
    let time: ManualTime?

    init(
        seed: UInt64, random: inout SplitMix, limits: ServerLimits = ServerLimits(), time: ManualTime? = nil
    ) throws {
        self.seed = seed
        self.time = time
        let parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
        root = try TemporaryDirectory.make("kura-feed", in: parent)
        var configuration = StorageConfiguration(dataDirectory: root + "/data", profile: .small)
        configuration.caches.minFreeBytes = 0
        configuration.log.segmentBytes = [96, 160, 256].randomElement(using: &random)! << 10
        configuration.log.retentionBytes = [0, 0, 200, 1000].randomElement(using: &random)! << 10
        configuration.log.recentBytes = [2, 16, 64].randomElement(using: &random)! << 10
        configuration.fold.milliseconds = [0, 1, 20].randomElement(using: &random)!
        configuration.fold.checkpointBytes = 32 << 10
        if let time { configuration.clock = Clock(time) }
        self.configuration = configuration
        self.limits = limits
        daemon = try Self.open(configuration, limits, root)
    }

    deinit {
        stop()
        TemporaryDaemon.remove(root)
    }

    private static func open(
        _ configuration: StorageConfiguration, _ limits: ServerLimits, _ root: String
    ) throws -> Daemon {
        let loop = try EventLoop()
        loop.adoptThread()
        let rules = AccessRules.single(root + "/s")
        let found = Reload.Found(access: rules)
        let storage = try Storage(configuration, executor: loop, wake: { loop.wake() }) { _ in }
        let server = try Server(
            loop: loop, storage: storage,
            sockets: [DaemonSocket(try Listener.bind(path: root + "/s"), rules.sockets[0])],
            access: AccessControl(rules), journal: Journal(threshold: .error),
            limits: limits, version: "test", reload: Reload(found) { found })
        // So that a client that does not read is soon noticed.
        server.call.changes.backlog = 8 << 10
        return Daemon(loop: loop, storage: storage, server: server)
    }

    var rev: Int { log.count - 1 }

    // MARK: Running

    /// On the loop.
    func withServer<Value: Sendable>(_ body: @Sendable (Server, isolated Storage) -> Value) -> Value? {
        guard let daemon else { return nil }
        // Safety: the loop that it runs on is asked, and ends before the test does.
        nonisolated(unsafe) let server = daemon.server
        return daemon.storage.assumeIsolated { body(server, $0) }
    }

    func turn() {
        time?.advance(by: 1000)
        _ = withServer { server, storage in
            server.takeTurn(0, storage)
            _ = server.nextTimeout(storage)
            #expect(storage.failure == nil)
        }
        for peer in peers where !peer.isStalled { peer.receive() }
    }

    /// Takes turns until the condition holds.
    func turns(until holds: () -> Bool) {
        let deadline = now() + 60
        while !holds() {
            turn()
            if now() > deadline {
                Issue.record("seed \(seed): waited in vain")
                return
            }
        }
    }

    func restart() throws {
        for peer in peers { peer.close() }
        peers = []
        stop()
        daemon = try Self.open(configuration, limits, root)
    }

    private func stop() {
        if let daemon { _ = daemon.server.crowd.doors.takeAll(daemon.loop) }
        daemon?.server.call.changes.live.stop()
        let isClean = daemon?.storage.assumeIsolated { $0.close() }
        #expect(isClean == true)
        // The directory's lock goes with the last reference.
        daemon = nil
    }

    /// Subscriptions that the daemon has.
    var subscriptions: Int { daemon?.server.call.changes.count ?? 0 }

    func connect() throws -> FeedPeer {
        let peer = try FeedPeer(path: root + "/s")
        peers.append(peer)
        turn()
        // The same for what the kernel holds for it.
        for connection in daemon?.server.connections.all ?? [] {
            var room: Int32 = 4608
            setsockopt(connection.socket.descriptor, SOL_SOCKET, SO_SNDBUF, &room, 4)
        }
        return peer
    }

    func disconnect(_ peer: FeedPeer) {
        peer.close()
        peers.removeAll { $0 === peer }
    }

    /// Sends a request on a connection that has no other under way, and takes turns until the reply is there.
    func call(_ peer: FeedPeer, _ method: String, _ params: String) throws -> JSON {
        peer.send(Client.request(method, params, id: "1"))
        var reply: JSON?
        turns {
            reply = peer.takeReply() ?? reply; return reply != nil
        }
        return try #require(reply)
    }

    func record(_ rev: Int, _ entries: [Entry]) {
        while log.count <= rev { log.append([]) }
        #expect(log[rev].isEmpty, "revision \(rev) was given out twice")
        log[rev] = entries
    }

    /// The newest state of each item that changed above `after`, as of `rev`, with the revision of that change.
    func changes(after: Int, upTo rev: Int, where admits: (Item) -> Bool) -> [Item: (rev: Int, value: String?)] {
        var newest: [Item: (rev: Int, value: String?)] = [:]
        guard after < rev else { return newest }
        for position in after + 1...rev {
            for entry in log[position] where admits(entry.item) { newest[entry.item] = (position, entry.value) }
        }
        return newest
    }
}

/// A client's end of a connection, which never waits.
final class FeedPeer {
    private var descriptor: Int32
    private var pending: [UInt8] = []
    private var lines: [JSON] = []
    /// Reads nothing.
    var isStalled = false

    init(path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        try #require(Client.connect(descriptor, path) == 0)
    }

    deinit { close() }

    func close() {
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }

    func send(_ text: String) {
        var bytes = Array(text.utf8)
        let count = Glibc.send(descriptor, &bytes, bytes.count, Int32(MSG_NOSIGNAL))
        #expect(count == bytes.count)
    }

    func receive() {
        guard descriptor >= 0 else { return }
        var chunk = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            let count = recv(descriptor, &chunk, chunk.count, Int32(MSG_DONTWAIT))
            guard count > 0 else { break }
            pending.append(contentsOf: chunk[..<count])
            if count < chunk.count { break }
        }
        while let end = pending.firstIndex(of: 0x0A) {
            let text = String(decoding: pending[..<end], as: UTF8.self)
            pending.removeFirst(end + 1)
            do { lines.append(try JSON(text)) } catch { Issue.record("no JSON: \(text.prefix(200))") }
        }
    }

    /// The next line that answers a request.
    func takeReply() -> JSON? {
        guard let position = lines.firstIndex(where: { $0["id"] != nil }) else { return nil }
        return lines.remove(at: position)
    }

    /// Notifications that have arrived.
    func takeNotifications() -> [JSON] {
        defer { lines.removeAll { $0["method"] != nil } }
        return lines.filter { $0["method"] != nil }
    }
}
