/// A setting's name, with what it counts as when nothing is stored.
///
///     extension SettingKey<String> { static var theme: Self { SettingKey("theme", default: "light") } }
public struct SettingKey<Value: Codable & Sendable>: Sendable {
    /// 1 to 512 bytes, without control characters.
    public let name: String
    public let defaultValue: Value

    public init(_ name: String, default defaultValue: Value) {
        self.name = name
        self.defaultValue = defaultValue
    }
}

/// A setting as it was at one moment.
public struct Stored<Value: Sendable>: Sendable {
    public let value: Value
    /// Revision of its last change; 0 when nothing is stored and the value comes from a lower layer, or is the key's own default.
    public let rev: Int64
}

extension Kura {
    /// The settings of all domains.
    public var settings: Settings { Settings(kura: self) }
}

/// The settings: small values by domain and key, which the daemon keeps in memory whole.
public struct Settings: Sendable {
    let kura: Kura

    /// One domain: an application's settings, or those of a part of one; 1 to 128 bytes. It is there as soon as it has a setting.
    public subscript(domain: String) -> DomainSettings { DomainSettings(kura: kura, domain: domain) }
}

/// One domain's settings.
///
/// Reading shows what all layers give, as proto-docs/settings.md has them: locks, what is stored, registered defaults, the key's own. Writes go under request keys
/// and return the revision of the setting's last change.
public struct DomainSettings: Sendable {
    public let kura: Kura
    public let domain: String

    // MARK: Reading

    /// The value that shows; the key's default when there is none.
    /// - Throws: `wrongType` when something else is stored; whatever any call throws.
    public func get<Value>(_ key: SettingKey<Value>, options: CallOptions = .init()) async throws(KuraError) -> Value {
        try await stored(key, options: options).value
    }

    /// The same with its revision, for a write with `ifRev`.
    public func stored<Value>(
        _ key: SettingKey<Value>, options: CallOptions = .init()
    ) async throws(KuraError) -> Stored<Value> {
        let (value, rev) = try await read(key.name, Value.self, options)
        return Stored(value: value ?? key.defaultValue, rev: rev)
    }

    /// The value under a name; nil when none shows.
    public func get<Value: Decodable & Sendable>(
        _ name: String, as type: Value.Type = Value.self, options: CallOptions = .init()
    ) async throws(KuraError) -> Value? {
        try await read(name, type, options).0
    }

    /// Several values as they were at one moment, as JSON; those without one are left out. At most 1,000.
    public func getMany(
        _ names: [String], options: CallOptions = .init()
    ) async throws(KuraError) -> (values: [String: RawJSON], rev: Int64) {
        struct Params: Encodable {
            let domain: String
            let keys: [String]
        }
        let page: Page = try await kura.call(
            "settings.getMany", Params(domain: domain, keys: names), options: options)
        return (page.values, page.rev)
    }

    /// All values that show, by name, as JSON; those whose name begins so. `options` are for each page of them.
    public func list(
        prefix: String? = nil, options: CallOptions = .init()
    ) async throws(KuraError) -> [String: RawJSON] {
        try await listing(prefix: prefix, options).values
    }

    /// The same, with the revision that all of them are as of, or newer.
    func listing(
        prefix: String?, _ options: CallOptions = .init()
    ) async throws(KuraError) -> (values: [String: RawJSON], rev: Int64) {
        struct Params: Encodable {
            let domain: String
            let prefix: String?
            let cursor: String?
        }
        var values: [String: RawJSON] = [:]
        var cursor: String?
        var first: Int64?
        repeat {
            let page: Page = try await kura.call(
                "settings.list", Params(domain: domain, prefix: prefix, cursor: cursor), options: options)
            values.merge(page.values) { _, later in later }
            cursor = try KuraError.next(page.cursor, after: cursor, "settings.list")
            first = first ?? page.rev
        } while cursor != nil
        return (values, first ?? 0)
    }

    // MARK: Overriding

    /// Has this client see another value of a setting, whatever is stored; nothing is. It holds for the client's other connections too, when it has to connect again.
    /// - Parameters:
    ///   - key: whose.
    ///   - value: what `get`, `getMany` and `list` show; a client has at most 256 of them.
    ///   - options: how long to wait.
    /// - Throws: `locked`, `quotaExceeded`; whatever any call throws.
    public func override<Value>(
        _ key: SettingKey<Value>, with value: Value, options: CallOptions = .init()
    ) async throws(KuraError) {
        let params = Put(domain: domain, key: key.name, value: value, ifRev: nil)
        let _: Overrides = try await kura.call("settings.override", params, options: options)
    }

    /// Shows again what everybody sees.
    /// - Parameters:
    ///   - key: whose; all that this client overrides of the domain when it is left out.
    ///   - options: how long to wait.
    /// - Throws: whatever any call throws.
    public func clearOverrides(of key: String? = nil, options: CallOptions = .init()) async throws(KuraError) {
        struct Params: Encodable {
            let domain: String
            let key: String?
        }
        let _: Overrides = try await kura.call(
            "settings.clearOverrides", Params(domain: domain, key: key), options: options)
    }

    // MARK: Writing

