import KuraProtocol
import KuraStorage

/// Answers `settings.*`. Numbers of parameters are positions in the method table.
enum SettingsHandlers {
    static let all: [String: Handler] = [
        "settings.get": get, "settings.getMany": getMany, "settings.put": put, "settings.delete": delete,
        "settings.list": list, "settings.putMany": putMany, "settings.increment": increment, "settings.count": count,
        "settings.scopes": scopes,
    ]

    // MARK: Reading

    static func get(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let found = storage.settings.get(call.reader.string(0), call.reader.string(1))
        call.shows(found.shownRev)
        var layer: StaticString = "app"
        if let item = found.item {
            out.append("{\"value\":")
            out.append(item.value)
            out.append(",\"rev\":")
            out.append(unsigned: item.rev)
        } else if call.reader.has(2) {
            layer = "default"
            out.append("{\"value\":")
            out.append(call.reader.json(2))
            out.append(",\"rev\":0")
        } else {
            layer = "none"
            out.append("{\"rev\":0")
        }
        if call.reader.boolean(3) {
            out.append(",\"layer\":\"")
            out.append(layer)
            out.append("\"")
        }
        out.append("}")
    }

    static func getMany(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let domain = call.reader.string(0)
        out.append("{\"values\":{")
        var isFirst = true
        try call.forEachName(of: 1, limit: WireLimits.getManyItems) { (key) throws(Refusal) in
            let found = storage.settings.get(domain, key)
            call.shows(found.shownRev)
            guard let item = found.item else { return }
            out.append(member: item.key, item.value, isFirst: &isFirst)
        }
        out.append("},\"rev\":")
        out.append(unsigned: storage.rev)
        out.append("}")
        call.shows(storage.rev)
    }

    static func list(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let limit = Int(call.reader.integer(3) ?? 1000)
        let after = try Cursor.key(call, parameter: 2)
        let start = out.count
        var count = 0
        var hasMore = false
        var isFirst = true
        out.append("{\"values\":{")
        call.scratch.removeAll()
        let list = { (body: (StoredItem) -> Bool) -> UInt64 in
            let prefix = call.reader.string(1)
            guard let after else {
                return storage.settings.list(call.reader.string(0), prefix: prefix, after: nil, body)
            }
            return after.withUnsafeBytes {
                storage.settings.list(call.reader.string(0), prefix: prefix, after: $0, body)
            }
        }
        let shown = list { item in
            // A page ends at its limit, or before it outgrows what is kept for a client in one piece.
            guard count < limit, out.count - start < 4 << 20 else {
                hasMore = true
                return false
            }
            count += 1
            out.append(member: item.key, item.value, isFirst: &isFirst)
            call.scratch.removeAll()
            call.scratch.append(item.key)
            return true
        }
        call.shows(max(shown, storage.rev))
        out.append("},\"rev\":")
        out.append(unsigned: storage.rev)
        if hasMore {
            out.append(",\"cursor\":")
            Cursor.append(key: call.scratch.bytes, to: &out)
        }
        out.append("}")
    }

    static func count(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let counted = storage.settings.count(call.reader.string(0))
        call.appendCount(counted.count, to: &out, storage)
    }

    static func scopes(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        call.append(scopes: storage.settings.scopes(), named: "domain", to: &out, storage)
    }

    // MARK: Writing

    static func put(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let result = try call.run { () throws(StoreError) in
            try storage.settings.put(
                call.reader.string(0), call.reader.string(1), call.reader.json(2), ifRev: call.condition(3))
        }
        call.append(rev: result.rev, to: &out)
        out.append("}")
    }

    static func delete(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let result = try call.run { () throws(StoreError) in
            try storage.settings.delete(call.reader.string(0), call.reader.string(1), ifRev: call.condition(2))
        }
        call.append(deletion: result, to: &out)
    }

    static func putMany(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        var refusal: Refusal?
        let result: WriteResult
        do throws(StoreError) {
            result = try storage.settings.putMany(call.reader.string(0), ifRev: call.condition(3)) {
                (batch: inout SettingsStore.Batch) throws(StoreError) in
                do throws(Refusal) { try fill(&batch, call) } catch {
                    refusal = error
                    throw .busy
                }
            }
        } catch { throw refusal ?? Refusal(error, call: call) }
        call.append(rev: result.rev, to: &out)
        out.append(",\"changed\":")
        out.append(integer: Int64(result.changed))
        out.append("}")
    }

    private static func fill(_ batch: inout SettingsStore.Batch, _ call: Call) throws(Refusal) {
        var deleted: Set<[UInt8]> = []
        if call.reader.has(2) {
            try call.forEachName(of: 2, limit: WireLimits.listItems) { (key) throws(Refusal) in
                deleted.insert(Array(key))
                do throws(StoreError) { try batch.delete(key) } catch { throw Refusal(error, call: call) }
            }
        }
        var walk = JSONWalk(call.reader.json(1), storage: call.walk)
        var index = 0
        while let (key, value) = walk.nextMember() {
            guard index < WireLimits.listItems else {
                throw .error(
                    RPCError(
                        .invalidParams, hint: "too many values", parameter: call.reader.name(1),
                        limit: WireLimits.listItems))
            }
            guard JSONWalk.isName(key, limit: WireLimits.keyBytes) else {
                throw .error(
                    RPCError(.invalidParams, hint: "a key is 1 to 512 bytes without control characters", index: index))
            }
            guard deleted.isEmpty || !deleted.contains(Array(key)) else {
                throw .error(
                    RPCError(
                        .invalidParams, hint: "a key is in values and in delete", parameter: call.reader.name(2),
                        index: index))
            }
            do throws(StoreError) { try batch.put(key, value) } catch {
                throw Refusal(error, call: call).at(index: index)
            }
            index += 1
        }
    }

    static func increment(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let result = try call.run { () throws(StoreError) in
            try storage.settings.increment(
                call.reader.string(0), call.reader.string(1), by: call.reader.integer(2) ?? 1,
                initial: call.reader.integer(3) ?? 0)
        }
        out.append("{\"value\":")
        out.append(integer: result.value)
        out.append(",\"rev\":")
        out.append(unsigned: result.rev)
        out.append("}")
        call.shows(result.rev)
    }
}
