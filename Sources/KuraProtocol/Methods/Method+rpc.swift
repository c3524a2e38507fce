extension Method {
    static let rpcMethods: [Method] = [
        Method(
            "rpc.discover", .rpc, .read, needs: .nothing, "Describes every method as an OpenRPC document.",
            result: [
                Field("openrpc", .text(maxBytes: 16), required: true, "Version of the OpenRPC specification."),
                Field("info", .object([]), required: true, "Name and version of this API."),
                Field("methods", .list(of: .object([]), maxItems: 1000), required: true, "One object a method."),
                Field("components", .object([]), required: true, "Errors by kind: when they come, what to do."),
            ]),
        Method(
            "rpc.cancel", .rpc, .read, needs: .nothing,
            "Ends a query, a transfer or a wait of this connection that is under way; its own reply is the error `cancelled`.",
            parameters: [Field("id", .json, required: true, "The request's id, written as it was.")],
            result: [
                Field(
                    "cancelled", .boolean, required: true,
                    "Whether there was something to end; the request may still be answered with what it has found.")
            ],
            example: "{\"id\":7}", outOfBand: true),
    ]

    static let sessionMethods: [Method] = [
        Method(
            "session.hello", .session, .read, needs: .nothing,
            "Introduces a client and returns the daemon's version, limits and capabilities.",
            parameters: [
                Field(
                    "client", .name(maxBytes: WireLimits.clientBytes),
                    "Name of the application, for the log and the write bill."),
                Field(
                    "version", .name(maxBytes: WireLimits.versionBytes),
                    "Version of the application; needs `client`."),
                Field(
                    "launch", .boolean,
                    "The application has just started: its first connection says so, once a start; needs `client`. Its scopes are swept."
                ),
                Field(
                    "enable", .list(of: .text(maxBytes: 64), maxItems: 16),
                    "Capabilities to switch on for this connection; all must be among those offered."),
                Field(
                    "installation", .scope,
                    "Which installation of the application this is, as it was named at its installation: secrets of another one are not shown to it."
                ),
                Field(
                    "protocol", .integer(1...WireLimits.safeInteger),
                    "Version of this protocol that the client speaks; another one than the daemon's is refused."),
            ],
            result: [
                Field("server", .text(maxBytes: 32), required: true, "`kurad`."),
                Field("version", .text(maxBytes: 32), required: true, "The daemon's version."),
                Field(
                    "protocol", .integer(Int64(WireLimits.protocolVersion)...Int64(WireLimits.protocolVersion)),
                    required: true, "Version of this protocol."),
                Field("role", .text(maxBytes: 64), required: true, "What this connection is allowed to be."),
                Field(
                    "grants", .list(of: .object(grant), maxItems: Int(Int32.max)), required: true,
                    "What the role may do, `{uid}` replaced by this user's number."),
                Field(
                    "epoch", .text(maxBytes: 36), required: true, "Names the history that revisions belong to (UUID)."),
                Field(
                    "capabilities", .list(of: .text(maxBytes: 64), maxItems: 64), required: true,
                    "What `enable` accepts."),
                Field(
                    "limits", .map(of: .integer(0...WireLimits.safeInteger)), required: true,
                    "Bounds, in bytes or items."),
            ],
            errors: [.protocolMismatch], example: "{\"client\":\"notes\",\"version\":\"1.2\",\"launch\":true}"),
        Method(
            "session.can", .session, .read, needs: .nothing,
            "Tells whether this connection may make a call, without making it.",
            parameters: [
                Field("method", .name(maxBytes: 128), required: true, "Name of the method."),
                Field("params", .json, "Its parameters; without them only the method is judged."),
            ],
            result: [
                Field("allowed", .boolean, required: true, "Whether the call would be begun."),
                Field("reason", .text(maxBytes: 64), "Kind of the error that it would get."),
                Field("hint", .text(maxBytes: 256), "What would be right."),
                Field("grant", .object(missing), "With `forbidden`: what is missing."),
            ],
            example: "{\"method\":\"settings.put\",\"params\":{\"domain\":\"app\",\"key\":\"theme\",\"value\":1}}",
            outOfBand: true),
    ]

    /// Sizes of each store that tells them.
    private static let stored = Store.allCases.compactMap { store in
        store.facts.status.map { Field(store.rawValue, .object([]), $0) }
    }

    static let storageMethods: [Method] = [
        Method(
            "storage.ping", .storage, .read, needs: .nothing, "Answers at once, without looking at any store.",
            result: [Field("pong", .boolean, required: true, "Always true.")], outOfBand: true, single: true),
        Method(
            "storage.health", .storage, .read, needs: .whole(.monitor),
            "Tells whether the daemon is alive, and ready for work.",
            result: [
                Field("live", .boolean, required: true, "Always true: it answers."),
                Field("ready", .boolean, required: true, "Whether it takes reads and writes."),
                Field(
                    "reasons", .list(of: .word(["draining", "diskFull", "overloaded"]), maxItems: 3), required: true,
                    "Why it is not ready."),
            ], outOfBand: true, single: true),
        Method(
            "storage.status", .storage, .read, needs: .whole(.monitor),
            "Reports revisions, sizes, limits and counters of the running daemon.",
            result: [
                Field("version", .text(maxBytes: 32), required: true, "The daemon's version."),
                Field(
                    "epoch", .text(maxBytes: 36), required: true, "Names the history that revisions belong to (UUID)."),
                Field("startedAt", .timestamp, required: true, "When the daemon started."),
                Field("profile", .text(maxBytes: 16), required: true, "`small`, `default` or `large`."),
                Field("rev", .revision, required: true, "Newest revision."),
                Field("foldedRev", .revision, required: true, "Revision up to which the tables are written."),
                Field(
                    "pid", .count,
                    "The daemon's process id; this and what follows, up to `limits`, needs `admin` on the store."),
                Field(
                    "recovered", .list(of: .object(recovered), maxItems: 64),
                    "What starts have had to set aside or drop, until `storage.acknowledge`; left out when there is nothing."
                ),
                Field(
                    "lastTrap", .object(lastTrap),
                    "How the run before this one ended, when it ended by a fault of its own; left out when it did not."),
                Field(
                    "check", .object(lastCheck),
                    "What has come of looking through everything last (`storage.check`, or by itself); left out before the first."
                ),
                Field(
                    "damage", .list(of: .object(damage), maxItems: 64),
                    "Files that last and were found damaged since the start, by whatever read them; left out when none was."
                ),
                Field(
                    "backups", .object(scheduledBackups),
                    "How the snapshots do that the daemon makes by itself; left out when it makes none."),
                Field(
                    "seedBundle", .object(seedBundle), "What `--seed-bundle` was to this start; left out without one."),
            ] + stored + [
                Field(
                    "space", .object([]),
                    "Bytes free and in all on the file system, below how many caches store nothing, and whether that is so; whether changes are refused for want of room (`full`), how many bytes have to become free until they are not (`missing`), and what takes the room (`usage`)."
                ),
                Field(
                    "log", .object([]),
                    "Segments and bytes of the log, commits and syncs, and `durableRev`, up to which no start needs the log."
                ),
                Field("overlay", .object([]), "Changes that are not folded yet: items, bytes, limit."),
                Field("cache", .object([]), "Items kept in memory: items, bytes, limit."),
                Field("connections", .object([]), "Open connections, requests, subscriptions."),
                Field(
                    "buffers", .object([]),
                    "Memory of all connections' buffers, its limit, and what has been refused for want of it."),
                Field("disk", .object([]), "Writes, bytes and syncs since the start, by file group."),
                Field("dataDirectory", .text(maxBytes: 4096), "The whole path of the daemon's data directory."),
                Field(
                    "inMemory", .boolean,
                    "True when that lies in memory, and goes with the daemon (`--memory`); left out otherwise."),
                Field(
                    "sockets",
                    .list(
                        of: .object([
                            Field("path", .text(maxBytes: 108), required: true, "Where it is."),
                            Field("name", .text(maxBytes: 256), "Its name in the configuration."),
                            Field("mode", .text(maxBytes: 4), required: true, "Its permissions, in octal digits."),
                            Field("owner", .count, "Number of its user, when the configuration gives one."),
                            Field("group", .count, "Number of its group, when the configuration gives one."),
                            Field("role", .text(maxBytes: 64), "The role of those who have no other."),
                            Field("connections", .count, required: true, "Open connections."),
                        ]), maxItems: Int(Int32.max)), "Where clients come in."),
                Field(
                    "quotas", .map(of: .object([])),
                    "What each role with a quota holds: items, bytes, scopes, and their limits."),
                Field(
                    "limits", .map(of: .integer(0...WireLimits.safeInteger)), required: true,
                    "Bounds, in bytes or items."),
            ], outOfBand: true),
        Method(
            "storage.stats", .storage, .read, needs: .whole(.monitor),
            "Reports what an application may want to send along with its own reports: sizes as ranges, and how well caches do; to administrators also what the daemon measures of itself.",
            parameters: [
                Field("histograms", .boolean, "With the buckets of all histograms; without it only their ranks.")
            ],
            result: [
                Field(
                    "databases",
                    .list(
                        of: .object([
                            Field("name", .text(maxBytes: 256), required: true, "The file, below the data directory."),
                            Field(
                                "range", .text(maxBytes: 32), required: true,
                                "Its size when the daemon started, or an application said that it has, such as `1-2 MB`."
                            ),
                        ]), maxItems: 100_000), required: true, "Database files that there were then."),
                Field(
                    "sizes", .map(of: .count), required: true, "How many of them were of each range."),
                Field(
                    "freeMemoryRange", .text(maxBytes: 32), "Memory that was free when the daemon started, as a range."),
                Field(
                    "openErrors", .count, required: true, "Files of caches that could not be opened, read or written."),
                Field(
                    "models",
                    .list(
                        of: .object(namespaceNumbers),
                        maxItems: 10_000),
                    required: true, "What namespaces of the model cache hold, and what has happened to them."),
                Field(
                    "blobs",
                    .list(
                        of: .object(
                            [
                                Field("namespace", .scope, required: true, "Name."),
                                Field("count", .count, required: true, "Its blobs, variants counted."),
                                Field(
                                    "bytes", .count, required: true, "Their bytes, equal contents counted each time."),
                            ] + Field.blobCounts), maxItems: 1000),
                    required: true, "The same of namespaces of blobs."),
                Field(
                    "totals", .map(of: .count),
                    "Entries of all models and their bytes, all blobs, their contents and the bytes of these, each once; needs `monitor` or `admin` on the store."
                ),
                Field(
                    "daemon", .object(observed),
                    "What the daemon has measured of its own work since it began to serve; needs `monitor` or `admin` on the store."
                ),
                Field(
                    "sweep", .object(sweep), required: true,
                    "How the sweep stands that is under way, or how the last one ended."),
                Field("purgedBytes", .count, required: true, "Bytes that caches have given up for want of space."),
                Field(
                    "launches", .list(of: .object(launch), maxItems: 64), required: true,
                    "What was done for the last start of each application (`session.hello` with `launch`); others' need `monitor` or `admin` on the store."
                ),
            ]),
        Method(
            "storage.sweep", .storage, .write, needs: .whole(.admin),
            "Removes from the caches what has expired, was deleted logically or dropped; answers when that is done.",
            result: sweep, apart: true),
        diskWrites, resolveReport, slow, recordTraffic,
    ]

    private static let namespaceNumbers: [Field] =
        [Field("namespace", .scope, required: true, "Name.")] + modelNumbers
    private static let launch: [Field] = [
        Field("client", .name(maxBytes: WireLimits.clientBytes), required: true, "The application."),
        Field("at", .timestamp, required: true, "When it was done."),
        Field("count", .count, required: true, "Its starts since the daemon's, this one included."),
        Field("swept", .count, required: true, "Entries that went of its namespaces of caches."),
        Field("sweptBytes", .count, required: true, "Bytes that they counted as."),
        Field("compacted", .boolean, required: true, "Whether large database files were compacted: one start in five."),
        Field("freedBytes", .count, required: true, "Bytes that these became smaller by."),
    ]
    private static let sweep: [Field] = [
        Field("running", .boolean, required: true, "Whether it is under way."),
        Field("done", .count, required: true, "Entries that were looked at."),
        Field("total", .count, required: true, "Entries to look at."),
        Field("removed", .count, required: true, "Entries that were removed."),
        Field("bytes", .count, required: true, "Bytes that they counted as."),
    ]

    private static let missing: [Field] = [
        Field(
            "store", .text(maxBytes: 16), required: true, "Name of the store; `*`: all, or with what is missing any."),
        Field("scope", .text(maxBytes: 256), "Its scope; left out where any would do."),
        Field(
            "accessGroup", .text(maxBytes: 256),
            "The secrets' access group, `*`: every one; left out where secrets in no group are meant."),
        Field("allow", .list(of: .text(maxBytes: 16), maxItems: 16), required: true, "Verbs."),
    ]
    private static let grant: [Field] = [
        Field("store", .text(maxBytes: 16), required: true, "Name of the store; `*`: all."),
        Field("scope", .text(maxBytes: 256), required: true, "Pattern of the scopes."),
        Field(
            "accessGroup", .text(maxBytes: 256),
            "Pattern of the access groups whose secrets it is about; left out where it is about those in none."),
        Field("allow", .list(of: .text(maxBytes: 16), maxItems: 16), required: true, "Verbs."),
    ]
}
