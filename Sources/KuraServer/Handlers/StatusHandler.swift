import KuraBytes
import Glibc
import KuraProtocol
import KuraSocket
import KuraStorage
import KuraTransport
import SQLite

/// Answers `storage.status`: numbers of the storage for whoever may read it, those of the daemon for who may administer it.
extension StorageHandlers {
    static func status(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let status = storage.status()
        out.openObject()
        out.append(.version, call.server.description.version)
        out.append(.epoch, storage.start.epoch)
        out.append(.startedAt, storage.start.startedAt)
        out.append(.profile, call.server.description.profile)
        out.append(.rev, status.rev)
        out.append(.foldedRev, status.foldedRev)
        if call.showsDaemon { append(details: status, call, to: &out, storage) }
        append(limits: call.server.limits, to: &out)
        out.closeObject()
        call.shows(status.rev)
    }

    /// What concerns the daemon as a whole, and others than the client.
    private static func append(
        details status: Storage.Status, _ call: Call, to out: inout ByteBuffer, _ storage: isolated Storage
    ) {
        let present = call.server.present()
        out.append(.pid, Int(getpid()))
        StorageHandlers.append(storage.recovered, to: &out)
        if let trap = storage.start.boot.lastTrap { StorageHandlers.append(trap, to: &out) }
        append(check: storage.start.boot.lastCheck, isRunning: present.isChecking, to: &out)
        append(storage.start.damage, to: &out)
        if let backups = present.backups { append(backups, to: &out) }
        if let seed = storage.start.boot.seed { StorageHandlers.append(seed, to: &out) }
        append(storesOf: call, to: &out, storage)
        append(spaceTo: &out, storage)
        append(work: status, to: &out, storage)
        append(trafficOf: call, connections: present.connections, to: &out)
        append(disk: status.disk, unwritten: status.unwrittenCaches, to: &out)
        guard call.administersDaemon else { return }
        out.append(.dataDirectory, storage.configuration.wholeDataDirectory)
        if call.server.description.isInMemory { out.append(.inMemory, true) }
        append(sockets: present.sockets, to: &out)
        append(quotas: call.server.access, to: &out)
    }

    private static func append(check: (at: Int64, problems: Int)?, isRunning: Bool, to out: inout ByteBuffer) {
        guard check != nil || isRunning else { return }
        out.openObject(.check)
        out.append(.running, isRunning)
        if let check {
            out.append(.at, check.at)
            out.append(.problems, check.problems)
        }
        out.closeObject()
    }

    private static func append(storesOf call: Call, to out: inout ByteBuffer, _ storage: isolated Storage) {
        for store in Store.published where store.isPublic {
            let totals = storage.totals(of: store)
            out.append(key: "\(store.described.name)")
            out.openObject()
            out.append(key: "\(store.described.scopeWord)s", totals.scopes)
            out.append(.count, totals.items)
            out.append(.bytes, totals.bytes)
            out.closeObject()
        }
        let models = storage.models
        out.openObject(.models)
        out.append(.namespaces, models.all.count)
        out.append(.count, models.totals.entries)
        out.append(.bytes, models.totals.bytes)
        out.append(.limit, storage.configuration.caches.modelBytes)
        out.append(.memoryBytes, models.totals.memory)
        out.append(.memoryLimit, storage.configuration.caches.modelMemoryBytes)
        out.closeObject()
        let blobs = storage.blobs.totals
        out.openObject(.blobs)
        out.append(.count, blobs.blobs)
        out.append(.contents, blobs.contents)
        out.append(.bytes, blobs.bytes)
        out.append(.limit, storage.configuration.caches.blobBytes)
        out.append(.memoryBytes, blobs.memory)
        out.append(.memoryLimit, storage.configuration.caches.blobMemoryBytes)
        out.append(.uploads, call.server.uploads.count)
        out.closeObject()
    }

    private static func append(spaceTo out: inout ByteBuffer, _ storage: isolated Storage) {
        let room = storage.roomStatus()
        let space = storage.caches.space
        out.openObject(.space)
        out.append(.free, room.free)
        out.append(.total, space.total)
        out.append(.minFree, space.threshold)
        out.append(.low, space.isLow)
        out.append(.timesLow, space.timesLow)
        out.append(.purgedBytes, storage.caches.purgedBytes)
        out.append(.full, room.isFull)
        out.append(.missing, room.missing)
        let usage = room.usage
        out.openObject(.usage)
        out.append(.tables, usage.tables)
        out.append(.tablesWal, usage.tablesWAL)
        out.append(.attachments, usage.attachments)
        out.append(.log, usage.log)
        out.append(.caches, usage.caches)
        out.append(.blobs, usage.blobs)
        out.append(.backups, usage.backups)
        out.append(.quarantine, usage.quarantine)
        out.append(.reserve, usage.reserve)
        out.closeObject()
        out.closeObject()
    }

