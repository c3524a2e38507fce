import JSONSchema
import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// Answers `settings.*`.
extension SettingsHandlers {
    // MARK: Reading

    static func get(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let (domain, key) = (call[SettingsGet.domain], call[SettingsGet.key])
        let found = storage.settings.get(domain, key)
        call.shows(found)
        if let item = found.item { try call.refuseUnlessRoom(for: item.value.count) }
        // Nothing around the setting: this is what nearly every request finds.
        if found.annex != nil || call.connection?.client.overrides != nil,
            let view = call.view(domain, found.annex, storage)
        {
            append(found, view, call, &out)
            return
        }
        var layer = Layer.app
        out.openObject()
        if let item = found.item {
            out.append(.value, json: item.value)
            out.append(.rev, item.rev)
        } else {
            layer = call.has(SettingsGet.default) ? .default : .none
            if layer == .default { out.append(.value, json: call[SettingsGet.default]) }
            out.append(.rev, 0)
        }
        if call[SettingsGet.explain] { out.append(.layer, word: layer.word) }
        out.closeObject()
    }

    /// A setting with layers around it.
    private static func append(_ found: Lookup, _ view: LayerView, _ call: Call, _ out: inout ByteBuffer) {
        let key = call[SettingsGet.key]
        let rev = found.item?.rev ?? 0
        let given =
            call.has(SettingsGet.default) ? LayeredValue(layer: .default, value: call[SettingsGet.default]) : nil
        let winner = view.winner(key, app: found.item?.value) ?? given
        out.openObject()
        if let winner { out.append(.value, json: winner.value) }
        out.append(.rev, rev)
        if call[SettingsGet.explain] {
            let layer = winner?.layer ?? .none
            out.append(.layer, word: layer.word)
            if layer == .locked, let locked = view.domain?.locked, let index = locked.index(of: key) {
                out.append(.reason, locked.reason(index))
            }
            append(hidden: view, key, found.item?.value, beneath: layer, &out)
        }
        out.closeObject()
    }

    private static func append(
        hidden view: LayerView, _ key: Bytes, _ app: Bytes?, beneath winner: Layer, _ out: inout ByteBuffer
    ) {
        var isFirst = true
        view.forEach(key, app: app) { hidden in
            guard hidden.layer.rawValue > winner.rawValue else { return }
            if isFirst { out.openList(.hidden) }
            isFirst = false
            out.openObject()
            out.append(.layer, word: hidden.layer.word)
            out.append(.value, json: hidden.value)
            out.closeObject()
        }
        if !isFirst { out.closeList() }
    }

    static func getMany(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let domain = call[SettingsGetMany.domain]
        let view = call.view(domain, storage)
        var reply = GatheredReply(call, basis: view?.domain, storage)
        var page = SettingsPage(explains: call[SettingsGetMany.explain], limit: .max, at: out.count, call)
        page.goOn(from: reply.state, call)
        if reply.isNew {
            out.openObject()
            out.openObject(.values)
            reply.opened(out.count, call)
        }
        // A deletion may leave nothing behind, so the domain as a whole is asked.
        try reply.checkMoment(storage.settings.count(domain).shownRev, basis: view?.domain, &out, call, storage)
        try call.forEachName(of: SettingsGetMany.keys, limit: WireLimits.getManyItems, after: reply.state.done) {
            (key) throws(Refusal) in
            try reply.checkTime(out.count, aside: call.memory.otherScratch, call)
            let found = storage.settings.get(domain, key)
            call.shows(found)
            let winner =
                if let view { view.winner(key, app: found.item?.value) } else {
                    found.item.map { LayeredValue(layer: .app, value: $0.value) }
                }
            reply.advance(winner?.value.count ?? 0)
            guard let winner else { return }
            try reply.checkRoom(for: winner.value.count, out.count, call)
            page.add(key, winner.layer, winner.value, &out, call)
            reply.addedFirst()
        }
        out.closeObject()
        page.close(&out, call)
        out.append(.rev, reply.state.rev)
        out.closeObject()
        call.shows(reply.state.rev)
    }

