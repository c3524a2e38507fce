extension Method {
    static let modelsMethods: [Method] = [
        Method(
            "models.get", .models, .read,
            needs: .scope(.read, "namespace", also: [.init([.create, .update], with: "claim")]),
            "Reads a cached value, and may claim the right to fetch it anew.",
            parameters: [
                namespace, modelKey,
                Field("maxAgeSeconds", seconds, "Older than this counts as stale; 0: always fetch."),
                Field(
                    "claim", .boolean,
                    "true: the first that finds it stale or missing wins a token and fetches; the others are not told to."
                ),
                Field(
                    "waitMs", .integer(0...WireLimits.waitMilliseconds),
                    "With `claim`, when it is missing and somebody else fetches it: wait for that, so long at most."),
                lease,
            ],
            result: modelResult, errors: [.quotaExceeded, .overloaded, .cancelled, .shuttingDown],
            example: "{\"namespace\":\"feed\",\"key\":\"home\",\"claim\":true,\"waitMs\":5000}", outOfBand: true,
            single: true),
        Method(
            "models.getMany", .models, .read, needs: .scope(.read, "namespace"), "Reads several cached values.",
            parameters: [
                namespace,
                Field(
                    "keys", .list(of: .key, maxItems: WireLimits.getManyItems), required: true, "Which."),
                Field("maxAgeSeconds", seconds, "Older than this counts as stale."),
            ],
            result: [
                Field(
                    "entries",
                    .list(
                        of: .object(fields([Field("key", .key, required: true, "Its key.")], modelFound)),
                        maxItems: WireLimits.getManyItems), required: true,
                    "Those that are there, in the order of `keys`."
                ),
                Field(
                    "missing", .list(of: .key, maxItems: WireLimits.getManyItems), required: true, "Those that are not."
                ),
            ],
            errors: [.replyTooLarge, .overloaded], example: "{\"namespace\":\"feed\",\"keys\":[\"home\",\"about\"]}"),
        Method(
            "models.put", .models, .write, needs: .scope([.create, .update], "namespace"),
            "Caches a value, and gives it to whoever waits for it.",
            parameters: fields(
                [
                    namespace, modelKey,
                    Field("value", .json, required: true, "The value, at most 8 MiB as JSON text."),
                ], lifetimes,
                [
                    etag, tags, Field("token", token, "The token that was won with `models.get`."),
                    Field("ifAbsent", .boolean, "true: not when there is one already, fresh or stale."),
                    Field(
                        "store", .boolean, "false: only give it to those that wait; cache nothing. true when absent."),
                ]),
            result: [
                Field("stored", .boolean, required: true, "Whether it is cached now."),
                Field(
                    "stale", .boolean,
                    "true: it is cached as stale, since `token` was lost or what it stands for was invalidated meanwhile."
                ),
                Field(
                    "reason", .word(["exists", "notWanted", "overBudget", "lowStorage"]),
                    "Why it is not cached."),
            ],
            errors: [.valueTooLarge, .quotaExceeded, .tokenInvalid],
            example: "{\"namespace\":\"feed\",\"key\":\"home\",\"value\":{\"items\":[1,2]},\"ttlSeconds\":60}",
            apart: true, single: true),
        Method(
            "models.putMany", .models, .write, needs: .scope([.create, .update], "namespace"),
            "Caches several values, each by itself, and gives them to whoever waits for them.",
            parameters: fields(
                [
                    namespace,
                    Field(
                        "entries",
                        .list(
                            of: .object([
                                modelKey,
                                Field("value", .json, required: true, "The value, at most 8 MiB as JSON text."), etag,
                                tags,
                            ]), maxItems: WireLimits.getManyItems), required: true, "At most 1,000; no key twice."),
                ], lifetimes, [Field("ifAbsent", .boolean, "true: not those that are there already, fresh or stale.")]),
            result: [
                Field("stored", .count, required: true, "How many are cached now."),
                Field(
                    "declined",
                    .list(
                        of: .object([
                            Field("key", .key, required: true, "Its key."),
                            Field(
                                "reason", .word(["exists", "overBudget", "lowStorage", "quotaExceeded"]),
                                required: true, "Why it is not cached."),
                        ]), maxItems: WireLimits.getManyItems), required: true, "The others, in the order of `entries`."
                ),
            ],
            errors: [.valueTooLarge, .quotaExceeded],
            example:
                "{\"namespace\":\"feed\",\"entries\":[{\"key\":\"home\",\"value\":1},{\"key\":\"about\",\"value\":2}],\"ttlSeconds\":60}",
            apart: true),
        Method(
            "models.touch", .models, .write, needs: .scope(.update, "namespace"),
            "Makes a cached value fresh again without writing it: what was fetched has not changed.",
            parameters: fields(
                [namespace, modelKey], lifetimes,
                [
                    Field(
                        "etag", .name(maxBytes: WireLimits.etagBytes),
                        "Only when this is the entry's: the version that was confirmed."),
                    Field("token", token, "The token that was won with `models.get`."),
                ]),
            result: [
                Field("touched", .boolean, required: true, "Whether there was such an entry."),
                Field("stale", .boolean, "true: it stays stale, as with `models.put`."),
            ],
            errors: [.tokenInvalid], example: "{\"namespace\":\"feed\",\"key\":\"home\",\"ttlSeconds\":60}", apart: true
        ),
        Method(
            "models.fail", .models, .write, needs: .anywhere(.update),
            "Tells that the winner of a token could not fetch: the next that waits wins.",
            parameters: [
                Field("token", token, required: true, "The token that was won with `models.get`."),
                Field(
                    "retryAfterSeconds", seconds,
                    "Nobody is to try again for so long: no token is given, and those that wait are told so. 0 when absent."
                ),
            ],
            result: [
                Field("ended", .boolean, required: true, "Whether the token was still the one that counts.")
            ],
            errors: [.tokenInvalid],
            example: "{\"token\":\"\(String(repeating: "0", count: 64))\",\"retryAfterSeconds\":30}", apart: true),
        Method(
            "models.renew", .models, .write, needs: .scope([.create, .update], "namespace"),
            "Has a token that was won last longer: whoever is still fetching says so, and nobody else begins.",
            parameters: [
                namespace, modelKey,
                Field("token", token, required: true, "The token that was won with `models.get`."),
                Field(
                    "leaseSeconds", .integer(1...3600), required: true,
                    "How long it is good from now on, whatever was left; it ends with its connection if it did before."),
            ],
            result: [
                Field("expiresAt", .timestamp, required: true, "When it ends, unless it is renewed again."),
                Field(
                    "stale", .boolean,
                    "true: what it stands for was deleted or invalidated meanwhile, and what is put with it is cached as stale."
                ),
            ],
            errors: [.tokenInvalid],
            example:
                "{\"namespace\":\"feed\",\"key\":\"home\",\"token\":\"\(String(repeating: "0", count: 64))\",\"leaseSeconds\":30}",
            apart: true),
        Method(
            "models.delete", .models, .write, needs: .scope(.delete, "namespace"), "Removes a cached value.",
            parameters: [
                namespace, modelKey,
                Field(
                    "logical", .boolean,
                    "true: it is ignored from now on, and removed by a sweep; the next is at the daemon's start."),
            ],
            result: [Field("deleted", .boolean, required: true, "Whether there was one.")],
            example: "{\"namespace\":\"feed\",\"key\":\"home\"}", apart: true, single: true),
        Method(
            "models.deleteMany", .models, .write, needs: .scope(.delete, "namespace"), "Removes several cached values.",
            parameters: [
                namespace,
                Field("keys", .list(of: .key, maxItems: WireLimits.getManyItems), required: true, "Which."),
                Field("logical", .boolean, "true: they are ignored from now on, and removed by a sweep."),
            ],
            result: [Field("deleted", .count, required: true, "How many there were.")],
            example: "{\"namespace\":\"feed\",\"keys\":[\"home\",\"about\"]}", apart: true),
        Method(
            "models.invalidate", .models, .write, needs: .scope([.update, .delete], "namespace"),
            "Makes all of a namespace, of a tag or of a prefix stale, or drops it, at once however much it is.",
            parameters: [
                namespace, Field("prefix", .key, "Only keys that begin so."),
                Field("tag", .name(maxBytes: WireLimits.tagBytes), "Only entries with this tag; this or `prefix`."),
                Field(
                    "mode", .word(["stale", "drop"]),
                    "`stale`, also when absent: it is shown as stale until it is fetched anew; `drop`: it is gone."),
            ],
            result: [Field("invalidated", .boolean, required: true, "Whether there is such a namespace.")],
            errors: [.quotaExceeded], example: "{\"namespace\":\"feed\",\"tag\":\"user-7\"}", apart: true),
        Method(
            "models.list", .models, .read, needs: .scope(.list, "namespace"),
            "Lists a namespace's entries without their values, in no particular order.",
            parameters: [namespace, .cursor, .limit(1000, default: 100)],
            result: [
                Field(
                    "entries",
                    .list(
                        of: .object([
                            Field("key", .key, required: true, "Its key."),
                            Field("state", .word(["fresh", "stale"]), required: true, "How it stands."),
                            Field("ageMs", .count, required: true, "Milliseconds since it was stored or touched."),
                            Field("bytes", .count, required: true, "Bytes of its value."),
                        ]), maxItems: 1000), required: true, "The page."),
                .nextCursor,
            ], example: "{\"namespace\":\"feed\"}"),
        Method(
            "models.configure", .models, .write, needs: .scope(.admin, "namespace"),
            "Sets what a namespace's entries are at first, and how much it may hold.",
            parameters: fields(
                [namespace], lifetimes,
                [
                    Field("maxEntries", .integer(1...WireLimits.safeInteger), "Most entries."),
                    Field(
                        "maxBytes", .integer(4096...WireLimits.safeInteger),
                        "Most bytes, keys and 144 for each entry included."),
                    Field("partition", .boolean, "true: it lies in a file of its own; 64 namespaces at most do."),
                    Field("persist", .boolean, "false: it is kept in memory only, and gone with the daemon."),
                    Field(
                        "scratch", .boolean,
                        "true: it is kept in memory for as long as a connection that said so is there, then it is gone."
                    ),
                ]),
            result: modelConfiguration, errors: [.quotaExceeded],
            example: "{\"namespace\":\"feed\",\"ttlSeconds\":60,\"maxBytes\":1048576}", apart: true),
        Method(
            "models.describe", .models, .read, needs: .scope(.list, "namespace"),
            "Tells what a namespace is and holds.",
            parameters: [namespace], result: fields(modelConfiguration, modelNumbers), errors: [.notFound],
            example: "{\"namespace\":\"feed\"}"),
        Method(
            "models.scopes", .models, .read, needs: .anywhere(.list), "Lists the namespaces with their sizes.",
            result: [
                Field(
                    "scopes",
                    .list(
                        of: .object([
                            Field("namespace", .scope, required: true, "Name."),
                            Field("count", .count, required: true, "Entries in it."),
                            Field("bytes", .count, required: true, "Bytes that they count as."),
                        ]), maxItems: Int(Int32.max)), required: true, "One object a namespace, in the order of names.")
            ]),
    ]

    private static func fields(_ parts: [Field]...) -> [Field] { parts.flatMap { $0 } }

    private static let seconds = ValueType.integer(WireLimits.cacheSeconds)
    private static let token = ValueType.text(maxBytes: 64)
    private static let namespace = Field("namespace", .scope, required: true, "Which kind of value.")
    private static let modelKey = Field("key", .key, required: true, "Which one.")
    private static let lease = Field(
        "leaseSeconds", .integer(1...3600),
        "How long a token that is won is good, connection or not. Without it: while the connection lasts, 30 seconds at most. `models.renew` prolongs either."
    )
    private static let lifetimes = [
        Field("ttlSeconds", seconds, "How long it is fresh; for ever when neither this nor the namespace says."),
        Field("staleSeconds", seconds, "How long it is shown as stale after that; 7 days when nobody says."),
        Field(
            "staleIfErrorSeconds", seconds, "How long it is shown as stale instead when fetching it fails."),
    ]
    private static let etag = Field(
        "etag", .name(maxBytes: WireLimits.etagBytes), "What its source calls this version of it.")
    private static let tags = Field(
        "tags", .list(of: .name(maxBytes: WireLimits.tagBytes), maxItems: WireLimits.tags),
        "Words by which it can be invalidated together with others.")
    private static let modelFound = [
        Field("state", .word(["fresh", "stale", "miss"]), required: true, "How it stands."),
        Field("value", .json, "The value; left out on a miss."),
        Field("etag", .text(maxBytes: WireLimits.etagBytes), "As it was put with it."),
        Field("ageMs", .count, required: true, "Milliseconds since it was stored or touched; 0 on a miss."),
        Field(
            "tags", .list(of: .text(maxBytes: WireLimits.tagBytes), maxItems: WireLimits.tags),
            "As they were put with it."),
    ]
    private static let modelResult =
        fields(
            modelFound,
            [
                Field("token", token, "You have won: fetch it, and bring it or say that it failed."),
                Field(
                    "retryAfterMs", .count,
                    "Nobody is to fetch it for so long, whoever tried last has said: `models.fail`."
                ),
            ])
    private static let modelConfiguration = [
        Field("ttlSeconds", .count, "How long entries are fresh; left out: for ever."),
        Field("staleSeconds", .count, required: true, "How long they are shown as stale after that."),
        Field("staleIfErrorSeconds", .count, required: true, "How long when fetching them fails."),
        Field("maxEntries", .count, "Most entries; left out: no bound."),
        Field("maxBytes", .count, required: true, "Most bytes."),
        Field("partition", .boolean, required: true, "Whether it lies in a file of its own."),
        Field("persist", .boolean, required: true, "Whether it survives the daemon."),
        Field("scratch", .boolean, required: true, "Whether it ends with the connections that hold it."),
    ]
    static let modelNumbers = [
        Field("count", .count, required: true, "Entries."),
        Field("bytes", .count, required: true, "Bytes that they count as."),
        Field("hits", .count, required: true, "Times that an entry was found fresh since the start."),
        Field("stale", .count, required: true, "Times that one was found stale."),
        Field("misses", .count, required: true, "Times that none was found."),
        Field("puts", .count, required: true, "Entries that were stored."),
        Field("evictions", .count, required: true, "Entries that had to go for want of room."),
        Field(
            "rejections", .count, required: true,
            "Those of them that were new and asked for less often than who would have had to go instead."),
        Field("expired", .count, required: true, "Entries that were swept."),
    ]
}
