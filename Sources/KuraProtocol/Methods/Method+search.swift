extension Method {
    /// Full text search.
    static let searchMethods: [Method] = [
        Method(
            "documents.search", .documents, .read, needs: .scope([.list, .read], "collection"),
            "Finds documents by the words in their text, the best first.",
            parameters: [
                Field("collection", .scope, required: true, "Which kind of document; it has `searchFields`."),
                Field(
                    "query", .text(maxBytes: WireLimits.searchBytes), required: true,
                    "Words, \"phrases\", beginnings*, OR, NOT or -, parentheses. See search.md."),
                .limit(WireLimits.findItems, default: 20),
                Field("where", .json, "A selector that documents must fulfil besides. See queries.md."),
                Field(
                    "fields", .list(of: .text(maxBytes: WireLimits.pathBytes), maxItems: 100),
                    "Paths: only these parts of the documents are returned."),
                Field(
                    "cursor", .text(maxBytes: WireLimits.cursorBytes), "A cursor of the same search's previous page."),
                Field(
                    "snippetWords", .integer(0...64),
                    "Words of a snippet, with the trigram tokenizer characters; 0 for no snippets, 16 when absent."),
                Field(
                    "markStart", .text(maxBytes: WireLimits.markBytes),
                    "What stands in a snippet before what was found; `[` when absent."),
                Field("markEnd", .text(maxBytes: WireLimits.markBytes), "What stands behind it; `]` when absent."),
                Field(
                    "timeoutMs", .integer(1...WireLimits.queryMilliseconds),
                    "Milliseconds after which it ends with `timeout`; 5,000 when absent."),
            ],
            result: [
                Field(
                    "documents",
                    .list(
                        of: .object([
                            Field("id", .key, required: true, "The document's id."),
                            Field("value", .json, required: true, "The document, or the `fields` of it."), .rev,
                            Field(
                                "rank", .json, required: true,
                                "A number above 0: how well it fits (bm25); more is better. Compares within one page."),
                            Field(
                                "snippets", .map(of: .text(maxBytes: 65_536)),
                                "By search field: a part of its text with what was found; left out with `snippetWords` 0."
                            ),
                        ]), maxItems: WireLimits.findItems), required: true,
                    "The page, the best first; it ends early rather than grow over 1 MiB."),
                Field(
                    "rev", .revision, required: true,
                    "What it was read as of; a document that changed meanwhile may be newer."),
                .nextCursor,
            ],
            errors: [.indexNeeded, .indexBuilding, .timeout, .cancelled, .overloaded, .shuttingDown, .replyTooLarge],
            example: "{\"collection\":\"articles\",\"query\":\"storage -cloud\",\"limit\":20}")
    ]
}
