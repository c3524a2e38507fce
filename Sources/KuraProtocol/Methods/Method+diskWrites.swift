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
        ],
        example: "{\"window\":\"day\",\"by\":\"method\"}")

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
        Field("deletes", .count, required: true, "Files that were removed."),
        Field(
            "metadataBytes", .count, required: true,
            "What these cost the file system's own blocks, about: 16 KiB a file made, 8 KiB a file removed."),
        Field(
            "upkeepBytes", .count, required: true,
            "Bytes that nobody asked for meanwhile: room for the log, folds and checkpoints of what came before, temporary files."
        ),
        Field("noOpWrites", .count, required: true, "Writes that changed nothing, and so were not written."),
        Field("syncsSaved", .count, required: true, "Durable changes that shared another one's sync."),
    ]
}
