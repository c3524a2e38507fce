extension Kura {
    /// The model cache: values that were fetched from elsewhere and may be lost, shared by all processes of the host.
    ///
    ///     let feed = kura.models["feed"]
    public var models: ModelCaches { ModelCaches(kura: self) }
}

/// All namespaces of the model cache.
public struct ModelCaches: Sendable {
    let kura: Kura

    /// One namespace, 1 to 128 bytes.
    public subscript(namespace: String) -> ModelCache { ModelCache(kura: kura, namespace: namespace) }
}

/// One namespace of the model cache.
///
/// What is here may go at any time, for its age or for want of room; nothing of it is in a backup.
public struct ModelCache: Sendable {
    let kura: Kura
    /// Its name.
    public let namespace: String

    /// How long a value lives; what is nil is as the namespace says.
    public struct Lifetime: Sendable, Equatable {
        /// How long it is fresh, whole seconds.
        public var fresh: Duration?
        /// How long it is shown as stale after that, whole seconds.
        public var stale: Duration?
        /// How long it is shown as stale instead while fetching it fails, whole seconds.
        public var staleIfError: Duration?

        public init(fresh: Duration? = nil, stale: Duration? = nil, staleIfError: Duration? = nil) {
            self.fresh = fresh
            self.stale = stale
            self.staleIfError = staleIfError
        }

        func add(to parameters: inout ParameterText) {
            parameters.add("ttlSeconds", fresh.map(Self.seconds))
            parameters.add("staleSeconds", stale.map(Self.seconds))
            parameters.add("staleIfErrorSeconds", staleIfError.map(Self.seconds))
        }

        /// Whole seconds, rounded up, so that a moment is not "never".
        static func seconds(_ duration: Duration) -> Int64 {
            let (seconds, rest) = duration.components
            return max(0, rest > 0 ? seconds + 1 : seconds)
        }
    }

    /// What became of a put: a cache may decline.
    public enum Outcome: Sendable, Equatable {
        case stored
        /// Stored, but as stale: the right to fetch was lost, or what it stands for was invalidated meanwhile.
        case storedAsStale
        /// `exists`, `notWanted`, `overBudget`, `lowStorage`.
        case declined(reason: String)
    }

    // MARK: Reading

    /// What is cached under a key; nil when nothing is, or when it cannot be read as a `Value`: what was fetched can be fetched again.
    public func get<Value: Decodable & Sendable>(
        _ key: String, as type: Value.Type = Value.self
    ) async throws(KuraError) -> CachedValue<Value>? {
        let entry = try await entry(key)
        return entry.value.flatMap { entry.cached($0, as: type) }
    }

    /// What is cached, and what is fetched when that is not fresh: the first value at once, a newer one behind it.
    ///
    ///     for try await news in kura.models["feed"].value(for: "home", orFetch: { try await download() }) {
    ///         show(news.value, softly: news.isFresh)
    ///     }
    ///
    /// - What is cached comes first, stale or fresh. When it is fresh, that is all.
    /// - Else one caller of all processes fetches, when the sequence is asked for its next element; its value comes next, and
    ///   everybody else's sequence has it next as well. With nothing cached the others wait for it.
    /// - When that caller's fetch fails its sequence throws what `orFetch` threw, and the next caller that waits fetches. An error
    ///   that conforms to `RetryLater` keeps everybody from trying for so long.
    /// - What was cached in another shape, and cannot be read as a `Value`, counts as nothing.
    ///
    /// - Parameters:
    ///   - key: 1 to 512 bytes.
    ///   - type: what is cached.
    ///   - maxAge: what is older counts as stale, whole seconds; zero has it fetched in any case.
    ///   - lifetime: of what is fetched.
    ///   - tags: words by which it can be invalidated together with others.
    ///   - store: false: what is fetched is given to those that wait for it, and not cached.
    ///   - patience: how long to wait for somebody else's fetch, which may take any time; then the sequence ends, or throws `noReply` when it had nothing.
    ///   - lease: for how long the right to fetch lasts, 1 second to 1 hour, whole seconds. While `fetch` runs it is renewed, three times as often as that takes, so that one caller fetches however
    ///     long it takes; a process that is killed meanwhile keeps nobody waiting for longer than this, also when it is connected no more. Without it the right lasts
    ///     30 seconds, renewed as well, and ends with this client's connection. Once it is lost somebody else may fetch as well, and what comes second is stored as stale.
    ///   - fetch: gets the value from where it is. What may hang has a time limit of its own: while it runs nobody else fetches.
    /// - Returns: the sequence, a value; nothing is asked before its first element.
    public func value<Value: Codable & Sendable>(
        for key: String, as type: Value.Type = Value.self, maxAge: Duration? = nil, lifetime: Lifetime = Lifetime(),
        tags: [String] = [],
        store: Bool = true, patience: Duration = .seconds(30), lease: Duration? = nil,
        orFetch fetch: @escaping @Sendable () async throws -> Value
    ) -> FetchedValues<Value> {
        FetchedValues(
            request: FetchRequest(
                cache: self, key: key, maxAge: maxAge, lifetime: lifetime, tags: tags, store: store, patience: patience,
                lease: lease)
        ) { _ in .value(try await fetch()) }
    }

