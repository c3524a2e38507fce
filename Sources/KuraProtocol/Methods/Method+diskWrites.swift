extension Method {
    static let diskWrites = Method(
        "storage.diskWrites", .storage, .read, needs: .whole(.admin),
        "Tells what was written to the disk in a while, and for whom: the write bill.",
        parameters: [
            Field(
                "window", .word(["hour", "day", "week", "month"]),
                "The last 60 minutes, 24 hours, 7 days or 30 days, the one that is not over counted; without it the day."
            ),
            Field(
                "by", .word(["store", "method", "client", "user", "scope", "key"]),
                "What the groups are; without it the store. Scopes and keys are those written most in the last hour or two, estimated; none of secrets."
            ),
            Field("limit", .integer(1...64), "Groups to tell of at most; without it 20."),
        ],
        result: [
            Field("window", .text(maxBytes: 16), required: true, "As asked."),
            Field("by", .text(maxBytes: 16), required: true, "As asked."),
            Field("startedAt", .timestamp, required: true, "Where what is known of the window begins."),
            Field("seconds", .count, required: true, "How much of it the daemon was running."),
            Field("totals", .object(diskWriteNumbers + diskWriteTotals), required: true, "All of it."),
            Field(
                "groups",
                .list(
                    of: .object([
                        Field(
                            "name", .text(maxBytes: 1024), required: true,
                            "The group; what has no name of its own has an empty one."),
                        Field("store", .text(maxBytes: 16), "Where it is, of scopes and keys."),
                        Field("scope", .text(maxBytes: 512), "In which scope, of keys."),
                        Field("changes", .count, required: true, "Changes that were asked for."),
                        Field("logicalBytes", .count, required: true, "Bytes of their keys and values."),
                        Field(
                            "bytes", .count,
                            "The group's part of what was written, by what it asked for; not of scopes and keys."),
                    ]), maxItems: 64), required: true, "Those that cost most first."),
            Field(
                "series",
                .list(
                    of: .object(
                        [
                            Field("startedAt", .timestamp, required: true, "Where it begins."),
                            Field("seconds", .count, required: true, "How much of it the daemon was running."),
                            Field("byStore", .map(of: .count), required: true, "The stores' parts, and `upkeep`."),
                        ] + diskWriteNumbers), maxItems: 90), required: true,
                "The window's minutes, hours or days, those left out in which the daemon did not run."),
            Field(
                "days",
                .object([
                    Field("count", .count, required: true, "Days that are known and over."),
                    Field("p50", .count, required: true, "Median of their bytes."),
                    Field("p90", .count, required: true, "The bytes that one day in ten passes."),
                    Field(
                        "trend", .integer(-WireLimits.safeInteger...WireLimits.safeInteger), required: true,
                        "Bytes by which a day's writes grew from day to day over the last 14, by least squares."),
                ]), required: true, "The days as a whole, whatever the window."),
            Field(
                "files", .list(of: .object(diskWriteFiles), maxItems: 32), required: true,
                "What the window's writes were, by kind of file; kinds of which there was nothing are left out."),
            Field(
                "budgets", .list(of: .object(diskWriteBudget), maxItems: 64), required: true,
                "What the configuration allows to be written in a day (UTC), and what of it is used today."),
            Field(
                "reports", .list(of: .object(diskWriteReport), maxItems: 64), required: true,
                "Budgets that were exceeded, until `storage.resolveReport`."),
            Field(
                "advice", .list(of: .object(diskWriteAdvice), maxItems: 256), required: true,
                "What could be written less, of the last day of this run."),
        ],
        example: "{\"window\":\"day\",\"by\":\"method\"}")

    static let resolveReport = Method(
        "storage.resolveReport", .storage, .write, needs: .whole(.admin),
        "Closes reports of budgets that were exceeded; for the rest of the day they are counted from here.",
        parameters: [Field("id", .integer(1...WireLimits.safeInteger), "The report's number; without it all.")],
        result: [Field("resolved", .count, required: true, "Reports that there were.")], example: "{\"id\":1}",
        apart: true)

    private static let diskWriteFiles: [Field] = [
        Field("group", .word(["log", "tables", "caches", "other"]), required: true, "What the files are for."),
        Field(
            "kind", .word(["database", "wal", "journal", "content", "temporary", "room"]), required: true,
            "Which of them: databases, their WAL, files of their own, room that is filled with zeros in advance."),
        Field("bytes", .count, required: true, "Bytes written."),
        Field("writes", .count, required: true, "Writes given to the system."),
        Field("syncs", .count, required: true, "Syncs, those of directories too."),
        Field("creates", .count, required: true, "Files that were made."),
        Field("renames", .count, required: true, "Files that were renamed."),
        Field("deletes", .count, required: true, "Files that were removed."),
        Field(
            "metadataBytes", .count, required: true,
            "What these cost the file system's own blocks, about: 16 KiB a file made or renamed, 8 KiB a file removed."),
        Field(
            "blockBytes", .count, required: true,
            "What the device is given besides, since it takes whole blocks of 4 KiB: a sync in the midst of one gives it twice."
        ),
    ]

    private static let diskWriteTarget: [Field] = [
        Field("store", .text(maxBytes: 16), "The store that it is about."),
        Field("client", .text(maxBytes: 256), "The client that it is about."),
    ]

    private static let diskWriteBudget: [Field] =
        diskWriteTarget + [
            Field("diskWriteBudget", .count, required: true, "Bytes that may be written in a day."),
            Field("bytes", .count, required: true, "Bytes that were written today, the target's part."),
            Field("throttle", .boolean, required: true, "Whether the client is throttled when it has written more."),
            Field("throttled", .boolean, required: true, "Whether it is now."),
        ]

    private static let diskWritePart: [Field] = [
        Field("name", .text(maxBytes: 1024), required: true, "The client, or the method."),
        Field("changes", .count, required: true, "Changes that were asked for."),
        Field("bytes", .count, required: true, "Their part of what was written."),
    ]

    private static let diskWriteReport: [Field] =
        [Field("id", .count, required: true, "Its number.")] + diskWriteTarget + [
            Field("diskWriteBudget", .count, required: true, "Bytes that may be written in a day."),
            Field("openedAt", .timestamp, required: true, "When the budget was found exceeded."),
            Field("lastAt", .timestamp, required: true, "When it was last."),
            Field("count", .count, required: true, "Days on which it was exceeded."),
            Field("bytes", .count, required: true, "Bytes that were written on the last of them, the target's part."),
            Field("share", .count, required: true, "Percent of all that was written on that day."),
            Field(
                "clients", .list(of: .object(diskWritePart), maxItems: 8), required: true,
                "Who, those that cost most first."),
            Field(
                "methods", .list(of: .object(diskWritePart), maxItems: 8), required: true,
                "By which methods, those that cost most first."),
            Field(
                "keys",
                .list(
                    of: .object([
                        Field("store", .text(maxBytes: 16), required: true, "Where it is."),
                        Field("scope", .text(maxBytes: 512), required: true, "In which scope."),
                        Field("key", .text(maxBytes: 512), required: true, "The key."),
                        Field("changes", .count, required: true, "Changes of it, estimated."),
                    ]), maxItems: 8), required: true, "Keys that were written most, estimated; none of secrets."),
            Field(
                "batchSizes", .list(of: .count, maxItems: 16), required: true,
                "Changes that some of the last requests had each."),
        ]

    private static let diskWriteAdvice: [Field] = [
        Field(
            "kind", .word(["rewrittenKey", "sameValue", "oneByOne", "scan", "shortLivedBlob"]), required: true,
            "What was noticed."),
        Field("store", .text(maxBytes: 16), required: true, "Where."),
        Field("scope", .text(maxBytes: 512), "In which scope."),
        Field("key", .text(maxBytes: 512), "Of which key."),
        Field("client", .text(maxBytes: 256), "Who; the last one where there were several."),
        Field("method", .text(maxBytes: 64), "By which method."),
        Field(
            "count", .count, required: true, "Changes, writes that changed nothing, queries or blobs that it is about."),
        Field("bytes", .count, "Bytes that reached the disk and need not have, about."),
        Field("documents", .count, "Documents that were looked at."),
        Field("what", .text(maxBytes: 2048), required: true, "What was noticed and what it has cost, as a sentence."),
        Field("fix", .text(maxBytes: 2048), required: true, "What to do about it."),
        Field("lastAt", .timestamp, required: true, "When it was noticed last."),
    ]

    private static let diskWriteNumbers: [Field] = [
        Field("bytes", .count, required: true, "Bytes given to the disk."),
        Field("log", .count, required: true, "Those of the log."),
        Field("tables", .count, required: true, "Those of the tables and their WAL."),
        Field("caches", .count, required: true, "Those of the caches' files."),
        Field("other", .count, required: true, "Those of other files, temporary ones too."),
        Field("syncs", .count, required: true, "Syncs."),
        Field("changes", .count, required: true, "Changes that were asked for."),
        Field("logicalBytes", .count, required: true, "Bytes of their keys and values."),
    ]

    private static let diskWriteTotals: [Field] = [
        Field("writes", .count, required: true, "Writes given to the system."),
        Field("creates", .count, required: true, "Files that were made."),
        Field("renames", .count, required: true, "Files that were renamed."),
        Field("deletes", .count, required: true, "Files that were removed."),
        Field(
            "metadataBytes", .count, required: true,
            "What these cost the file system's own blocks, about: 16 KiB a file made or renamed, 8 KiB a file removed."),
        Field(
            "blockBytes", .count, required: true,
            "What the device is given besides, since it takes whole blocks of 4 KiB: a sync in the midst of one gives it twice."
        ),
        Field(
            "upkeepBytes", .count, required: true,
            "Bytes that nobody asked for meanwhile: room for the log, folds and checkpoints of what came before, temporary files."
        ),
        Field("noOpWrites", .count, required: true, "Writes that changed nothing, and so were not written."),
        Field("syncsSaved", .count, required: true, "Durable changes that shared another one's sync."),
    ]
}
