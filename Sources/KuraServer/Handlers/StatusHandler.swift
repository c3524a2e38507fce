import KuraBytes
import Glibc
import KuraProtocol
import KuraSocket
import KuraStorage
import KuraTransport
import SQLite

/// Answers `storage.status`: numbers of the storage for whoever may read it, those of the daemon for who may administer it.
enum StatusHandler {
    static func status(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let status = storage.status()
        var object = ObjectWriter(&out)
        object.text("version", call.server.version, &out)
        object.text("epoch", storage.epoch, &out)
        object.name("startedAt", &out)
        out.append(timestamp: storage.startedAt)
        object.text("profile", call.server.profile, &out)
        object.number("rev", Int(status.rev), &out)
        object.number("foldedRev", Int(status.foldedRev), &out)
        if call.showsDaemon { append(details: status, to: &object, call, &out, storage) }
        object.name("limits", &out)
        append(limits: call.server.limits, storage, to: &out)
        out.append("}")
        call.shows(status.rev)
    }

    /// What concerns the daemon as a whole, and others than the client.
    private static func append(
        details status: Storage.Status, to object: inout ObjectWriter, _ call: Call, _ out: inout ByteBuffer,
        _ storage: isolated Storage
    ) {
        let settings = storage.settings
        object.number("pid", Int(getpid()), &out)
        RecoveryHandlers.append(storage.recovered, to: &object, &out)
        if let trap = storage.boot.lastTrap { RecoveryHandlers.append(trap, to: &object, &out) }
        append(check: storage.boot.lastCheck, isRunning: call.server.isChecking, to: &object, &out)
        append(storage.damage, to: &object, &out)
        append(call.server.backupHealth, to: &object, &out)
        if let seed = storage.boot.seed { RecoveryHandlers.append(seed, to: &object, &out) }
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
        let models = storage.models
        object.numbers(
            "models",
            [
                ("namespaces", models.all.count), ("count", models.totals.entries), ("bytes", models.totals.bytes),
                ("limit", storage.configuration.modelBytes), ("memoryBytes", models.totals.memory),
                ("memoryLimit", storage.configuration.modelMemoryBytes),
            ], &out)
        let blobs = storage.blobs.totals
        object.numbers(
            "blobs",
            [
                ("count", blobs.blobs), ("contents", blobs.contents), ("bytes", blobs.bytes),
                ("limit", storage.configuration.blobBytes), ("memoryBytes", blobs.memory),
                ("memoryLimit", storage.configuration.blobMemoryBytes), ("uploads", call.server.uploads.count),
            ], &out)
        let room = storage.roomStatus()
        let space = storage.caches.space
        object.name("space", &out)
        var inner = ObjectWriter(&out)
        inner.number("free", room.free, &out)
        inner.number("total", space.total, &out)
        inner.number("minFree", space.threshold, &out)
        inner.boolean("low", space.isLow, &out)
        inner.number("timesLow", space.timesLow, &out)
        inner.number("purgedBytes", storage.caches.purgedBytes, &out)
        inner.boolean("full", room.isFull, &out)
        inner.number("missing", room.missing, &out)
        let usage = room.usage
        inner.numbers(
            "usage",
            [
                ("tables", usage.tables), ("tablesWal", usage.tablesWAL), ("attachments", usage.attachments),
                ("log", usage.log), ("caches", usage.caches), ("blobs", usage.blobs), ("backups", usage.backups),
                ("quarantine", usage.quarantine), ("reserve", usage.reserve),
            ], &out)
        out.append("}")
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
        append(disk: status.disk, unwritten: status.unwrittenCaches, to: &out)
        guard call.administersDaemon else { return }
        object.name("sockets", &out)
        append(sockets: call.server.sockets, to: &out)
        object.name("quotas", &out)
        append(quotas: call.server.access, to: &out)
    }