    /// As `value(for:orFetch:)`, for sources that know versions: `refresh` gets what is cached and may say that it has not changed.
    public func value<Value: Codable & Sendable>(
        for key: String, as type: Value.Type = Value.self, maxAge: Duration? = nil, lifetime: Lifetime = Lifetime(),
        tags: [String] = [],
        store: Bool = true, patience: Duration = .seconds(30), lease: Duration? = nil,
        orRefresh refresh: @escaping @Sendable (CachedValue<Value>?) async throws -> Refreshed<Value>
    ) -> FetchedValues<Value> {
        FetchedValues(
            request: FetchRequest(
                cache: self, key: key, maxAge: maxAge, lifetime: lifetime, tags: tags, store: store, patience: patience,
                lease: lease),
            fetch: refresh)
    }

    // MARK: Writing

    /// Caches a value.
    /// - Parameters:
    ///   - value: at most 8 MiB as JSON.
    ///   - key: 1 to 512 bytes.
    ///   - lifetime: how long it lives.
    ///   - etag: what its source calls this version of it, at most 512 bytes.
    ///   - tags: words by which it can be invalidated together with others, 16 at most.
    ///   - ifAbsent: only when there is none, fresh or stale.
    /// - Returns: whether the cache took it.
    /// - Throws: `notEncodable`, `valueTooLarge`, `quotaExceeded`.
    @discardableResult
    public func put<Value: Encodable & Sendable>(
        _ value: Value, for key: String, lifetime: Lifetime = Lifetime(), etag: String? = nil, tags: [String] = [],
        ifAbsent: Bool = false
    ) async throws(KuraError) -> Outcome {
        var parameters = parameters(key)
        parameters.add("value", json: try FaceCoding.encode(value))
        lifetime.add(to: &parameters)
        parameters.add("etag", etag)
        if !tags.isEmpty { parameters.add("tags", strings: tags) }
        parameters.add("ifAbsent", flag: ifAbsent)
        return Self.outcome(try await kura.call("models.put", parameters))
    }

    static func outcome(_ answer: JSONObject) -> Outcome {
        guard answer.boolean("stored") == true else { return .declined(reason: answer.string("reason") ?? "unknown") }
        return answer.boolean("stale") == true ? .storedAsStale : .stored
    }

    /// Removes a value.
    /// - Returns: whether there was one.
    @discardableResult
    public func delete(_ key: String) async throws(KuraError) -> Bool {
        try await kura.call("models.delete", parameters(key)).boolean("deleted") ?? false
    }

    /// Which values are meant.
    public enum Selection: Sendable {
        case all
        /// Those whose key begins so.
        case prefix(String)
        /// Those that were put with this tag.
        case tag(String)
    }

    /// Makes values stale, so that the next who asks fetches them, or drops them; at once, however many they are.
    public func invalidate(_ selection: Selection = .all, dropping: Bool = false) async throws(KuraError) {
        var parameters = ParameterText()
        parameters.add("namespace", namespace)
        switch selection {
        case .all: break
        case .prefix(let prefix): parameters.add("prefix", prefix)
        case .tag(let tag): parameters.add("tag", tag)
        }
        parameters.add("mode", dropping ? "drop" : nil)
        _ = try await kura.call("models.invalidate", parameters)
    }

    /// Where a namespace is kept.
    public enum Place: Sendable {
        /// In the file of all.
        case shared
        /// In a file of its own; 64 namespaces at most.
        case ownFile
        /// In memory only, gone with the daemon.
        case memory
        /// In memory, for as long as a connection that said so is there.
        case scratch
    }

    /// Says what the namespace's values are at first, and how much it may hold; what is nil stays. A cache forgets this when its
    /// file was damaged: say it whenever the application starts.
    /// - Parameters:
    ///   - lifetime: of what is put without one.
    ///   - maxEntries: 1 or more.
    ///   - maxBytes: 4,096 or more; keys and 144 bytes for each entry count.
    ///   - place: where it is kept.
    /// - Throws: `quotaExceeded` when 64 namespaces have files of their own already.
    public func configure(
        lifetime: Lifetime = Lifetime(), maxEntries: Int? = nil, maxBytes: Int? = nil, place: Place? = nil
    ) async throws(KuraError) {
        var parameters = ParameterText()
        parameters.add("namespace", namespace)
        lifetime.add(to: &parameters)
        parameters.add("maxEntries", maxEntries)
        parameters.add("maxBytes", maxBytes)
        let flags: [(String, Bool)] =
            switch place {
            case nil: []
            case .shared: [("partition", false), ("persist", true), ("scratch", false)]
            case .ownFile: [("partition", true), ("persist", true), ("scratch", false)]
            case .memory: [("partition", false), ("persist", false), ("scratch", false)]
            case .scratch: [("scratch", true)]
            }
        for (name, isOn) in flags { parameters.add(name, json: Array((isOn ? "true" : "false").utf8)) }
        _ = try await kura.call("models.configure", parameters)
    }

    // MARK: Calls

    func parameters(_ key: String) -> ParameterText {
        var parameters = ParameterText()
        parameters.add("namespace", namespace)
        parameters.add("key", key)
        return parameters
    }

    /// `models.get`.
    func entry(
        _ key: String, maxAge: Duration? = nil, claims: Bool = false, lease: Duration? = nil, wait: Duration? = nil
    ) async throws(KuraError) -> CacheEntry {
        var parameters = parameters(key)
        parameters.add("maxAgeSeconds", maxAge.map(Lifetime.seconds))
        parameters.add("claim", flag: claims)
        parameters.add("leaseSeconds", lease.map(Lifetime.seconds))
        parameters.add(
            "waitMs", wait.map { Clock.nanoseconds($0) / 1_000_000 })
        return CacheEntry(try await kura.call("models.get", parameters))
    }
}
