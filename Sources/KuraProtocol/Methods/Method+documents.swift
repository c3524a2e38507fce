extension Method {
    static let documentsMethods: [Method] = [
        Method(
            "documents.put", .documents, .write, "Stores a document whole.",
            parameters: [
                collection,
                Field("id", .key, "Its name in the collection; a new UUIDv7 when absent."),
                Field("value", .json, required: true, "Any JSON value of at most 8 MiB."), .ifRev,
            ],
            result: [Field("id", .key, required: true, "The document's id."), .writtenRev],
            errors: [.conflict, .valueTooLarge, .noSpace, .outcomeUnknown],
            example: "{\"collection\":\"countries\",\"id\":\"JP\",\"value\":{\"name\":\"Japan\"}}"),
        Method(
            "documents.get", .documents, .read, "Reads one document.",
            parameters: [
                collection, documentID, Field("default", .json, "Returned as `value` when the document is absent."),
            ],
            result: [
                Field("value", .json, "The document; left out when absent and no default is given."), .rev,
                Field("version", .count, "How many times it has been written; left out when absent."),
                Field("createdAt", .timestamp, "When it was first written."),
                Field("updatedAt", .timestamp, "When it was last written."),
            ],
            example: "{\"collection\":\"countries\",\"id\":\"JP\"}"),
        Method(
            "documents.getMany", .documents, .read, "Reads several documents of one collection at one moment.",
            parameters: [
                collection,
                Field("ids", .list(of: .key, maxItems: WireLimits.getManyItems), required: true, "Ids, at most 1,000."),
            ],
            result: [
                Field(
                    "documents",
                    .list(
                        of: .object([
                            Field("id", .key, required: true, "The document's id."),
                            Field("value", .json, required: true, "The document."), .rev,
                        ]), maxItems: WireLimits.getManyItems), required: true,
                    "Those that exist, in the order asked for."),
                Field(
                    "missing", .list(of: .key, maxItems: WireLimits.getManyItems), required: true,
                    "Ids that are absent."),
                .nowRev,
            ],
            errors: [.replyTooLarge],
            example: "{\"collection\":\"countries\",\"ids\":[\"JP\",\"CH\"]}"),
        Method(
            "documents.putMany", .documents, .write, "Stores several documents: all or nothing, one revision.",
            parameters: [
                collection,
                Field(
                    "documents",
                    .list(
                        of: .object([
                            Field("id", .key, "Its name; a new UUIDv7 when absent."),
                            Field("value", .json, required: true, "The document."), .ifRev,
                        ]), maxItems: WireLimits.listItems), required: true, "At most 10,000; no id twice."),
            ],
            result: [
                Field(
                    "ids", .list(of: .key, maxItems: WireLimits.listItems), required: true,
                    "The ids, in the order given."),
                .writtenRev,
            ],
            errors: [.conflict, .valueTooLarge, .noSpace, .outcomeUnknown],
            example:
                "{\"collection\":\"notes\",\"documents\":[{\"id\":\"a\",\"value\":1},{\"value\":{\"text\":\"b\"}}]}"),
        Method(
            "documents.delete", .documents, .write,
            "Deletes a document; a tombstone stays so that others can learn of it.",
            parameters: [collection, documentID, .ifRev],
            result: [
                Field("rev", .revision, required: true, "Revision of this change; 0 when the document was absent."),
                Field("deleted", .boolean, required: true, "Whether there was something to delete."),
            ],
            errors: [.conflict, .noSpace, .outcomeUnknown],
            example: "{\"collection\":\"countries\",\"id\":\"JP\"}"),
        Method(
            "documents.list", .documents, .read, "Lists a collection's documents in the order of their ids' bytes.",
            parameters: [collection, .cursor, .limit(1000, default: 100)],
            result: [
                Field(
                    "documents",
                    .list(
                        of: .object([
                            Field("id", .key, required: true, "The document's id."),
                            Field("value", .json, required: true, "The document."), .rev,
                        ]), maxItems: 1000), required: true,
                    "The page; it ends early rather than grow over 1 MiB."),
                Field(
                    "rev", .revision, required: true,
                    "What the page was read as of; a document that changed meanwhile may be newer."),
                .nextCursor,
            ],
            example: "{\"collection\":\"countries\",\"limit\":20}"),
        Method(
            "documents.count", .documents, .read, "Counts a collection's documents.", parameters: [collection],
            result: [Field("count", .count, required: true, "Documents, deleted ones not counted."), .nowRev],
            example: "{\"collection\":\"countries\"}"),
        Method(
            "documents.scopes", .documents, .read, "Lists the collections with their sizes.",
            result: [
                Field(
                    "scopes",
                    .list(
                        of: .object([
                            Field("collection", .scope, required: true, "Name."),
                            Field("count", .count, required: true, "Documents in it."),
                            Field("bytes", .count, required: true, "Bytes of their values."),
                            Field("rev", .revision, required: true, "Revision of its last change."),
                        ]), maxItems: Int(Int32.max)), required: true, "One object a collection, in the order of names."
                ),
                .nowRev,
            ]),
    ]

    private static let collection = Field("collection", .scope, required: true, "Which kind of document.")
    private static let documentID = Field("id", .key, required: true, "The document's id.")
}