    static func list(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let (domain, prefix) = (call[SettingsList.domain], call[SettingsList.prefix])
        let list = try call.page(
            cursor: SettingsList.cursor, of: SettingsList.domain, SettingsList.prefix, SettingsList.layers)
        let isEffective = !call[SettingsList.layers].elementsEqual("app".utf8)
        var page = SettingsPage(
            explains: call[SettingsList.explain], limit: Int(call[SettingsList.limit] ?? 1000), at: out.count, call)
        var others = LayerMerge(isEffective ? call.view(domain, storage) : nil, prefix: prefix, after: list.after)
        out.openObject()
        out.openObject(.values)
        let shown = storage.settings.list(domain, prefix: prefix, afterKey: list.after) { item in
            while let key = others.key, key.precedes(item.key) {
                guard page.hasRoom(out.count), let value = others.take(key, app: nil) else { return false }
                page.add(key, value.layer, value.value, &out, call)
            }
            guard page.hasRoom(out.count), let value = others.take(item.key, app: item.value) else { return false }
            page.add(item.key, value.layer, value.value, &out, call)
            return true
        }
        while let key = others.key, page.hasRoom(out.count), let value = others.take(key, app: nil) {
            page.add(key, value.layer, value.value, &out, call)
        }
        call.shows(max(shown, storage.rev))
        out.closeObject()
        page.close(&out, call)
        out.append(.rev, list.rev(storage.rev))
        if page.hasMore { list.append(cursor: call.memory.scratch.bytes, rev: storage.rev, to: &out) }
        out.closeObject()
    }

    static func count(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let counted = storage.settings.count(call[SettingsCount.domain])
        call.appendCount(counted.count, to: &out, storage)
    }

    static func scopes(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        call.append(scopes: storage.settings.scopes(), of: .settings, named: .domain, to: &out, storage)
    }

    // MARK: Writing

    static func put(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let (domain, key, value) = (call[SettingsPut.domain], call[SettingsPut.key], call[SettingsPut.value])
        let layers = call.layers(domain, storage)
        try call.refuseLocked(layers, key)
        let warning = try call.check(layers, key, value)
        let result = try call.run { () throws(EngineError) in
            try storage.settings.put(
                domain, key, value, ifRev: call.condition(SettingsPut.ifRev), by: call.author(storage))
        }
        out.openObject()
        out.append(.rev, result.rev)
        call.append(warning: warning, to: &out)
        call.append(durabilityOf: result, to: &out, storage)
        out.closeObject()
    }

    static func delete(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let (domain, key) = (call[SettingsDelete.domain], call[SettingsDelete.key])
        try call.refuseLocked(call.layers(domain, storage), key)
        let result = try call.run { () throws(EngineError) in
            try storage.settings.delete(
                domain, key, ifRev: call.condition(SettingsDelete.ifRev), by: call.author(storage))
        }
        out.openObject()
        out.append(.rev, result.changed > 0 ? result.rev : 0)
        out.append(.deleted, result.changed > 0)
        call.append(durabilityOf: result, to: &out, storage)
        out.closeObject()
    }

    static func putMany(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let domain = call[SettingsPutMany.domain]
        let layers = call.layers(domain, storage)
        let warnings = try call.check(layers, all: call[SettingsPutMany.values])
        var refusal: Refusal?
        let result: WriteResult
        do throws(EngineError) {
            result = try storage.settings.putMany(
                domain, ifRev: call.condition(SettingsPutMany.ifRev), by: call.author(storage)
            ) {
                (batch: inout SettingsStore.Batch) throws(EngineError) in
                do throws(Refusal) { try fill(&batch, layers, call) } catch {
                    refusal = error
                    throw .busy
                }
            }
        } catch { throw refusal ?? Refusal(error, call: call) }
        out.openObject()
        out.append(.rev, result.rev)
        out.append(.changed, result.changed)
        call.append(warnings: warnings, to: &out)
        call.append(durabilityOf: result, to: &out, storage)
        out.closeObject()
    }

