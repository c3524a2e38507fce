/// What calls are made on: a client, one of its typed faces, a query.
///
///     let quick = kura.with(timeout: .seconds(2))
///     let card = try await quick.documents("cards", of: Card.self).get("7")
///     let news = try await kura.models["feed"].with(timeout: .milliseconds(500)).get("home", as: News.self)
///
/// Options hold for every request to the daemon that is made on it, and on whatever comes from it: each page of a query, the reading and the writing of a `mutate`,
/// each piece of an upload. What the daemon itself is asked to wait for (an index that is being built, somebody else's fetch) comes on top of the timeout. A
/// stream of changes is no request: it lasts as long as somebody has it.
public protocol CallScope: Sendable {
    /// The same with options for all of its calls; what they leave open is as it was.
    /// - Parameter options: those that a call of its own has count more. A request key is for one write, which may be made again: any other write under it is refused
    ///   (`requestKeyReused`). Reads, and writes that take none, go without it, and so does what saves by itself (`live`, `@Setting`).
    /// - Returns: a value, or a client that shares its connection; nothing is asked.
    func with(_ options: CallOptions) -> Self
}

extension CallScope {
    /// The same with a time that each of its calls waits for a reply, and throws `noReply` then: also those that take minutes by nature (`deleteMany`, `addIndexes`), and
    /// that otherwise wait as long as it takes.
    public func with(timeout: Duration) -> Self { with(CallOptions(timeout: timeout)) }
}

extension CallOptions {
    /// What these leave open, as others have it.
    func over(_ others: CallOptions) -> CallOptions {
        var both = self
        both.timeout = timeout ?? others.timeout
        if case .automatic = requestKey { both.requestKey = others.requestKey }
        return both
    }

    /// Without a name that would make one write of several.
    var unnamed: CallOptions {
        guard case .named = requestKey else { return self }
        return CallOptions(timeout: timeout)
    }
}

extension Kura: CallScope {
    /// A client with options for all of its calls, over the same connection, which is there as long as one of them is. Closing one closes them all.
    public func with(_ options: CallOptions) -> Kura { Kura(session, options.over(scope)) }

    /// For what goes on by itself.
    var unnamed: Kura { Kura(session, scope.unnamed) }
}

extension Settings: CallScope {
    public func with(_ options: CallOptions) -> Settings { Settings(kura: kura.with(options)) }
}

extension DomainSettings: CallScope {
    public func with(_ options: CallOptions) -> DomainSettings {
        DomainSettings(kura: kura.with(options), domain: domain)
    }
}

extension Secrets: CallScope {
    public func with(_ options: CallOptions) -> Secrets { Secrets(kura: kura.with(options)) }
}

extension ServiceSecrets: CallScope {
    public func with(_ options: CallOptions) -> ServiceSecrets {
        ServiceSecrets(kura: kura.with(options), service: service)
    }
}

extension DocumentCollection: CallScope {
    public func with(_ options: CallOptions) -> DocumentCollection {
        DocumentCollection(kura: kura.with(options), name: name, names: names)
    }

    /// For what goes on by itself.
    var unnamed: DocumentCollection { DocumentCollection(kura: kura.unnamed, name: name, names: names) }
}

extension ModelCaches: CallScope {
    public func with(_ options: CallOptions) -> ModelCaches { ModelCaches(kura: kura.with(options)) }
}

extension ModelCache: CallScope {
    public func with(_ options: CallOptions) -> ModelCache {
        ModelCache(kura: kura.with(options), namespace: namespace)
    }
}

extension BlobCaches: CallScope {
    public func with(_ options: CallOptions) -> BlobCaches { BlobCaches(kura: kura.with(options)) }
}

extension BlobCache: CallScope {
    public func with(_ options: CallOptions) -> BlobCache {
        BlobCache(kura: kura.with(options), namespace: namespace)
    }
}
