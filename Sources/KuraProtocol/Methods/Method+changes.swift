extension Method {
    static let changesMethods: [Method] = [
        Method(
            "changes.list", .changes, .read, needs: .feed(stores: "stores", scope: "scope"),
            "Lists what has changed since a revision: each item's newest state, in the order of revisions.",
            parameters: [
                afterRev,
                Field(
                    "limit", .integer(1...Int64(WireLimits.listItems)),
                    "Most changes to return, about; 1000 when absent."),
            ] + filter + [epoch],
            result: [changes, coveredRev, hasMore, lost], errors: [.compacted, .epochChanged, .overloaded],
            example: "{\"afterRev\":0,\"stores\":[\"settings\"]}"),
        Method(
            "changes.watch", .changes, .read, needs: .feed(stores: "stores", scope: "scope"),
            "Subscribes to changes: notifications `changes.changed` follow, each once its changes are durable; `changes.lost` and `changes.overflow` say what cannot be told.",
            parameters: [
                Field(
                    "stores",
                    .list(
                        of: .word((Store.durable + watchedApart).words), maxItems: 16),
                    "Only changes in these; in \(Store.durable.words.listed()) when absent. \(watchedApart.quoted.listed()) are watched apart from those."
                )
            ] + filter.dropFirst() + [
                Field(
                    "afterRev", .revision,
                    "Begin after this revision; at the newest when absent. That of a cache needs its `epoch`."),
                epoch,
            ],
            result: [
                Field("subscription", .count, required: true, "Names the subscription on this connection."),
                Field("rev", .revision, required: true, "What follows this revision will be notified."),
                Field(
                    "epoch", .text(maxBytes: 36), required: true, "Names the history that revisions belong to (UUID)."),
            ], errors: [.compacted, .epochChanged, .tooManySubscriptions, .overloaded],
            example: "{\"stores\":[\"settings\"],\"scope\":\"app\",\"values\":true}"),
        Method(
            "changes.unwatch", .changes, .read, needs: .feed(stores: nil, scope: nil),
            "Ends a subscription; ending one that is not there changes nothing.",
            parameters: [Field("subscription", .count, required: true, "As `changes.watch` returned it.")],
            result: [Field("ended", .boolean, required: true, "Whether there was such a subscription.")],
            example: "{\"subscription\":1}"),
        Method(
            "changes.wait", .changes, .read, needs: .feed(stores: "stores", scope: "scope"),
            "Answers as soon as something has changed since a revision, or with nothing when the time is over.",
            parameters: [
                afterRev,
                Field(
                    "timeoutMs", .integer(0...WireLimits.waitMilliseconds),
                    "Longest to wait, in milliseconds; 30000 when absent."),
            ] + filter + [epoch],
            result: [changes, coveredRev, hasMore, lost],
            errors: [.compacted, .epochChanged, .tooManySubscriptions, .overloaded, .cancelled],
            example: "{\"afterRev\":0,\"timeoutMs\":1000,\"scope\":\"app\"}", outOfBand: true),
    ]

    private static let scopes = Store.durable.scopeWords.listed("or")
    private static let items = Store.durable.itemWords.listed("or")
    private static let watchedApart = Store.caches + [.storage]

    /// Positions of the filter's parameters, counted from its first.
    private static let filter = [
        Field(
            "stores", .list(of: .word(Store.durable.words), maxItems: 16),
            "Only changes in these stores; all when absent."),
        Field("scope", .scope, "Only changes in the \(scopes) of this name."),
        Field("prefix", .text(maxBytes: WireLimits.keyBytes), "Only items whose \(items) begins so."),
        Field("values", .boolean, "Return the values too."),
        Field("members", .boolean, "Return the names of the members in which documents differ."),
    ]
    private static let afterRev = Field(
        "afterRev", .revision, required: true, "What follows this revision is asked for; 0 for everything that is kept."
    )
    private static let epoch = Field(
        "epoch", .text(maxBytes: 64), "The history that the revision comes from; another one is refused.")
    private static let coveredRev = Field(
        "rev", .revision, required: true, "Everything up to here is covered: the next `afterRev`.")
    private static let hasMore = Field(
        "hasMore", .boolean, required: true,
        "There is more to ask for at once; it may be so even when `changes` is empty.")
    private static let lost = Field(
        "lost",
        .object([
            Field("fromRev", .revision, required: true, "The first revision of a lost change."),
            Field(
                "toRev", .revision, required: true,
                "No change up to this revision is left; the next `afterRev` for a client that reads no further."),
        ]),
        "Changes that were acknowledged with `durable: false` and are gone, `afterRev` among them: what was read with such a revision is to be read again. Left out otherwise."
    )
    private static let changes = Field(
        "changes",
        .list(
            of: .object([
                Field("store", .word(Store.durable.words), required: true, "Where the item is."),
                Field("scope", .scope, "Its \(scopes); left out when `sealed`."),
                Field("key", .key, "Its \(items); left out when all of it was dropped, or `sealed`."),
                Field("rev", .revision, required: true, "Revision of this change; those of one transaction share it."),
                Field("deleted", .boolean, "True when the item was deleted; left out otherwise."),
                Field(
                    "dropped", .boolean,
                    "True when the collection was dropped with all that was in it; what has its name later is another. Left out otherwise."
                ),
                Field(
                    "sealed", .boolean,
                    "True for secrets whose names cannot be opened now: that some have changed, the newest at `rev`, is all that can be told."
                ),
                Field("value", .json, "With `values`: what was written; left out when deleted, and for secrets."),
                Field(
                    "members",
                    .list(
                        of: .text(maxBytes: WireLimits.changedMembersBytes),
                        maxItems: WireLimits.changedMembersBytes / 3),
                    "With `members`: the top-level members in which a document differs from what it was before `afterRev`, in no order. Left out where all may differ: in new and deleted documents, in those that are no objects, and where many differ."
                ),
                Field(
                    "client", .text(maxBytes: WireLimits.clientBytes + 1 + WireLimits.versionBytes),
                    "What the writer called itself in `session.hello`, `client` or `client/version`; left out otherwise."
                ),
            ]), maxItems: Int(Int32.max)), required: true, "One object an item, in the order of revisions.")
}
