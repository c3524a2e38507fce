import KuraBytes
import KuraProtocol
import KuraStorage

/// `changes.watch` of caches: their changes are in no log, have revisions of their own, and an epoch that ends with the run.
extension ChangesHandlers {
    static func watchCaches(
        _ selector: ChangeSelector, _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        let changes = storage.caches.changes
        guard selector.details.isEmpty else {
            let isOfValues = selector.details.contains(.values)
            throw .error(
                RPCError(
                    .invalidParams, hint: "caches tell what has changed, and not what it is now",
                    parameter: isOfValues ? call.name(ChangesWatch.values) : call.name(ChangesWatch.members)))
        }
        if call.has(ChangesWatch.epoch), !call[ChangesWatch.epoch].elementsEqual(changes.epoch.utf8) {
            throw .error(RPCError(.epochChanged))
        }
        var rev = changes.rev
        if let after = call[ChangesWatch.afterRev] {
            guard call.has(ChangesWatch.epoch) else {
                throw .error(
                    RPCError(
                        .invalidParams, hint: "caches count anew in each run: say of which epoch the revision is",
                        parameter: call.name(ChangesWatch.epoch)))
            }
            guard after <= rev else {
                throw .error(
                    RPCError(
                        .invalidParams, hint: "no change has this revision yet",
                        parameter: call.name(ChangesWatch.afterRev),
                        currentRev: rev))
            }
            rev = UInt64(after)
            let oldest = changes.oldestRev(of: selector.filter.caches)
            guard rev >= oldest else { throw Refusal(ChangesError.compacted(oldestRev: oldest), call: call) }
        }
        guard let connection = call.connection else { return }
        try admit(connection, call)
        changes.begin(selector.filter.caches)
        let number = call.changes.subscribe(connection, selector, after: rev, at: call.clock.monotonic)
        // Until somebody acknowledges it, whoever begins to watch is told.
        if selector.filter.caches.contains(.storage), !storage.recovered.isEmpty { storage.tellRecovered() }
        if selector.filter.caches.contains(.storage), !storage.bill.reports.isEmpty { storage.bill.tellBudgets() }
        out.append(subscription: number, rev: rev, epoch: changes.epoch)
    }
}

extension ByteBuffer {
    /// The array of a page's changes.
    mutating func append(caches page: CacheChanges.Page) {
        openList()
        for (rev, change) in page.changes {
            let target = change.target
            openObject()
            append(.store, word: target.source.name)
            append(.scope, unlessEmpty: target.scope)
            switch target.extent {
            case .entry: append(.key, unlessEmpty: target.name)
            case .prefix: append(.prefix, unlessEmpty: target.name)
            case .tag: append(.tag, unlessEmpty: target.name)
            case .whole: break
            }
            append(.variant, unlessEmpty: target.variant)
            append(.rev, rev)
            switch change.event {
            case .stored: break
            case .deleted: append(.deleted, true)
            case .invalidated: append(.mode, word: "stale")
            case .dropped: append(.mode, word: "drop")
            case .becameLow: append(.low, true)
            case .becameAmple: append(.low, false)
            case .recovered: append(.recovered, true)
            case .acknowledged: append(.recovered, false)
            case .overBudget: append(.overBudget, true)
            case .withinBudget: append(.overBudget, false)
            }
            closeObject()
        }
        closeList()
    }

    private mutating func append(_ member: TextMember, unlessEmpty text: [UInt8]) {
        if !text.isEmpty { append(member, text) }
    }
}

extension CacheSources {
    init?(wireName: Bytes) {
        guard let source = Self.all.first(where: { wireName.equals($0.name) }) else { return nil }
        self = source
    }
}