    /// Writes a value; writing the one that is there changes nothing.
    /// - Parameters:
    ///   - key: whose.
    ///   - value: at most 1 MiB of JSON.
    ///   - ifRev: only when this is the setting's revision; 0: only when nothing is stored.
    ///   - options: how long to wait, and under which request key.
    /// - Returns: the revision of the setting's last change.
    /// - Throws: `conflict`, `locked`, `schemaViolation`, `valueTooLarge`, `quotaExceeded`, `noSpace`, `outcomeUnknown`; whatever any call throws.
    @discardableResult
    public func put<Value>(
        _ key: SettingKey<Value>, _ value: Value, ifRev: Int64? = nil, options: CallOptions = .init()
    ) async throws(KuraError) -> Int64 {
        try await put(key.name, value, ifRev: ifRev, options: options)
    }

    /// The same by name.
    @discardableResult
    public func put<Value: Encodable & Sendable>(
        _ name: String, _ value: Value, ifRev: Int64? = nil, options: CallOptions = .init()
    ) async throws(KuraError) -> Int64 {
        let params = Put(domain: domain, key: name, value: value, ifRev: ifRev)
        let done: Done = try await kura.call("settings.put", params, options: options)
        return done.rev
    }

    /// Removes what is stored.
    /// - Returns: whether there was something.
    @discardableResult
    public func delete<Value>(
        _ key: SettingKey<Value>, ifRev: Int64? = nil, options: CallOptions = .init()
    ) async throws(KuraError) -> Bool {
        try await delete(key.name, ifRev: ifRev, options: options)
    }

    /// The same by name.
    @discardableResult
    public func delete(_ name: String, ifRev: Int64? = nil, options: CallOptions = .init()) async throws(KuraError)
        -> Bool
    {
        struct Params: Encodable {
            let domain: String
            let key: String
            let ifRev: Int64?
        }
        let done: Done = try await kura.call(
            "settings.delete", Params(domain: domain, key: name, ifRev: ifRev), options: options)
        return done.deleted ?? false
    }

    /// Adds to an integer in one step: counters of many processes lose nothing.
    /// - Parameters:
    ///   - key: whose; its default is what the setting counts as when nothing is stored.
    ///   - amount: −(2^53 − 1) to 2^53 − 1, as the sum has to be.
    ///   - options: how long to wait, and under which request key.
    /// - Returns: the sum.
    /// - Throws: `typeMismatch` when no integer is stored, `outOfRange`; what `put` throws.
    @discardableResult
    public func increment<Value: FixedWidthInteger & Codable & Sendable>(
        _ key: SettingKey<Value>, by amount: Value = 1, options: CallOptions = .init()
    ) async throws(KuraError) -> Value {
        let params = Increment(domain: domain, key: key.name, by: amount, initial: key.defaultValue)
        let sum: Sum<Value> = try await kura.call("settings.increment", params, options: options)
        return sum.value
    }

    /// Writes and removes several settings: all or nothing, one revision.
    /// - Parameters:
    ///   - values: by name, at most 10,000; `RawJSON(encoding:)` makes one of any value.
    ///   - names: those to remove, none of them in `values`.
    ///   - ifRev: only when no setting of the domain has changed since this revision.
    ///   - options: how long to wait, and under which request key.
    /// - Returns: the revision of the domain's last change.
    /// - Throws: what `put` throws.
    @discardableResult
    public func putMany(
        _ values: [String: RawJSON], deleting names: [String] = [], ifRev: Int64? = nil, options: CallOptions = .init()
    ) async throws(KuraError) -> Int64 {
        struct Params: Encodable {
            let domain: String
            let values: [String: RawJSON]
            let delete: [String]?
            let ifRev: Int64?
        }
        let params = Params(domain: domain, values: values, delete: names.isEmpty ? nil : names, ifRev: ifRev)
        let done: Done = try await kura.call("settings.putMany", params, options: options)
        return done.rev
    }

    // MARK: Watching

    /// What changes in the domain, from now on or behind `afterRev`.
    public func watch(afterRev: Int64? = nil, values: Bool = true) -> ChangeStream {
        kura.changes(.settings(domain, values: values), afterRev: afterRev)
    }

    /// A copy of the domain that follows its changes, for reading without waiting.
    /// - Returns: a mirror that is as of a moment behind this call.
    /// - Throws: whatever any call throws; once it is there it waits for a daemon that is away.
    public func mirror() async throws(KuraError) -> SettingsMirror {
        try await SettingsMirror(DomainSettings(kura: kura.unnamed, domain: domain))
    }

    // MARK: Shapes

    private struct Page: Decodable {
        let values: [String: RawJSON]
        let rev: Int64
        let cursor: String?
    }

    private struct Overrides: Decodable, Sendable { let overrides: Int }

    private struct Put<Value: Encodable & Sendable>: Encodable, Sendable {
        let domain: String
        let key: String
        let value: Value
        let ifRev: Int64?

        // A value that is nil is null, and written.
        func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: Key.self)
            try members.encode(domain, forKey: .domain)
            try members.encode(key, forKey: .key)
            try members.encode(value, forKey: .value)
            try members.encodeIfPresent(ifRev, forKey: .ifRev)
        }

        private enum Key: String, CodingKey { case domain, key, value, ifRev }
    }

    private struct Increment<Value: Codable & Sendable>: Encodable, Sendable {
        let domain: String
        let key: String
        let by: Value
        let initial: Value
    }

    private struct Sum<Value: Codable & Sendable>: Decodable, Sendable {
        let value: Value
    }

    private struct Done: Decodable {
        let rev: Int64
        let deleted: Bool?
    }
}
