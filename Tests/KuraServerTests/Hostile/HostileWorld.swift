import Glibc
import Testing

@testable import KuraStorage

/// A backup and a seed bundle of a daemon that has something in every store.
struct HostileWorld: Sendable {
    let backup: [UInt8]
    let bundle: [UInt8]

    /// Made once for all suites.
    static let made = Result<HostileWorld, any Error>(of: { try HostileWorld() })

    private init() throws {
        signal(SIGPIPE, SIG_IGN)
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        for (method, params) in Self.requests { try client.result(method, params) }
        let deadline = now() + 60
        while now() < deadline {
            let described = try client.result("documents.describe", "{\"collection\":\"tasks\"}")
            if described["migration"]?["state"]?.text == "done" { break }
            usleep(10_000)
        }
        try client.result("storage.backup", "{\"name\":\"one\"}")
        try client.result("storage.bundle", "{\"name\":\"one\"}")
        backup = try #require(TemporaryDaemon.contents(daemon.data + "/backups/one.kurabackup"))
        bundle = try #require(TemporaryDaemon.contents(daemon.data + "/backups/one.kurabundle"))
    }

    /// Something in every store.
    static let requests: [(String, String)] = [
        ("settings.register", "{\"domain\":\"app\",\"defaults\":{\"size\":12}}"),
        ("settings.put", "{\"domain\":\"app\",\"key\":\"theme\",\"value\":\"dark\"}"),
        ("settings.put", "{\"domain\":\"app\",\"key\":\"window\",\"value\":{\"w\":100,\"h\":[1,2.50]}}"),
        (
            "settings.configure",
            """
            {"domain":"app","schema":{"type":"object","properties":{"theme":{"type":"string"}}},"mode":"warn",\
            "backup":true,"durability":"relaxed","flushSeconds":1}
            """
        ),
        (
            "documents.configure",
            """
            {"collection":"notes","indexes":[{"name":"byText","fields":["text"],"unique":true},\
            {"name":"odd","fields":["n"],"where":{"n":{"$gt":1}}}],"searchFields":["text"],\
            "schema":{"type":"object"},"schemaMode":"enforce","tombstoneDays":30,"retainDays":365}
            """
        ),
        ("documents.put", "{\"collection\":\"notes\",\"id\":\"1\",\"value\":{\"text\":\"first\",\"n\":1}}"),
        ("documents.put", "{\"collection\":\"notes\",\"id\":\"2\",\"value\":{\"text\":\"second\",\"n\":2}}"),
        ("documents.put", "{\"collection\":\"notes\",\"id\":\"3\",\"value\":{\"text\":\"third\"}}"),
        ("documents.delete", "{\"collection\":\"notes\",\"id\":\"3\"}"),
        ("documents.attach", "{\"collection\":\"notes\",\"id\":\"1\",\"name\":\"card\",\"data\":\"aGVsbG8=\"}"),
        ("documents.put", "{\"collection\":\"people\",\"id\":\"ada\",\"value\":{\"name\":\"Ada\"}}"),
        (
            "documents.configure",
            """
            {"collection":"books","references":[{"field":"by","collection":"people","onDelete":"deny"}],\
            "durability":"relaxed","flushSeconds":2}
            """
        ),
        ("documents.put", "{\"collection\":\"books\",\"id\":\"1\",\"value\":{\"by\":\"ada\"}}"),
        ("documents.configure", "{\"collection\":\"tasks\",\"version\":1}"),
        ("documents.put", "{\"collection\":\"tasks\",\"id\":\"1\",\"value\":{\"a\":1}}"),
        (
            "documents.configure",
            """
            {"collection":"tasks","version":2,"migrations":[{"to":2,"steps":[{"setDefault":{"path":"n","value":0}}]}]}
            """
        ),
        ("secrets.put", "{\"service\":\"mail\",\"account\":\"ada\",\"secret\":\"open sesame\"}"),
        ("models.configure", "{\"namespace\":\"feed\",\"ttlSeconds\":60}"),
        (
            "models.put",
            "{\"namespace\":\"feed\",\"key\":\"home\",\"value\":[1],\"etag\":\"v1\",\"tags\":[\"front\",\"all\"]}"
        ),
        ("models.configure", "{\"namespace\":\"large\",\"partition\":true}"),
        ("models.put", "{\"namespace\":\"large\",\"key\":\"1\",\"value\":1}"),
    ]
}

