extension Method {
    static let documentsHistory = Method(
        "documents.history", .documents, .read, needs: .scope(.read, "collection"),
        "Lists a document's versions, the newest first, as far as the log reaches back.",
        parameters: [
            Field("collection", .scope, required: true, "Name of the collection."),
            Field("id", .key, required: true, "The document's id."),
            Field("limit", .integer(1...1000), "Most versions to return; 100 when absent."),
            Field(
                "beforeRev", .revision, "Only versions before this revision: that of the last one, for the next page."),
            Field("values", .boolean, "Return the values too."),
        ],
        result: [
            Field(
                "versions",
                .list(
                    of: .object([
                        Field("rev", .revision, required: true, "Revision of the change that made it."),
                        Field("updatedAt", .timestamp, required: true, "When that was."),
                        Field("deleted", .boolean, "True when the change deleted the document; left out otherwise."),
                        Field("bytes", .count, "Size of the value; left out when deleted."),
                        Field("value", .json, "With `values`: the document; left out when deleted."),
                        Field(
                            "members",
                            .list(
                                of: .text(maxBytes: WireLimits.changedMembersBytes),
                                maxItems: WireLimits.changedMembersBytes / 3),
                            "The top-level members in which it differs from the version before; left out where all may differ."
                        ),
                        Field(
                            "client", .text(maxBytes: WireLimits.clientBytes + 1 + WireLimits.versionBytes),
                            "What the writer called itself; left out when it did not."),
                    ]), maxItems: 1000), required: true, "The newest first."),
            Field(
                "complete", .boolean, required: true,
                "The list ends with the document's first version; false when the log does not reach back so far, too."),
            Field("hasMore", .boolean, required: true, "There are older ones to ask for with `beforeRev`."),
        ],
        errors: [.replyTooLarge, .overloaded], example: "{\"collection\":\"countries\",\"id\":\"JP\"}")
}
