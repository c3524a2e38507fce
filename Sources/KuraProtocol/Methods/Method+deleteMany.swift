extension Method {
    static let deleteMany = Method(
        "documents.deleteMany", .documents, .write,
        needs: .scope(.delete, "collection", also: [Extra([.list, .read], with: "where")]),
        "Deletes several documents, by their ids or by what is in them.",
        parameters: [
            Field("collection", .scope, required: true, "Which kind of document."),
            Field(
                "ids", .list(of: .key, maxItems: WireLimits.listItems),
                """
                At most 10,000; no id twice. Those of no documents are passed over. All or nothing, one revision. This or \
                `where`.
                """),
            Field(
                "where", .json,
                """
                A selector (queries.md): what the documents must have. Up to 5,000 of them, and 64 MiB of values, go in one \
                transaction; more, or more than a full disk has room for at once, in slices, each a revision of its own, with \
                notifications `progress`.
                """),
            Field(
                "atomic", .boolean, "With `where`, true: in one transaction or not at all, as with a `requestKey`."),
            Field("dryRun", .boolean, "With `where`, true: count the documents and delete none."),
            Field(
                "allowScan", .boolean,
                "With `where`, true: look at every document, though there are more than 10,000 and no index helps."),
            Field(
                "timeoutMs", .integer(1...WireLimits.queryMilliseconds),
                """
                With `where`: milliseconds that looking for the documents may take, before each 5,000 of them; 5,000 when \
                absent.
                """),
        ],
        result: [
            Field("deleted", .count, required: true, "Documents that were there, or match."),
            Field("slices", .count, "With `where`: transactions that it took."),
            Field("dryRun", .boolean, "true: nothing was deleted."),
            Field(
                "rev", .revision, required: true,
                "Revision of this change, the last slice's; the newest one there is when nothing was there."),
            .cascaded, .nullified, .durable,
        ],
        errors: [
            .referenced, .schemaViolation, .tooManyDocuments, .indexNeeded, .timeout, .cancelled, .overloaded,
            .shuttingDown, .noSpace,
            .outcomeUnknown,
        ],
        example: "{\"collection\":\"notes\",\"where\":{\"isDone\":true}}")
}

extension Field {
    static let cascaded = Field(
        "cascaded", .count,
        "Documents that were deleted because they referred to what was; left out when there are none.")
    static let nullified = Field(
        "nullified", .count, "Documents that have lost a reference to what was deleted; left out when there are none.")
}

extension Field {
    static let expand = Field(
        "expand", .list(of: .text(maxBytes: WireLimits.pathBytes), maxItems: 16),
        "Fields for which references are configured: the documents that they refer to come along, at most 1,000.")
    static let expanded = Field(
        "expanded", .map(of: .map(of: .json)),
        """
        With `expand`: the documents that are referred to, each once, by collection and id: `{"value":…,"rev":…}`, or \
        `{"rev":0}` where there is none.
        """)
}
