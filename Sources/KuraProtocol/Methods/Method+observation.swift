extension Method {
    static let slow = Method(
        "storage.slow", .storage, .read, needs: .whole(.admin),
        "Lists requests that took long, the newest first; nothing of their parameters.",
        parameters: [Field("limit", .integer(1...128), "Most items to return; 20 when absent.")],
        result: [
            Field(
                "thresholdMilliseconds", .count, required: true,
                "From how long on a request is slow; 0: none is. `slowMilliseconds` of the configuration."),
            Field("count", .count, required: true, "Slow requests since the start; the newest 128 notes are kept."),
            Field(
                "items",
                .list(
                    of: .object([
                        Field("number", .count, required: true, "Counts slow requests, from the start on."),
                        Field("at", .timestamp, required: true, "When the reply left."),
                        Field("method", .text(maxBytes: 64), required: true, "Its method."),
                        Field(
                            "requests", .count, required: true,
                            "How many there were: requests of one method that came together and left together."),
                        Field(
                            "microseconds", .count, required: true,
                            "From when the request was read to when its reply had left."),
                        Field(
                            "waitedFor", .list(of: .word(["room", "page", "query", "transfer"]), maxItems: 4),
                            required: true,
                            "What it was put back for: changes to be folded, a page of the tables, a query, a thread that does the work. The sync is not told."
                        ),
                        Field(
                            "client", .text(maxBytes: 256), required: true,
                            "What the client calls itself; may be empty."),
                        Field("user", .count, "Its user's number."),
                        Field("role", .text(maxBytes: 64), required: true, "Its role."),
                    ]), maxItems: 128), required: true, "The newest first."),
        ],
        example: "{\"limit\":10}")

    /// What the daemon measures of itself.
    static let observed: [Field] = [
        Field("uptimeMilliseconds", .count, required: true, "Since it began to serve."),
        Field(
            "requests",
            .list(
                of: .object([
                    Field("method", .text(maxBytes: 64), required: true, "Its name."),
                    Field("refused", .count, required: true, "Requests that were answered with an error."),
                    Field(
                        "latency", .object(times), required: true,
                        "From when the loop saw a request's last bytes to when the socket had taken its reply's last byte."
                    ),
                ]), maxItems: 1000), required: true,
            "Methods that were asked for, in the order of their latencies' sums."),
        Field("refusals", .map(of: .count), required: true, "Errors by kind, of lines that name no method too."),
        Field(
            "commits", .object([Field("changes", .object(sizes), required: true, "Changes of a commit.")]),
            required: true, "Commits to the log: a turn's changes, of all connections."),
        Field(
            "syncs",
            .object([
                Field("time", .object(times), required: true, "What a sync took."),
                Field("revisions", .object(sizes), required: true, "Revisions that a sync made durable."),
            ]), required: true, "Syncs of the log."),
        Field(
            "folds",
            .object([
                Field("time", .object(times), required: true, "What it took to write a slice to the tables."),
                Field("changes", .object(sizes), required: true, "Changes of a slice."),
            ]), required: true, "Slices of the log that were written to the tables."),
        Field(
            "checkpoints", .object([Field("time", .object(times), required: true, "What one took.")]),
            required: true, "Checkpoints of the tables."),
        Field("walBytes", .count, required: true, "Bytes of the tables' WAL that are not checkpointed."),
        Field(
            "queues", .map(of: .count), required: true,
            "Connections that wait: for the `sync`, for `room`, a `page` or a `query`, those that had `more` than one turn answers, are `deferred`, `starved` of memory or `stalled`; long `transfers` under way."
        ),
        Field(
            "documents",
            .object([
                Field("hits", .count, required: true, "Found in memory."),
                Field("misses", .count, required: true, "Looked up in the tables."),
            ]), required: true, "Documents looked up by their ids, to be read or changed."),
        Field(
            "slow",
            .object([
                Field(
                    "thresholdMilliseconds", .count, required: true, "From how long on a request is slow; 0: none is."),
                Field("count", .count, required: true, "Slow requests since the start."),
            ]), required: true, "See `storage.slow`."),
    ]

    private static let buckets = Field(
        "buckets", .map(of: .count),
        "With `histograms`: how many values each bucket has, by its upper bound, which belongs to it. A bound is at most a sixteenth above the values below it. Empty buckets are left out."
    )

    private static let times: [Field] = [
        Field("count", .count, required: true, "How many there were."),
        Field("sumMicroseconds", .count, required: true, "All together."),
        Field("maxNanoseconds", .count, required: true, "The longest."),
        Field("p50Nanoseconds", .count, required: true, "The median, rounded up to its bucket's bound."),
        Field("p90Nanoseconds", .count, required: true, "What nine of ten do not exceed."),
        Field("p99Nanoseconds", .count, required: true, "What 99 of 100 do not exceed."),
        Field("p999Nanoseconds", .count, required: true, "What 999 of 1,000 do not exceed."),
        buckets,
    ]

    private static let sizes: [Field] = [
        Field("count", .count, required: true, "How many there were."),
        Field("sum", .count, required: true, "All together."),
        Field("max", .count, required: true, "The greatest."),
        Field("p50", .count, required: true, "The median, rounded up to its bucket's bound."),
        Field("p90", .count, required: true, "What nine of ten do not exceed."),
        Field("p99", .count, required: true, "What 99 of 100 do not exceed."),
        Field("p999", .count, required: true, "What 999 of 1,000 do not exceed."),
        buckets,
    ]
}
