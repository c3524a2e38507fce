extension Method {
    static let documentsMethods: [Method] = [
        Method(
            "documents.put", .documents, .write, needs: .item(scope: "collection", name: "id"),
            "Stores a document whole.",
            parameters: [
                collection,
                Field("id", .key, "Its name in the collection; a new UUIDv7 when absent."),
                Field("value", .json, required: true, "Any JSON value of at most 8 MiB."), .ifRev,
            ],
            result: [
                Field("id", .key, required: true, "The document's id."), .writtenRev,
                Field(
                    "warning", .object(violation),
                    "The document breaks the collection's schema and is stored all the same."),
                .durable,
            ],
            errors: [.conflict, .schemaViolation, .uniqueViolation, .valueTooLarge, .noSpace, .outcomeUnknown],
            example: "{\"collection\":\"countries\",\"id\":\"JP\",\"value\":{\"name\":\"Japan\"}}"),
        Method(
            "documents.get", .documents, .read, needs: .scope(.read, "collection"), "Reads one document.",
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
            "documents.getMany", .documents, .read, needs: .scope(.read, "collection"),
            "Reads several documents of one collection at one moment.",
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
            "documents.putMany", .documents, .write, needs: .items(scope: "collection", list: "documents"),
            "Stores several documents: all or nothing, one revision.",
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
                Field(
                    "warnings",
                    .list(
                        of: .object([Field("index", .count, required: true, "Its position in the list.")] + violation),
                        maxItems: 100),
                    "Documents that break the collection's schema and are stored all the same, the first 100; left out when none does."
                ),
                .durable,
            ],
            errors: [.conflict, .schemaViolation, .uniqueViolation, .valueTooLarge, .noSpace, .outcomeUnknown],
            example:
                "{\"collection\":\"notes\",\"documents\":[{\"id\":\"a\",\"value\":1},{\"value\":{\"text\":\"b\"}}]}"),
        Method(
            "documents.delete", .documents, .write, needs: .scope(.delete, "collection"),
            "Deletes a document; a tombstone stays so that others can learn of it.",
            parameters: [collection, documentID, .ifRev],
            result: [
                Field("rev", .revision, required: true, "Revision of this change; 0 when the document was absent."),
                Field("deleted", .boolean, required: true, "Whether there was something to delete."), .durable,
            ],
            errors: [.conflict, .noSpace, .outcomeUnknown],
            example: "{\"collection\":\"countries\",\"id\":\"JP\"}"),
        Method(
            "documents.list", .documents, .read, needs: .scope([.list, .read], "collection"),
            "Lists a collection's documents in the order of their ids' bytes.",
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
            "documents.import", .documents, .write, needs: .scope([.create, .update], "collection"),
            "Stores documents from a descriptor or file of NDJSON or one JSON array, in batches.",
            parameters: [
                collection, fd, path,
                Field(
                    "idField", .key,
                    """
                    The member that holds a document's id, a string or number. Without it a record is `{"id":…,"value":…}`, \
                    or a document that gets a new UUIDv7.
                    """),
                Field("format", .word(["lines", "array"]), "What the input is; told by its first byte when absent."),
                Field(
                    "onError", .word(["fail", "skip"]),
                    "Whether a bad record ends the import or is passed over and reported; `fail` when absent."),
                Field("offset", .count, "Bytes of the input to pass over: where an earlier import ended."),
            ],
            result: [
                Field("imported", .count, required: true, "Documents stored."),
                Field("skipped", .count, required: true, "Bad records."),
                Field(
                    "errors",
                    .list(
                        of: .object([
                            Field("line", .count, required: true, "Where the record begins; reading began in line 1."),
                            Field("message", .text(maxBytes: 256), required: true, "What is wrong with it."),
                        ]), maxItems: 100), required: true, "The first 100 bad records."),
                Field("offset", .count, required: true, "Bytes of the input that have been taken."),
                .nowRev,
            ],
            errors: [
                .descriptorMissing, .pathDenied, .badRecord, .transferFailed, .quotaExceeded, .noSpace, .outcomeUnknown,
                .overloaded, .shuttingDown,
            ],
            example: "{\"collection\":\"countries\",\"fd\":true,\"idField\":\"alpha_2\"}", outOfBand: true),
        Method(
            "documents.export", .documents, .read, needs: .scope([.list, .read], "collection"),
            "Writes a collection to a descriptor or new file, a line a document: `{\"id\":…,\"value\":…}`.",
            parameters: [collection, fd, path],
            result: [
                Field("exported", .count, required: true, "Documents written."),
                Field(
                    "rev", .revision, required: true,
                    "What the first of them were read as of; documents that changed meanwhile may be newer."),
            ],
            errors: [.descriptorMissing, .pathDenied, .transferFailed, .overloaded, .shuttingDown],
            example: "{\"collection\":\"countries\",\"fd\":true}", outOfBand: true),
        Method(
            "documents.scopes", .documents, .read, needs: .anywhere(.list), "Lists the collections with their sizes.",
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

    private static let violation: [Field] = [
        Field("path", .text(maxBytes: 65_536), required: true, "The place in the document, a JSON pointer."),
        Field("message", .text(maxBytes: 65_536), required: true, "What the schema asks for there."),
    ]
    private static let collection = Field("collection", .scope, required: true, "Which kind of document.")
    private static let fd = Field("fd", .boolean, "true: the next descriptor that was passed; this or `path`.")
    private static let path = Field(
        "path", .text(maxBytes: 4095),
        "An absolute path beneath one of the daemon's `importRoots`, for its own user only.")
    private static let documentID = Field("id", .key, required: true, "The document's id.")
}