extension Result where Failure == any Error {
    /// What comes of a body, or why nothing does.
    fileprivate init(of body: () throws -> Success) {
        do { self = .success(try body()) } catch { self = .failure(error) }
    }
}

/// A daemon over what was made of a hostile file: every reply is one line and somebody's, and nothing is damaged.
struct HostileService {
    let daemon: TemporaryDaemon

    private static let questions: [(String, String)] =
        ["notes", "people", "books", "tasks"].flatMap { name in
            [
                ("documents.list", "{\"collection\":\"\(name)\"}"), ("documents.find", "{\"collection\":\"\(name)\"}"),
                ("documents.describe", "{\"collection\":\"\(name)\"}"),
                ("documents.get", "{\"collection\":\"\(name)\",\"id\":\"1\"}"),
                (
                    "documents.put",
                    "{\"collection\":\"\(name)\",\"id\":\"new\",\"value\":{\"text\":\"\(name)\",\"n\":3}}"
                ),
                ("documents.put", "{\"collection\":\"\(name)\",\"id\":\"1\",\"value\":{\"text\":\"other\",\"n\":4}}"),
            ]
        } + [
            ("documents.attachment", "{\"collection\":\"notes\",\"id\":\"1\",\"name\":\"card\"}"),
            ("documents.search", "{\"collection\":\"notes\",\"query\":\"first\"}"), ("documents.scopes", "{}"),
            ("documents.restore", "{\"collection\":\"notes\",\"id\":\"3\"}"),
            ("settings.list", "{\"domain\":\"app\"}"), ("settings.describe", "{\"domain\":\"app\"}"),
            ("settings.put", "{\"domain\":\"app\",\"key\":\"theme\",\"value\":\"light\"}"), ("settings.scopes", "{}"),
            ("models.list", "{\"namespace\":\"feed\"}"), ("models.get", "{\"namespace\":\"feed\",\"key\":\"home\"}"),
            ("models.describe", "{\"namespace\":\"large\"}"), ("models.scopes", "{}"),
            ("secrets.get", "{\"service\":\"mail\",\"account\":\"ada\"}"), ("secrets.scopes", "{}"),
            ("changes.list", "{\"since\":0}"), ("storage.status", "{}"), ("storage.stats", "{}"),
        ]

    /// What is wrong; nil when nothing is.
    func problem() throws -> String? {
        var asked = Self.questions
        asked.append(("storage.check", "{}"))
        let text = asked.enumerated().map { Client.request($1.0, $1.1, id: String($0 + 1)) }.joined()
        let lines = try daemon.connect().exchange(text)
        var answered: Set<Int> = []
        for line in lines {
            if line.contains("\u{FFFD}") { return "no UTF-8: \(line.prefix(200))" }
            guard let reply = try? JSON(line) else { return "no JSON: \(line.prefix(200))" }
            if reply["method"]?.text == "progress" { continue }
            guard let id = reply["id"]?.int, answered.insert(id).inserted, id <= asked.count else {
                return "a reply to nobody: \(line.prefix(200))"
            }
            if asked[id - 1].0 == "storage.check", reply["result"]?["problems"]?.elements.isEmpty != true {
                return "\(line.prefix(400))"
            }
        }
        guard answered.count == asked.count else { return "\(answered.count) of \(asked.count) answers: \(daemon.log)" }
        try daemon.waitUntilFolded()
        // Indexes are built behind a start.
        let settled = try daemon.connect()
        for name in ["notes", "people", "books", "tasks"] {
            try settled.result("documents.describe", "{\"collection\":\"\(name)\",\"waitMs\":600000}")
        }
        guard daemon.terminate() == 0 else { return "it has ended otherwise: \(daemon.log)" }
        return try TablesRecount.difference(daemon.data)
    }
}