    private static func fill(
        _ batch: inout SettingsStore.Batch, _ layers: DomainLayers?, _ call: Call
    ) throws(Refusal) {
        var deleted: Set<[UInt8]> = []
        if call.has(SettingsPutMany.delete) {
            var index = 0
            try call.forEachName(of: SettingsPutMany.delete, limit: WireLimits.listItems) { (key) throws(Refusal) in
                try call.refuseLocked(layers, key)
                do throws(EngineError) {
                    guard deleted.insert(Array(key)).inserted else { throw .duplicate(index: index) }
                    try batch.delete(key)
                } catch {
                    guard case .error(let fault) = Refusal(error, call: call) else { throw Refusal(error, call: call) }
                    throw .error(call.error(fault, in: SettingsPutMany.delete, index))
                }
                index += 1
            }
        }
        var walk = JSONWalk(call[SettingsPutMany.values], storage: call.memory.walk)
        var index = 0
        while let (key, value) = walk.nextMember() {
            guard index < WireLimits.listItems else {
                throw .error(
                    RPCError(
                        .invalidParams, hint: "too many values", parameter: call.name(SettingsPutMany.values),
                        limit: WireLimits.listItems))
            }
            guard JSONWalk.isName(key, limit: WireLimits.keyBytes) else {
                throw .error(
                    RPCError(.invalidParams, hint: "a key is 1 to 512 bytes without control characters", index: index))
            }
            guard deleted.isEmpty || !deleted.contains(Array(key)) else {
                throw .error(
                    RPCError(
                        .invalidParams, hint: "a key is in values and in delete",
                        parameter: call.name(SettingsPutMany.delete),
                        index: index))
            }
            do throws(Refusal) { try call.refuseLocked(layers, key) } catch { throw error.at(index: index) }
            do throws(EngineError) { try batch.put(key, value) } catch {
                guard case .error(var fault) = Refusal(error, call: call) else { throw Refusal(error, call: call) }
                if case .valueTooLarge = error {
                    call.name(&fault, "values", at: "/" + JSONPointer.token(Array(key)))
                }
                throw .error(fault.at(index: index))
            }
            index += 1
        }
    }

    static func increment(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let (domain, key) = (call[SettingsIncrement.domain], call[SettingsIncrement.key])
        let layers = call.layers(domain, storage)
        try call.refuseLocked(layers, key)
        var initial = call[SettingsIncrement.initial]
        if initial == nil, let fallback = layers?.fallback(key) {
            let isAbsent = storage.settings.get(domain, key).item == nil
            initial = integer(fallback.value)
            if isAbsent, initial == nil { throw Refusal(SettingsError.typeMismatch, call: call) }
        }
        var warning: Violation?
        var refusal: Refusal?
        let result: (value: Int64, result: WriteResult)
        do throws(SettingsError) {
            result = try storage.settings.increment(
                domain, key, by: call[SettingsIncrement.by] ?? 1, initial: initial ?? 0, author: call.author(storage)
            ) {
                (sum) throws(EngineError) in
                do throws(Refusal) { warning = try call.check(layers, key, sum) } catch {
                    refusal = error
                    throw .busy
                }
            }
        } catch { throw refusal ?? Refusal(error, call: call) }
        out.openObject()
        out.append(.value, result.value)
        out.append(.rev, result.result.rev)
        call.append(warning: warning, to: &out)
        call.append(durabilityOf: result.result, to: &out, storage)
        out.closeObject()
    }
}

extension SettingsHandlers {
    /// The whole number that a value's text is; nil for anything else.
    private static func integer(_ text: Bytes) -> Int64? {
        guard let first = text.first, first == UInt8(ascii: "-") || (0x30...0x39).contains(first) else { return nil }
        return JSONNumber.integer(text)
    }
}

/// Members of a reply's `values`, up to its bounds, and with `explain` the layers that they come from.
struct SettingsPage {
    private let explains: Bool
    private let limit: Int
    private let start: Int
    private var count = 0
    /// There was more than there was room for; the last key that was added stands in the call's scratch.
    private(set) var hasMore = false

    /// Bytes after which a page ends: it is made in one piece, and kept for the client in one.
    private static let bytes = 1 << 20
    private let bytesLimit: Int

    /// The same for pages of other shapes.
    static func bytes(_ call: Call) -> Int { min(bytes, call.server.limits.replyBytes) }

    init(explains: Bool, limit: Int, at start: Int, _ call: Call) {
        self.explains = explains
        self.limit = limit
        self.start = start
        bytesLimit = Self.bytes(call)
        call.memory.scratch.removeAll()
        call.memory.otherScratch.removeAll()
    }

    /// What stands there from earlier turns.
    func goOn(from gathered: ConnectionState.Gathering, _ call: Call) {
        call.memory.otherScratch.append(gathered.aside)
    }

    /// Asked before each member: false ends the page.
    mutating func hasRoom(_ end: Int) -> Bool {
        if count >= limit || end - start >= bytesLimit { hasMore = true }
        return !hasMore
    }

    mutating func add(_ key: Bytes, _ layer: Layer, _ value: Bytes, _ out: inout ByteBuffer, _ call: Call) {
        count += 1
        out.append(key: key, json: value)
        call.memory.scratch.removeAll()
        call.memory.scratch.append(key)
        if explains { call.memory.otherScratch.append(key: key, json: layer.quoted) }
    }

    func close(_ out: inout ByteBuffer, _ call: Call) {
        guard explains else { return }
        out.openObject(.layers)
        out.append(call.memory.otherScratch.bytes)
        out.closeObject()
    }
}
