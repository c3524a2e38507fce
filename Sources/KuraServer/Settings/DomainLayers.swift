import KuraBytes
import KuraProtocol
import KuraStorage

/// What lies above and beneath the settings of one domain for all who ask: read once, kept with the domain, and read anew
/// after its configuration or the locks have changed.
final class DomainLayers {
    let locked: LayerTable?
    let registered: LayerTable?
    /// The domain's schema; nil when it has none, or one that this version does not understand: that never stops anybody.
    let rules: DomainRules?

    init(locked: LayerTable?, registered: LayerTable?, rules: DomainRules?) {
        self.locked = locked
        self.registered = registered
        self.rules = rules
    }

    /// What shows when the application has no value of its own.
    func fallback(_ key: Bytes) -> LayeredValue? {
        if let value = registered?[key] { return LayeredValue(layer: .registered, value: value) }
        if let value = rules?.defaults[key] { return LayeredValue(layer: .schema, value: value) }
        return nil
    }
}

extension Call {
    /// What lies around the settings of a domain; nil when nothing does.
    func layers(_ domain: Bytes, _ annex: ScopeAnnex?, _ storage: isolated Storage) -> DomainLayers? {
        guard let annex else { return nil }
        if !annex.isStale, let reading = annex.reading {
            // Safety: an annex of settings is kept by `layers` alone, which keeps layers.
            return unsafe unsafeDowncast(reading, to: DomainLayers.self)
        }
        let layers = read(domain, storage)
        annex.keep(layers)
        return layers
    }

    func layers(_ domain: Bytes, _ storage: isolated Storage) -> DomainLayers? {
        layers(domain, storage.settings.annex(domain), storage)
    }

    /// The layers as this connection sees them; nil when there are none.
    func view(_ domain: Bytes, _ annex: ScopeAnnex?, _ storage: isolated Storage) -> LayerView? {
        let session = connection?.client.overrides?.table(domain)
        if annex == nil, session == nil { return nil }
        return LayerView(domain: layers(domain, annex, storage), session: session)
    }

    func view(_ domain: Bytes, _ storage: isolated Storage) -> LayerView? {
        view(domain, storage.settings.annex(domain), storage)
    }

    private func read(_ domain: Bytes, _ storage: isolated Storage) -> DomainLayers {
        let configured = storage.configurations
        var registered: LayerTable?
        if let item = configured.get(.settings, domain, ConfigurationStore.defaults).item {
            registered = LayerTable(object: item.value)
        }
        var rules: DomainRules?
        if let item = configured.get(.settings, domain, ConfigurationStore.schema).item {
            let mode = configured.get(.settings, domain, ConfigurationStore.mode).item.flatMap { SchemaMode($0.value) }
            rules = try? DomainRules(item.value, mode: mode ?? .warn)
        }
        return DomainLayers(locked: server.locks[domain], registered: registered, rules: rules)
    }

    // MARK: Refusing

    /// - Throws: `locked`, when the host's administrator has fixed the setting.
    func refuseLocked(_ layers: DomainLayers?, _ key: Bytes) throws(Refusal) {
        guard let locked = layers?.locked, let index = locked.index(of: key) else { return }
        throw .error(lockedError(locked, index))
    }

    func lockedError(_ locked: LayerTable, _ index: Int) -> RPCError {
        var error = RPCError(.locked)
        error.layer = Layer.locked.word
        errorTexts.explain(&error, locked.reason(index))
        return error
    }
}

extension LayerTable {
    /// The members of an object's text.
    convenience init(object text: Bytes) {
        var items: [Item] = []
        var walk = JSONWalk(text, storage: WalkStorage())
        while let (key, value) = walk.nextMember() { items.append(Item(key: Array(key), value: Array(value))) }
        self.init(items)
    }

    /// The table as an object's text, in the order of the keys' bytes.
    func appendObject(to out: inout ByteBuffer) {
        out.openObject()
        for index in 0..<count { out.append(key: key(index), json: value(index)) }
        out.closeObject()
    }
}
