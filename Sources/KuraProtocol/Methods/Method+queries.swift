extension Method {
    /// Questions to collections.
    static let queryMethods: [Method] = [
        Method(
            "documents.find", .documents, .read, needs: .scope([.list, .read], "collection"),
            "Finds documents by what is in them.",
            parameters: [
                queried, filter, sort, fields, .limit(WireLimits.findItems, default: 100), longCursor, allowScan,
                timeout, .expand,
                Field(
                    "atRev", .revision,
                    "Documents as they were at this revision, as far as the tables have it; not together with `expand`."
                ),
            ],
            result: [
                Field(
                    "documents",
                    .list(
                        of: .object([
                            Field("id", .key, required: true, "The document's id."),
                            Field("value", .json, required: true, "The document, or the `fields` of it."), .rev,
                        ]), maxItems: WireLimits.findItems), required: true,
                    "The page; it ends early rather than grow over 1 MiB."),
                readRev, longNextCursor, plan, warnings, .expanded,
            ],
            errors: queryErrors + [.replyTooLarge, .compacted],
            example:
                "{\"collection\":\"countries\",\"where\":{\"area\":{\"$gt\":300000}},\"sort\":[\"name\"],\"limit\":20}"),
        Method(
            "documents.count", .documents, .read,
            needs: .scope(.list, "collection", also: [Extra(.read, with: "where")]),
            "Counts a collection's documents, or those that match.",
            parameters: [queried, filter, allowScan, timeout],
            result: [
                Field("count", .count, required: true, "Documents, deleted ones not counted."), .nowRev,
                Field("plan", .object(planFields), "With `where`: how they were found."),
            ],
            errors: queryErrors, example: "{\"collection\":\"countries\",\"where\":{\"continent\":\"Asia\"}}",
            single: true),
        Method(
            "documents.distinct", .documents, .read, needs: .scope([.list, .read], "collection"),
            "Lists the different values that a field has, in their order.",
            parameters: [
                queried, Field("field", .text(maxBytes: WireLimits.pathBytes), required: true, "Path of the field."),
                filter, .limit(WireLimits.findItems, default: 100), longCursor, allowScan, timeout,
            ],
            result: [
                Field(
                    "values", .list(of: .json, maxItems: WireLimits.findItems), required: true,
                    "Each once, as one of its documents has it written; documents without the field give none."),
                readRev, longNextCursor, plan,
            ],
            errors: queryErrors, example: "{\"collection\":\"countries\",\"field\":\"continent\"}"),
        Method(
            "documents.aggregate", .documents, .read, needs: .scope([.list, .read], "collection"),
            "Counts, sums up and compares documents, in groups.",
            parameters: [
                queried, filter,
                Field(
                    "groupBy", .list(of: .text(maxBytes: WireLimits.pathBytes), maxItems: 16),
                    "Paths: documents with equal values there are a group. Without them all are one."),
                Field(
                    "compute", .map(of: .json),
                    "What to compute, by name: `{\"total\":{\"sum\":\"price\"}}`, with `count`, `sum`, `min`, `max` or `avg`."
                ),
                allowScan, timeout,
            ],
            result: [
                Field(
                    "groups",
                    .list(
                        of: .object([
                            Field("key", .map(of: .json), required: true, "The values by path; missing ones left out."),
                            Field("count", .count, required: true, "Documents of the group."),
                            Field("values", .map(of: .json), required: true, "What was computed, by name."),
                        ]), maxItems: WireLimits.listItems), required: true, "In the order of their keys."),
                readRev, plan,
            ],
            errors: queryErrors + [.replyTooLarge],
            example:
                "{\"collection\":\"countries\",\"groupBy\":[\"continent\"],\"compute\":{\"people\":{\"sum\":\"population\"}}}"
        ),
        Method(
            "documents.explain", .documents, .read, needs: .scope([.list, .read], "collection"),
            "Makes a query and tells how it went, without its documents.",
            parameters: [
                queried, filter, sort, fields, .limit(WireLimits.findItems, default: 100), longCursor, allowScan,
                timeout,
            ],
            result: [
                plan,
                Field("keysVisited", .count, required: true, "Entries of the index that were walked over."),
                Field("documentsVisited", .count, required: true, "Documents that were read, deleted ones counted."),
                Field("matched", .count, required: true, "Those of them that match."),
                Field("returned", .count, required: true, "Documents that the page would have."),
                Field("snapshots", .count, required: true, "States of the tables that it was spread over."),
                Field("elapsedMs", .count, required: true, "Milliseconds on the reader thread."), readRev, warnings,
            ],
            errors: queryErrors + [.replyTooLarge],
            example: "{\"collection\":\"countries\",\"where\":{\"continent\":\"Asia\"},\"sort\":[\"name\"]}"),
    ]

    private static let queryErrors: [ErrorKind] = [.indexNeeded, .timeout, .cancelled, .overloaded, .shuttingDown]

    private static let queried = Field("collection", .scope, required: true, "Which kind of document.")
    private static let filter = Field(
        "where", .json, "A selector: what documents must have; all of them when absent. See queries.md.")
    private static let sort = Field(
        "sort", .list(of: .json, maxItems: 16),
        "Paths to sort by, each `\"path\"` or `{\"path\":\"desc\"}`; `_id` is the document's id.")
    private static let fields = Field(
        "fields", .list(of: .text(maxBytes: WireLimits.pathBytes), maxItems: 100),
        "Paths: only these parts of the documents are returned.")
    private static let longCursor = Field(
        "cursor", .text(maxBytes: WireLimits.cursorBytes), "A cursor of the same query's previous page.")
    private static let longNextCursor = Field(
        "cursor", .text(maxBytes: WireLimits.cursorBytes), "Where the next page starts; absent at the end.")
    private static let allowScan = Field(
        "allowScan", .boolean, "true: look at every document, though there are more than 10,000 and no index helps.")
    private static let timeout = Field(
        "timeoutMs", .integer(1...WireLimits.queryMilliseconds),
        "Milliseconds after which it ends with `timeout`; 5,000 when absent.")
    private static let readRev = Field(
        "rev", .revision, required: true,
        "What it was read as of; a document that changed meanwhile may be newer.")
    private static let warnings = Field(
        "warnings", .list(of: .text(maxBytes: 256), maxItems: 8), "What makes it slow; left out when nothing does.")
    private static let plan = Field("plan", .object(planFields), required: true, "How the documents were found.")
    private static let planFields: [Field] = [
        Field(
            "access", .word(["none", "collection", "ids", "index"]), required: true,
            "By what: nothing can match, all documents, ranges of ids, an index."),
        Field("index", .text(maxBytes: WireLimits.scopeBytes), "Name of the index."),
        Field("ranges", .count, required: true, "Ranges of ids or of the index's keys."),
        Field(
            "sort", .word(["none", "access", "memory"]), required: true,
            "Not asked for, given by the access, or made in memory; nothing is ever written to a file for it."),
    ]
}
