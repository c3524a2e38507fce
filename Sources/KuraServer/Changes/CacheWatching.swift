import KuraBytes
import KuraProtocol
import KuraStorage

/// `changes.watch` of caches: their changes are in no log, have revisions of their own, and an epoch that ends with the run.
extension ChangesHandlers {
    static func watchCaches(
        _ selector: ChangeSelector, _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        let (reader, changes) = (call.reader, storage.caches.changes)
        guard !selector.values else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "caches tell what has changed, and not what it is now",
                    parameter: reader.name(ChangesWatch.values)))
        }
        if reader.has(ChangesWatch.epoch), !reader[ChangesWatch.epoch].elementsEqual(changes.epoch.utf8) {
            throw .error(RPCError(.epochChanged))
        }
        var rev = changes.rev
        if let after = reader[ChangesWatch.afterRev] {
            guard reader.has(ChangesWatch.epoch) else {
                throw .error(
                    RPCError(
                        .invalidParams, hint: "caches count anew in each run: say of which epoch the revision is",
                        parameter: reader.name(ChangesWatch.epoch)))
            }
            guard after <= rev else {
                throw .error(
                    RPCError(
                        .invalidParams, hint: "no change has this revision yet",
                        parameter: reader.name(ChangesWatch.afterRev),
                        currentRev: rev))
            }
            rev = UInt64(after)
            let oldest = changes.oldestRev(of: selector.filter.caches)
            guard rev >= oldest else { throw Refusal(.compacted(oldestRev: oldest), call: call) }
        }
        guard let connection = call.connection else { return }
        try admit(connection, call)
        changes.begin(selector.filter.caches)
        let number = call.changes.subscribe(connection, selector, after: rev, at: call.clock.monotonic)
        // Until somebody acknowledges it, whoever begins to watch is told.
        if selector.filter.caches.contains(.storage), !storage.recovered.isEmpty { storage.tellRecovered() }
        if selector.filter.caches.contains(.storage), !storage.writeReports.isEmpty { storage.tellBudgets() }
        out.append("{\"subscription\":")
        out.append(integer: Int64(number))
        out.append(",\"rev\":")
        out.append(unsigned: rev)
        out.append(",\"epoch\":")
        out.append(quoted: changes.epoch)
        out.append("}")
    }
}

extension ByteBuffer {
    /// The array of a page's changes.
    mutating func append(caches page: CacheChanges.Page) {
        append("[")
        for (position, (rev, change)) in page.changes.enumerated() {
            let target = change.target
            append(position == 0 ? "{\"store\":\"" : ",{\"store\":\"")
            append(target.source.wireName)
            append("\"")
            append(",\"scope\":", quoted: target.scope)
            switch target.extent {
            case .entry: append(",\"key\":", quoted: target.name)
            case .prefix: append(",\"prefix\":", quoted: target.name)
            case .tag: append(",\"tag\":", quoted: target.name)
            case .whole: break
            }
            append(",\"variant\":", quoted: target.variant)
            append(",\"rev\":")
            append(unsigned: rev)
            switch change.event {
            case .stored: append("}")
            case .deleted: append(",\"deleted\":true}")
            case .invalidated: append(",\"mode\":\"stale\"}")
            case .dropped: append(",\"mode\":\"drop\"}")
            case .becameLow: append(",\"low\":true}")
            case .becameAmple: append(",\"low\":false}")
            case .recovered: append(",\"recovered\":true}")
            case .acknowledged: append(",\"recovered\":false}")
            case .overBudget: append(",\"overBudget\":true}")
            case .withinBudget: append(",\"overBudget\":false}")
            }
        }
        append("]")
    }

    private mutating func append(_ name: StaticString, quoted text: [UInt8]) {
        guard !text.isEmpty else { return }
        append(name)
        text.withBytes { append(quoted: $0) }
    }
}

extension CacheSources {
    /// As the wire calls one of them.
    var wireName: StaticString {
        switch self {
        case .models: "models"
        case .blobs: "blobs"
        default: "storage"
        }
    }

    init?(wireName: Bytes) {
        guard let source = Self.all.first(where: { wireName.equals($0.wireName) }) else { return nil }
        self = source
    }
}
