import Glibc
import KuraBytes
import KuraProtocol
import KuraStorage
import SQLite

/// Answers `rpc.*`, `session.*` and `storage.*`: what a client learns about the daemon.
enum SessionHandlers {
    static let all: [String: Handler] = [
        "rpc.discover": discover, "session.hello": hello, "session.can": can, "storage.ping": ping,
        "storage.health": health, "storage.status": status,
    ]

    static func discover(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        call.server.openRPC.withBytes { JSONText.compact($0, into: &out) }
    }

    static func ping(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        out.append("{\"pong\":true}")
    }

    /// Capabilities that `enable` accepts.
    private static let capabilities = ["outOfOrder"]

    static func hello(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard call.reader.has(0) || !call.reader.has(1) && !call.reader.boolean(2) else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "version and launch say something of client", parameter: call.reader.name(0))
            )
        }
        if call.reader.has(3) {
            var walk = JSONWalk(call.reader.json(3), storage: call.walk)
            var index = 0
            while let element = walk.nextElement() {
                let name = JSONWalk.string(element, storage: call.innerWalk).map { String(decoding: $0, as: UTF8.self) }
                guard let name, capabilities.contains(name) else {
                    throw .error(
                        RPCError(
                            .invalidParams, hint: "not among the capabilities that this daemon offers",
                            parameter: call.reader.name(3), index: index))
                }
                index += 1
            }
            if index > 0 { call.connection?.state.isUnordered = true }
        }
        if call.reader.has(0) { introduce(call, storage) }
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

    /// Notes who is there. The name stands in the log beside what it writes, with the version behind a slash.
    private static func introduce(_ call: Call, _ storage: isolated Storage) {
        var name = Array(call.reader.string(0))
        if call.reader.boolean(2) { call.server.launches += 1 }
        if call.reader.has(1) {
            name.append(UInt8(ascii: "/"))
            name.append(contentsOf: call.reader.string(1))
        }
        call.connection?.clientName = name
        // Requests behind it may be answered in the same turn.
        storage.setWriter(name)
    }

    static func can(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        do throws(RPCError) {
            let params = call.reader.has(1) ? call.reader.json(1) : nil
            try call.operation.reader.readCall(method: call.reader.string(0), params: params)
            out.append("{\"allowed\":true}")
        } catch {
            out.append("{\"allowed\":false,\"reason\":\"")
            out.append(error.kind.facts.name)
            out.append("\"")
            if let hint = error.hint {
                out.append(",\"hint\":\"")
                out.append(hint)
                out.append("\"")
            }
            out.append("}")
        }
    }

    static func health(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let reasons: [(isSo: Bool, name: StaticString)] = [
            (call.server.isDraining, "\"draining\""), (storage.isOutOfSpace, "\"diskFull\""),
            (!storage.admitsChanges, "\"overloaded\""),
        ]
        out.append("{\"live\":true,\"ready\":")
        out.append(reasons.contains { $0.isSo } ? "false" : "true")
        out.append(",\"reasons\":[")
        var isFirst = true
        for reason in reasons where reason.isSo {
            if !isFirst { out.append(",") }
            isFirst = false
            out.append(reason.name)
        }
        out.append("]}")
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
                ("requests", Int(call.server.requests)), ("launches", Int(call.server.launches)),
                ("subscriptions", call.changes.count),
            ], &out)
        let buffers = call.server.buffers
        object.numbers(
            "buffers",
            [
                ("bytes", buffers.used), ("peakBytes", buffers.peak), ("limit", buffers.limit),
                ("pauses", Int(buffers.pauses)), ("overloaded", Int(buffers.refused)),
                ("turnedAway", Int(buffers.turnedAway)), ("closed", Int(buffers.closed)),
                ("descriptorsLost", Int(buffers.descriptorsLost)),
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
            ("bufferBytes", limits.bufferBytes), ("stallSeconds", limits.stallSeconds),
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