    private static func append(
        check: (at: Int64, problems: Int)?, isRunning: Bool, to object: inout ObjectWriter, _ out: inout ByteBuffer
    ) {
        guard check != nil || isRunning else { return }
        object.name("check", &out)
        var inner = ObjectWriter(&out)
        inner.boolean("running", isRunning, &out)
        if let check {
            inner.name("at", &out)
            out.append(timestamp: check.at)
            inner.number("problems", check.problems, &out)
        }
        out.append("}")
    }

    private static func append(sockets: [DaemonSocket], to out: inout ByteBuffer) {
        out.append("[")
        for (index, socket) in sockets.enumerated() {
            if index > 0 { out.append(",") }
            var object = ObjectWriter(&out)
            object.text("path", socket.rule.path, &out)
            if let name = socket.rule.name { object.text("name", name, &out) }
            let digits = String(socket.rule.mode, radix: 8)
            object.text("mode", String(repeating: "0", count: max(0, 4 - digits.count)) + digits, &out)
            if let owner = socket.rule.owner { object.number("owner", Int(owner), &out) }
            if let group = socket.rule.group { object.number("group", Int(group), &out) }
            if let role = socket.rule.role { object.text("role", role, &out) }
            object.number("connections", socket.connections, &out)
            out.append("}")
        }
        out.append("]")
    }

    /// What each role with a quota holds; users' own are told nowhere.
    private static func append(quotas access: AccessControl, to out: inout ByteBuffer) {
        var object = ObjectWriter(&out)
        for (role, account) in access.usage {
            object.name(role, &out)
            var inner = ObjectWriter(&out)
            inner.number("bytes", account.bytes, &out)
            inner.number("items", account.items, &out)
            inner.number("scopes", account.scopes, &out)
            if let limit = account.bytesLimit { inner.number("bytesLimit", limit, &out) }
            if let limit = account.itemsLimit { inner.number("itemsLimit", limit, &out) }
            inner.number("scopesLimit", account.scopesLimit, &out)
            out.append("}")
        }
        out.append("}")
    }

    /// `unwritten`: bytes of caches that are still to be written.
    private static func append(disk counts: WriteCounts, unwritten: Int, to out: inout ByteBuffer) {
        var object = ObjectWriter(&out)
        for (name, role) in [("log", FileRole.log), ("durable", .durable), ("cache", .cache), ("other", .other)] {
            let count = counts[role]
            object.name(name, &out)
            var inner = ObjectWriter(&out)
            inner.number("writes", count.writes, &out)
            inner.number("bytesWritten", count.bytesWritten, &out)
            inner.number("syncs", count.syncs, &out)
            // Of what kind of files: checkpoints write databases, and room is written in advance.
            inner.numbers("kinds", FilePart.allCases.map { ("\($0)", counts[role, $0].bytesWritten) }, &out)
            out.append("}")
        }
        object.number("unwritten", unwritten, &out)
        out.append("}")
    }

    static func append(limits: ServerLimits, _ storage: isolated Storage, to out: inout ByteBuffer) {
        var object = ObjectWriter(&out)
        for (name, value) in [
            ("lineBytes", limits.lineBytes), ("depth", JSONReader.defaultMaximumDepth),
            ("batchItems", limits.batchItems),
            ("connections", limits.connections), ("inputBytes", limits.inputBytes), ("outputBytes", limits.outputBytes),
            ("bufferBytes", limits.bufferBytes), ("stallSeconds", limits.stallSeconds),
            ("requestsPerTurn", limits.requestsPerTurn), ("subscriptions", limits.subscriptions),
            ("totalSubscriptions", limits.totalSubscriptions), ("descriptors", DescriptorQueue.limit),
            ("passedDescriptors", limits.passedDescriptors), ("transfers", limits.transfers),
            ("scopeBytes", WireLimits.scopeBytes),
            ("keyBytes", WireLimits.keyBytes), ("settingBytes", SettingsStore.valueLimit),
            ("settingsBytes", SettingsStore.totalLimit), ("documentBytes", DocumentsStore.valueLimit),
            ("replyBytes", limits.replyBytes),
        ] { object.number(name, value, &out) }
        out.append("}")
    }
}