    /// The log, and what is kept in memory on its way to the tables and back.
    private static func append(work status: Storage.Status, to out: inout ByteBuffer, _ storage: isolated Storage) {
        out.openObject(.log)
        out.append(.segments, status.segments)
        out.append(.bytes, status.logBytes)
        out.append(.commits, status.commits)
        out.append(.syncs, status.syncs)
        out.append(.durableRev, status.durableRev)
        out.append(.noOpWrites, status.noOpWrites)
        out.closeObject()
        out.openObject(.overlay)
        out.append(.items, status.overlayItems)
        out.append(.bytes, status.overlayBytes)
        out.append(.peakBytes, status.overlayPeak)
        out.append(.limit, storage.configuration.fold.overlayBytes)
        out.closeObject()
        out.openObject(.cache)
        out.append(.items, status.cacheItems)
        out.append(.bytes, status.cacheBytes)
        out.append(.limit, storage.configuration.cacheBytes)
        out.closeObject()
    }

    private static func append(trafficOf call: Call, connections: Int, to out: inout ByteBuffer) {
        out.openObject(.connections)
        out.append(.open, connections)
        out.append(.accepted, call.server.traffic.connections)
        out.append(.requests, call.server.traffic.requests)
        out.append(.launches, call.server.traffic.launches)
        out.append(.subscriptions, call.changes.count)
        out.closeObject()
        let buffers = call.server.buffers
        out.openObject(.buffers)
        out.append(.bytes, buffers.used)
        out.append(.peakBytes, buffers.peak)
        out.append(.limit, buffers.limit)
        out.append(.pauses, buffers.pauses)
        out.append(.overloaded, buffers.refused)
        out.append(.turnedAway, buffers.turnedAway)
        out.append(.closed, buffers.closed)
        out.append(.descriptorsLost, buffers.descriptorsLost)
        out.closeObject()
    }

    private static func append(sockets: [DaemonSocket], to out: inout ByteBuffer) {
        out.openList(.sockets)
        for socket in sockets {
            out.openObject()
            out.append(.path, socket.rule.path)
            if let name = socket.rule.name { out.append(.name, name) }
            let digits = String(socket.rule.mode, radix: 8)
            out.append(.mode, String(repeating: "0", count: max(0, 4 - digits.count)) + digits)
            if let owner = socket.rule.owner { out.append(.owner, owner) }
            if let group = socket.rule.group { out.append(.group, group) }
            if let role = socket.rule.role { out.append(.role, role) }
            out.append(.connections, socket.connections)
            out.closeObject()
        }
        out.closeList()
    }

    /// What each role with a quota holds; users' own are told nowhere.
    private static func append(quotas access: AccessControl, to out: inout ByteBuffer) {
        out.openObject(.quotas)
        for (role, account) in access.usage {
            out.append(key: role)
            out.openObject()
            out.append(.bytes, account.bytes)
            out.append(.items, account.items)
            out.append(.scopes, account.scopes)
            if let limit = account.bytesLimit { out.append(.bytesLimit, limit) }
            if let limit = account.itemsLimit { out.append(.itemsLimit, limit) }
            out.append(.scopesLimit, account.scopesLimit)
            out.closeObject()
        }
        out.closeObject()
    }

    /// `unwritten`: bytes of caches that are still to be written.
    private static func append(disk counts: WriteCounts, unwritten: Int, to out: inout ByteBuffer) {
        out.openObject(.disk)
        let roles: [(ObjectMember, FileRole)] = [
            (.log, .log), (.durable, .durable), (.cache, .cache), (.other, .other),
        ]
        for (name, role) in roles {
            let count = counts[role]
            out.openObject(name)
            out.append(.writes, count.writes)
            out.append(.bytesWritten, count.bytesWritten)
            out.append(.syncs, count.syncs)
            // Of what kind of files: checkpoints write databases, and room is written in advance.
            out.openObject(.kinds)
            for part in FilePart.allCases { out.append(key: "\(part)", counts[role, part].bytesWritten) }
            out.closeObject()
            out.closeObject()
        }
        out.append(.unwritten, unwritten)
        out.closeObject()
    }

    /// The member `limits`.
    static func append(limits: ServerLimits, to out: inout ByteBuffer) {
        out.openObject(.limits)
        out.append(.lineBytes, limits.lineBytes)
        out.append(.depth, JSONReader.defaultMaximumDepth)
        out.append(.batchItems, limits.batchItems)
        out.append(.connections, limits.connections)
        out.append(.inputBytes, limits.inputBytes)
        out.append(.outputBytes, limits.outputBytes)
        out.append(.bufferBytes, limits.bufferBytes)
        out.append(.stallSeconds, limits.stallSeconds)
        out.append(.requestsPerTurn, limits.requestsPerTurn)
        out.append(.subscriptions, limits.subscriptions)
        out.append(.totalSubscriptions, limits.totalSubscriptions)
        out.append(.descriptors, DescriptorQueue.limit)
        out.append(.passedDescriptors, limits.passedDescriptors)
        out.append(.transfers, limits.transfers)
        out.append(.scopeBytes, WireLimits.scopeBytes)
        out.append(.keyBytes, WireLimits.keyBytes)
        out.append(.settingBytes, SettingsStore.valueLimit)
        out.append(.settingsBytes, SettingsStore.totalLimit)
        out.append(.documentBytes, DocumentsStore.valueLimit)
        out.append(.replyBytes, limits.replyBytes)
        out.closeObject()
    }
}
