import JSONSchema
import KuraBytes
import KuraProtocol
import KuraStorage

/// What a domain is configured to be, and its description.
extension SettingsHandlers {
    // MARK: Configuring

    static func configure(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let domain = call[SettingsConfigure.domain]
        try call.checkFlushSeconds(
            of: SettingsConfigure.domain, durability: SettingsConfigure.durability,
            flushSeconds: SettingsConfigure.flushSeconds, .settings, storage)
        // Asked again in each turn of a long check, so in the one, too, that changes something.
        try call.run { () throws(EngineError) in
            try storage.configurations.check(call.condition(SettingsConfigure.ifRev), .settings, domain)
        }
        var violations: [SettingViolation] = []
        var checked = 0
        var mode = SchemaMode.off
        if let check = try finishedCheck(call, storage) {
            let registered = call.layers(domain, storage)?.registered
            violations = check.violations(registered: registered, storage)
            checked = storage.settings.count(domain).count + (registered?.count ?? 0)
            mode = check.rules.mode
        }
        let isRefused = mode == .enforce && !violations.isEmpty && !call[SettingsConfigure.force]
        let applies = !isRefused && !call[SettingsConfigure.dryRun]
        var rev = storage.configurations.rev(.settings, domain)
        if applies {
            let transaction = storage.beginTransaction(by: call.author(storage))
            do throws(Refusal) { try stage(call, storage) } catch {
                storage.abandon(transaction)
                throw error
            }
            rev = storage.end(transaction) ?? rev
        }
        call.begun?.progress.work = nil
        call.append(rev: rev, to: &out)
        out.append(.applied, applies)
        call.append(violations: violations, named: .violations, to: &out)
        out.append(.checked, checked)
        out.closeObject()
        // What was found was seen in settings as they are now.
        call.shows(storage.rev)
    }

    /// The check of the settings against the schema as it is to be; nil when the request does not concern it.
    /// - Throws: `.waits` while it is under way.
    private static func finishedCheck(_ call: Call, _ storage: isolated Storage) throws(Refusal) -> SchemaCheck? {
        guard call.has(SettingsConfigure.schema) || call.has(SettingsConfigure.mode) else { return nil }
        let domain = call[InSettings.domain]
        let configured = storage.configurations
        var text = call[SettingsConfigure.schema]
        if text.isEmpty {
            text = configured.get(.settings, domain, ConfigurationStore.schema).item?.value ?? text
        }
        guard !text.isEmpty, !text.elementsEqual("null".utf8) else { return nil }
        let mode =
            mode(call)
            ?? configured.get(.settings, domain, ConfigurationStore.mode).item.flatMap {
                SchemaMode($0.value)
            }
        let check = try check(domain, text, mode ?? .warn, call)
        if call.isOperation {
            // A transaction is begun anew as a whole, so its checks cannot be parted.
            guard storage.settings.count(domain).count <= WireLimits.transactionItems else {
                throw .error(
                    RPCError(
                        .invalidParams, hint: "a domain with more settings is configured outside of transactions",
                        limit: WireLimits.transactionItems))
            }
            _ = check.advance(storage, toEnd: true)
            return check
        }
        call.begin()?.progress.work = check
        guard check.advance(storage, toEnd: false) else { throw .waits(call.attempt.isAhead ? .order : .room) }
        return check
    }

    private static func check(
        _ domain: Bytes, _ text: Bytes, _ mode: SchemaMode, _ call: Call
    ) throws(Refusal) -> SchemaCheck {
        if !call.isOperation, let known = call.begun?.progress.work as? SchemaCheck, known.isOf(domain, text, mode) {
            return known
        }
        do throws(SchemaError) {
            return try SchemaCheck(domain: domain, text: text, mode: mode)
        } catch {
            throw .error(
                call.errorTexts.fault(
                    .invalidParams, path: error.pointer, error.message,
                    parameter: call.name(SettingsConfigure.schema)))
        }
    }

    private static func mode(_ call: Call) -> SchemaMode? {
        guard call.has(SettingsConfigure.mode) else { return nil }
        return SchemaMode(rawValue: String(decoding: call[SettingsConfigure.mode], as: UTF8.self))
    }

    /// Stages what the request says; what it does not name stays.
    private static func stage(_ call: Call, _ storage: isolated Storage) throws(Refusal) {
        let domain = call[InSettings.domain]
        let configured = storage.configurations
        let author = call.author(storage)
        try call.run { () throws(EngineError) in
            if call.has(SettingsConfigure.schema) {
                let text = call[SettingsConfigure.schema]
                if text.elementsEqual("null".utf8) {
                    _ = try configured.delete(.settings, domain, ConfigurationStore.schema, by: author)
                } else {
                    _ = try configured.put(.settings, domain, ConfigurationStore.schema, text, by: author)
                }
            }
            if let mode = mode(call) {
                try put(ConfigurationStore.mode, "\"\(mode.rawValue)\"", domain, configured, author)
            }
            if call.has(SettingsConfigure.backup) {
                try put(
                    ConfigurationStore.backup, call[SettingsConfigure.backup] ? "true" : "false", domain,
                    configured, author)
            }
            if call.has(SettingsConfigure.durability) || call.has(SettingsConfigure.flushSeconds) {
                let isDurable = call[SettingsConfigure.durability].elementsEqual("durable".utf8)
                let known = configured.flushSeconds(.settings, domain) ?? ConfigurationStore.standardFlushSeconds
                let seconds = call[SettingsConfigure.flushSeconds].map { Int($0) } ?? known
                try configured.setDurability(.settings, domain, flushSeconds: isDurable ? nil : seconds, by: author)
            }
        }
    }

