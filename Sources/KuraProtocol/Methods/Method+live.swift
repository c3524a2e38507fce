extension Method {
    /// Live queries.
    static let liveMethods: [Method] = [
        Method(
            "documents.watch", .documents, .read, needs: .scope([.list, .read], "collection"),
            """
            Begins a live query: notifications `documents.changed` follow, first what matches, then how that changes with each \
            durable revision.
            """,
            parameters: [
                Field("collection", .scope, required: true, "Which kind of document."),
                Field("where", .json, "A selector: what documents must have; all of them when absent. See queries.md."),
                Field(
                    "sort", .list(of: .json, maxItems: 16),
                    """
                    Paths to sort by, each `\"path\"` or `{\"path\":\"desc\"}`; what is equal in them, and everything when absent, \
                    is in the order of ids.
                    """),
                Field("limit", .integer(1...1000), "Only the first documents in that order; all of them when absent."),
                Field(
                    "afterRev", .revision,
                    """
                    The client has what the same query showed at this revision: values that have not changed since are left out of \
                    the beginning.
                    """),
                Field(
                    "epoch", .text(maxBytes: 64), "The history that `afterRev` comes from; another one is refused."),
                Field(
                    "allowScan", .boolean,
                    "true: look at every document, though there are more than 10,000 and no index helps."),
                Field(
                    "timeoutMs", .integer(1...WireLimits.queryMilliseconds),
                    "Milliseconds after which reading what it begins with ends with `timeout`; 5,000 when absent."),
            ],
            result: [
                Field("subscription", .count, required: true, "Names the live query on this connection."),
                Field(
                    "rev", .revision, required: true, "The first notifications are as of this revision or a later one."),
                Field(
                    "epoch", .text(maxBytes: 36), required: true, "Names the history that revisions belong to (UUID)."),
            ],
            errors: [
                .indexNeeded, .timeout, .cancelled, .epochChanged, .tooManySubscriptions, .liveQueryTooLarge,
                .overloaded,
                .shuttingDown,
            ],
            example: "{\"collection\":\"tasks\",\"where\":{\"done\":false},\"sort\":[\"due\"],\"limit\":20}"),
        Method(
            "documents.unwatch", .documents, .read, needs: .anywhere(.read),
            "Ends a live query; ending one that is not there changes nothing.",
            parameters: [Field("subscription", .count, required: true, "As `documents.watch` returned it.")],
            result: [Field("ended", .boolean, required: true, "Whether there was such a live query.")],
            example: "{\"subscription\":1}"),
    ]
}
