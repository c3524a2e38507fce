import Glibc
import KuraProtocol
import KuraStorage
import SQLite

/// Answers `rpc.*`, `session.*` and `storage.*`: what a client learns about the daemon.
enum SessionHandlers {
    static let all: [String: Handler] = [
        "rpc.discover": discover, "session.hello": hello, "storage.ping": ping, "storage.status": status,
    ]

    static func discover(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        call.server.openRPC.withUnsafeBytes { JSONText.compact($0, into: &out) }
    }

    static func ping(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        out.append("{\"pong\":true}")
    }

    /// Capabilities that `enable` accepts; none is optional yet.
    private static let capabilities: [String] = []

    static func hello(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        if call.reader.has(1) {
            var walk = JSONWalk(call.reader.json(1), storage: call.walk)
            var index = 0
            while let element = walk.nextElement() {
                let name = JSONWalk.string(element, storage: call.innerWalk).map { String(decoding: $0, as: UTF8.self) }
                guard let name, capabilities.contains(name) else {
                    throw .error(
                        RPCError(
                            .invalidParams, hint: "not among the capabilities that this daemon offers",
                            parameter: call.reader.name(1), index: index))
                }
                index += 1
            }
        }
        if call.reader.has(0) {
            call.connection?.clientName = Array(call.reader.string(0))
            // Requests behind it may be answered in the same turn.
            storage.setWriter(Array(call.reader.string(0)))
        }
        out.append("{\"server\":\"kurad\",\"version\":")
        out.append(quoted: call.server.version)
        out.append(",\"protocol\":1,\"role\":\"admin\",\"epoch\":")
        out.append(quoted: storage.epoch)
        out.append(",\"capabilities\":[")
        for (index, name) in capabilities.enumerated() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
            out.append(quoted: name)
        }
        out.append("],\"limits\":")
        append(limits: call.server.limits, storage, to: &out)
        out.append("}")
    }

    static func status(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let status = storage.status()
        let settings = storage.settings
        var object = ObjectWriter(&out)
        object.text("version", call.server.version, &out)
        object.number("pid", Int(getpid()), &out)
        object.text("epoch", storage.epoch, &out)
        object.name("startedAt", &out)
        out.append(timestamp: storage.startedAt)
        object.text("profile", call.server.profile, &out)
        object.number("rev", Int(status.rev), &out)
        object.number("foldedRev", Int(status.foldedRev), &out)
        object.numbers(
            "settings",
            [("domains", settings.scopes().count), ("count", settings.count), ("bytes", settings.bytes)], &out)
        let collections = storage.documents.scopes()
        object.numbers(
            "documents",
            [
                ("collections", collections.count), ("count", collections.reduce(0) { $0 + $1.count }),
                ("bytes", collections.reduce(0) { $0 + $1.bytes }),
            ], &out)
        object.numbers(
            "log",
            [
                ("segments", status.segments), ("bytes", status.logBytes), ("commits", Int(status.commits)),
                ("syncs", Int(status.syncs)), ("durableRev", Int(status.durableRev)),
                ("noOpWrites", Int(status.noOpWrites)),
            ], &out)
        object.numbers(
            "overlay",
            [
                ("items", status.overlayItems), ("bytes", status.overlayBytes), ("peakBytes", status.overlayPeak),
                ("limit", storage.configuration.overlayBytes),
            ], &out)
        object.numbers(
            "cache",
            [("items", status.cacheItems), ("bytes", status.cacheBytes), ("limit", storage.configuration.cacheBytes)],
            &out)
        object.numbers(
            "connections",
            [
                ("open", call.server.connections), ("accepted", Int(call.server.accepted)),
                ("requests", Int(call.server.requests)), ("subscriptions", call.changes.count),
            ], &out)
        object.name("disk", &out)
        append(disk: status.disk, to: &out)
        object.name("limits", &out)
        append(limits: call.server.limits, storage, to: &out)
        out.append("}")
        call.shows(status.rev)
    }

    private static func append(disk counts: WriteCounts, to out: inout ByteBuffer) {
        var object = ObjectWriter(&out)
        for (name, role) in [("log", FileRole.log), ("durable", .durable), ("cache", .cache), ("other", .other)] {
            let count = counts[role]
            object.numbers(
                name, [("writes", count.writes), ("bytesWritten", count.bytesWritten), ("syncs", count.syncs)], &out)
        }
        out.append("}")
    }

    private static func append(limits: ServerLimits, _ storage: isolated Storage, to out: inout ByteBuffer) {
        var object = ObjectWriter(&out)
        for (name, value) in [
            ("lineBytes", limits.lineBytes), ("depth", JSONReader.defaultMaximumDepth),
            ("batchItems", limits.batchItems),
            ("connections", limits.connections), ("inputBytes", limits.inputBytes), ("outputBytes", limits.outputBytes),
            ("requestsPerTurn", limits.requestsPerTurn), ("subscriptions", limits.subscriptions),
            ("scopeBytes", WireLimits.scopeBytes),
            ("keyBytes", WireLimits.keyBytes), ("settingBytes", SettingsStore.valueLimit),
            ("settingsBytes", SettingsStore.totalLimit), ("documentBytes", DocumentsStore.valueLimit),
            ("replyBytes", WireLimits.replyBytes),
        ] { object.number(name, value, &out) }
        out.append("}")
    }
}

/// Writes an object's members with commas between them. For replies that are not on the hot path.
struct ObjectWriter {
    private var isFirst = true

    init(_ out: inout ByteBuffer) {
        out.append("{")
    }

    mutating func name(_ name: String, _ out: inout ByteBuffer) {
        if !isFirst { out.append(",") }
        isFirst = false
        out.append(quoted: name)
        out.append(":")
    }

    mutating func text(_ name: String, _ value: String, _ out: inout ByteBuffer) {
        self.name(name, &out)
        out.append(quoted: value)
    }

    mutating func number(_ name: String, _ value: Int, _ out: inout ByteBuffer) {
        self.name(name, &out)
        out.append(integer: Int64(value))
    }

    mutating func numbers(_ name: String, _ values: [(String, Int)], _ out: inout ByteBuffer) {
        self.name(name, &out)
        var inner = ObjectWriter(&out)
        for (name, value) in values { inner.number(name, value, &out) }
        out.append("}")
    }
}