    private static func put(
        _ key: StaticString, _ text: String, _ domain: Bytes, _ configured: ConfigurationStore,
        _ author: Author
    ) throws(EngineError) {
        let bytes = Array(text.utf8)
        try bytes.withBytes { (bytes) throws(EngineError) in
            _ = try configured.put(.settings, domain, key, bytes, by: author)
        }
    }

    // MARK: Describing

    static func describe(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let domain = call[SettingsDescribe.domain]
        let configured = storage.configurations
        let view = call.view(domain, storage)
        let page = try call.page(cursor: SettingsDescribe.cursor, of: SettingsDescribe.domain)
        call.append(rev: configured.rev(.settings, domain), to: &out)
        if !call.has(SettingsDescribe.key),
            let schema = configured.get(.settings, domain, ConfigurationStore.schema).item
        {
            out.append(.schema, json: schema.value)
        }
        if let rules = view?.domain?.rules { out.append(.mode, rules.mode.rawValue) }
        if let backup = configured.get(.settings, domain, ConfigurationStore.backup).item {
            out.append(name: .backup)
            out.append(backup.value)
        } else {
            out.append(.backup, true)
        }
        let seconds = configured.flushSeconds(.settings, domain)
        out.append(.durability, word: seconds == nil ? "durable" : "relaxed")
        if let seconds { out.append(.flushSeconds, seconds) }
        out.openObject(.keys)
        if call.has(SettingsDescribe.key) {
            let key = call[SettingsDescribe.key]
            let app = storage.settings.get(domain, key).item?.value
            let layer = view?.winner(key, app: app)?.layer ?? (app == nil ? .none : .app)
            append(description: key, layer, view?.domain, to: &out)
            out.closeObject()
        } else {
            let hasMore = describeAll(domain, page.after, view, call, &out, storage)
            out.closeObject()
            if hasMore { page.append(cursor: call.memory.scratch.bytes, to: &out) }
        }
        out.closeObject()
        call.shows(storage.rev)
    }

    /// - Returns: whether there are more keys.
    private static func describeAll(
        _ domain: Bytes, _ after: [UInt8]?, _ view: LayerView?, _ call: Call, _ out: inout ByteBuffer,
        _ storage: isolated Storage
    ) -> Bool {
        let limit = Int(call[SettingsDescribe.limit] ?? 1000)
        let empty = Bytes()
        let start = out.count
        var others = LayerMerge(view, prefix: empty, after: after, names: view?.domain?.rules?.names)
        var count = 0
        var hasMore = false
        call.memory.scratch.removeAll()
        func add(_ key: Bytes, app: Bytes?, to out: inout ByteBuffer) -> Bool {
            guard count < limit, out.count - start < SettingsPage.bytes(call) else {
                hasMore = true
                return false
            }
            let layer = others.take(key, app: app)?.layer ?? .none
            append(description: key, layer, view?.domain, to: &out)
            call.memory.scratch.removeAll()
            call.memory.scratch.append(key)
            count += 1
            return true
        }
        _ = storage.settings.list(domain, prefix: empty, afterKey: after) { item in
            while let key = others.key, key.precedes(item.key) {
                guard add(key, app: nil, to: &out) else { return false }
            }
            return add(item.key, app: item.value, to: &out)
        }
        while !hasMore, let key = others.key, add(key, app: nil, to: &out) {}
        return hasMore
    }

    /// `"key":{"layer":…}` with what the schema says of the key, and its default.
    private static func append(
        description key: Bytes, _ layer: Layer, _ domain: DomainLayers?, to out: inout ByteBuffer
    ) {
        out.append(key: key)
        out.openObject()
        out.append(.layer, word: layer.word)
        if let fallback = domain?.fallback(key) { out.append(.default, json: fallback.value) }
        if let property = domain?.rules?.schema.property(named: String(decoding: key, as: UTF8.self)) {
            if !property.types.isEmpty {
                out.openList(.types)
                for word in property.types { out.append(element: word) }
                out.closeList()
            }
            if let title = property.title { out.append(.title, title) }
            if let description = property.description { out.append(.description, description) }
        }
        if let locked = domain?.locked, let index = locked.index(of: key) {
            out.append(.reason, locked.reason(index))
        }
        out.closeObject()
    }
}

extension Call {
    /// A time to flush is for relaxed scopes, or for those that become so.
    func checkFlushSeconds(
        of scope: TextParameter, durability: TextParameter, flushSeconds: NumberParameter, _ room: Store,
        _ storage: isolated Storage
    ) throws(Refusal) {
        guard has(flushSeconds) else { return }
        let isRelaxed =
            has(durability)
            ? self[durability].elementsEqual("relaxed".utf8)
            : storage.configurations.flushSeconds(room, self[scope]) != nil
        guard isRelaxed else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "only relaxed durability has a time to flush",
                    parameter: name(flushSeconds)))
        }
    }
}
