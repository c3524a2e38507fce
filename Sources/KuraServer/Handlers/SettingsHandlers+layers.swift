import KuraBytes
import KuraProtocol
import KuraStorage

/// Registered defaults, and overrides for one connection.
extension SettingsHandlers {
    // MARK: Registered defaults

    static func register(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let (domain, given) = (call[SettingsRegister.domain], call[SettingsRegister.defaults])
        guard given.count <= ConfigurationStore.valueLimit else {
            throw .error(
                RPCError(
                    .valueTooLarge, parameter: call.name(SettingsRegister.defaults),
                    limit: ConfigurationStore.valueLimit))
        }
        let warnings = try call.check(call.layers(domain, storage), all: given)
        let found = storage.configurations.get(.settings, domain, ConfigurationStore.defaults)
        call.shows(found.shownRev)
        var values: [[UInt8]: [UInt8]] = [:]
        if let item = found.item {
            for known in LayerTable(object: item.value).items { values[known.key] = known.value }
        }
        let changed = try merge(given, into: &values, replaces: call[SettingsRegister.replace], call)
        let rev = changed == 0 ? found.item?.rev ?? 0 : try store(defaults: values, domain, call, storage)
        call.append(rev: rev, to: &out)
        out.append(.changed, changed)
        call.append(warnings: warnings, to: &out)
        out.closeObject()
    }

    /// - Returns: how many defaults came, went or became others.
    private static func merge(
        _ given: Bytes, into values: inout [[UInt8]: [UInt8]], replaces: Bool, _ call: Call
    ) throws(Refusal) -> Int {
        let old = values
        if replaces { values = [:] }
        var walk = JSONWalk(given, storage: call.memory.walk)
        var index = 0
        while let (key, value) = walk.nextMember() {
            guard JSONWalk.isName(key, limit: WireLimits.keyBytes) else {
                throw .error(
                    RPCError(.invalidParams, hint: "a key is 1 to 512 bytes without control characters", index: index))
            }
            values[Array(key)] = Array(value)
            index += 1
        }
        guard values.count <= WireLimits.listItems else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "too many defaults", parameter: call.name(SettingsRegister.defaults),
                    limit: WireLimits.listItems))
        }
        let different = values.reduce(0) { $0 + (old[$1.key] == $1.value ? 0 : 1) }
        return different + old.keys.reduce(0) { $0 + (values[$1] == nil ? 1 : 0) }
    }

    private static func store(
        defaults: [[UInt8]: [UInt8]], _ domain: Bytes, _ call: Call, _ storage: isolated Storage
    ) throws(Refusal) -> UInt64 {
        if defaults.isEmpty {
            return try call.run { () throws(EngineError) in
                try storage.configurations.delete(
                    .settings, domain, ConfigurationStore.defaults, by: call.author(storage)
                ).rev
            }
        }
        var text = ByteBuffer()
        LayerTable(defaults.map { LayerTable.Item(key: $0.key, value: $0.value) }).appendObject(to: &text)
        let bytes = text.bytes
        return try call.run { () throws(EngineError) in
            try storage.configurations.put(
                .settings, domain, ConfigurationStore.defaults, bytes, by: call.author(storage)
            ).rev
        }
    }

    // MARK: Overrides

    static func override(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard let connection = call.connection else { return }
        let (domain, key) = (call[SettingsOverride.domain], call[SettingsOverride.key])
        try call.refuseLocked(call.layers(domain, storage), key)
        let overrides = connection.client.overrides ?? SessionOverrides(call.server.overrides)
        do throws(SessionOverrides.Failure) {
            try overrides.set(domain, key, call[SettingsOverride.value])
        } catch {
            switch error {
            case .full(let limit): throw .error(RPCError(.quotaExceeded, limit: limit))
            case .overloaded: throw .error(RPCError(.overloaded, limit: OverrideBudget.limit))
            }
        }
        connection.client.overrides = overrides
        append(overrides: connection, to: &out)
    }

    static func clearOverrides(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard let connection = call.connection else { return }
        let domain = call.has(SettingsClearOverrides.domain) ? call[SettingsClearOverrides.domain] : nil
        let key = call.has(SettingsClearOverrides.key) ? call[SettingsClearOverrides.key] : nil
        guard domain != nil || key == nil else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "a key comes with its domain",
                    parameter: call.name(SettingsClearOverrides.domain)))
        }
        connection.client.overrides?.clear(domain, key)
        if connection.client.overrides?.count == 0 { connection.client.overrides = nil }
        append(overrides: connection, to: &out)
    }

    private static func append(overrides connection: Connection, to out: inout ByteBuffer) {
        out.openObject()
        out.append(.overrides, connection.client.overrides?.count ?? 0)
        out.closeObject()
    }
}
