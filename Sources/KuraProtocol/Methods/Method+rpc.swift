extension Method {
    static let rpcMethods: [Method] = [
        Method(
            "rpc.discover", .rpc, .read, "Describes every method as an OpenRPC document.",
            result: [
                Field("openrpc", .text(maxBytes: 16), required: true, "Version of the OpenRPC specification."),
                Field("info", .object([]), required: true, "Name and version of this API."),
                Field("methods", .list(of: .object([]), maxItems: 1000), required: true, "One object a method."),
                Field("components", .object([]), required: true, "Errors by kind: when they come, what to do."),
            ])
    ]

    static let sessionMethods: [Method] = [
        Method(
            "session.hello", .session, .read,
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
                    "The application has just started: its first connection says so, once a start; needs `client`."),
                Field(
                    "enable", .list(of: .text(maxBytes: 64), maxItems: 16),
                    "Capabilities to switch on for this connection; all must be among those offered."),
            ],
            result: [
                Field("server", .text(maxBytes: 32), required: true, "`kurad`."),
                Field("version", .text(maxBytes: 32), required: true, "The daemon's version."),
                Field("protocol", .integer(1...1), required: true, "Version of this protocol."),
                Field("role", .text(maxBytes: 64), required: true, "What this connection may do."),
                Field(
                    "epoch", .text(maxBytes: 36), required: true, "Names the history that revisions belong to (UUID)."),
                Field(
                    "capabilities", .list(of: .text(maxBytes: 64), maxItems: 64), required: true,
                    "What `enable` accepts."),
                Field(
                    "limits", .map(of: .integer(0...WireLimits.safeInteger)), required: true,
                    "Bounds, in bytes or items."),
            ],
            example: "{\"client\":\"notes\",\"version\":\"1.2\",\"launch\":true}"),
        Method(
            "session.can", .session, .read, "Tells whether this connection may make a call, without making it.",
            parameters: [
                Field("method", .name(maxBytes: 128), required: true, "Name of the method."),
                Field("params", .json, "Its parameters; without them only the method is judged."),
            ],
            result: [
                Field("allowed", .boolean, required: true, "Whether the call would be begun."),
                Field("reason", .text(maxBytes: 64), "Kind of the error that it would get."),
                Field("hint", .text(maxBytes: 256), "What would be right."),
            ],
            example: "{\"method\":\"settings.put\",\"params\":{\"domain\":\"app\",\"key\":\"theme\",\"value\":1}}",
            outOfBand: true),
    ]

    static let storageMethods: [Method] = [
        Method(
            "storage.ping", .storage, .read, "Answers at once, without looking at any store.",
            result: [Field("pong", .boolean, required: true, "Always true.")], outOfBand: true),
        Method(
            "storage.health", .storage, .read, "Tells whether the daemon is alive, and ready for work.",
            result: [
                Field("live", .boolean, required: true, "Always true: it answers."),
                Field("ready", .boolean, required: true, "Whether it takes reads and writes."),
                Field(
                    "reasons", .list(of: .word(["draining", "diskFull", "overloaded"]), maxItems: 3), required: true,
                    "Why it is not ready."),
            ], outOfBand: true),
        Method(
            "storage.status", .storage, .read, "Reports revisions, sizes, limits and counters of the running daemon.",
            result: [
                Field("version", .text(maxBytes: 32), required: true, "The daemon's version."),
                Field("pid", .count, required: true, "The daemon's process id."),
                Field(
                    "epoch", .text(maxBytes: 36), required: true, "Names the history that revisions belong to (UUID)."),
                Field("startedAt", .timestamp, required: true, "When the daemon started."),
                Field("profile", .text(maxBytes: 16), required: true, "`small`, `default` or `large`."),
                Field("rev", .revision, required: true, "Newest revision."),
                Field("foldedRev", .revision, required: true, "Revision up to which the tables are written."),
                Field("settings", .object([]), required: true, "Domains, keys and bytes of the settings."),
                Field("documents", .object([]), required: true, "Collections and documents."),
                Field("log", .object([]), required: true, "Segments and bytes of the log, commits and syncs."),
                Field("overlay", .object([]), required: true, "Changes that are not folded yet: items, bytes, limit."),
                Field("cache", .object([]), required: true, "Items kept in memory: items, bytes, limit."),
                Field("connections", .object([]), required: true, "Open connections, requests, subscriptions."),
                Field(
                    "buffers", .object([]), required: true,
                    "Memory of all connections' buffers, its limit, and what has been refused for want of it."),
                Field("disk", .object([]), required: true, "Writes, bytes and syncs since the start, by file group."),
                Field(
                    "limits", .map(of: .integer(0...WireLimits.safeInteger)), required: true,
                    "Bounds, in bytes or items."),
            ], outOfBand: true),
    ]
}
