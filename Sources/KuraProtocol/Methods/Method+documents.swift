extension Method {
    /// The errors of a method that stores documents whole.
    private static let whole: [ErrorKind] = [
        .conflict, .schemaViolation, .uniqueViolation, .valueTooLarge, .quotaExceeded, .noSpace, .outcomeUnknown,
    ]

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
                schemaWarning, .durable,
            ],
            errors: whole,
            example: "{\"collection\":\"countries\",\"id\":\"JP\",\"value\":{\"name\":\"Japan\"}}", single: true),
        Method(
            "documents.get", .documents, .read, needs: .scope(.read, "collection"), "Reads one document.",
            parameters: [
                collection, documentID, Field("default", .json, "Returned as `value` when the document is absent."),
                .expand,
                Field(
                    "atRev", .revision,
                    "The document as it was at this revision, as far as the log reaches back; not together with `expand`."
                ),
            ],
            result: [
                Field("value", .json, "The document; left out when absent and no default is given."), .rev,
                Field("version", .count, "How many times it has been written; left out when absent."),
                Field("createdAt", .timestamp, "When it was first written."),
                Field("updatedAt", .timestamp, "When it was last written."),
                Field(
                    "attachments", .list(of: attachmentFields, maxItems: 256),
                    "Its attachments in the order of their names' bytes; left out when there are none."),
                .expanded,
            ],
            errors: [.replyTooLarge, .compacted, .overloaded],
            example: "{\"collection\":\"countries\",\"id\":\"JP\"}", single: true),
        Method(
            "documents.getMany", .documents, .read, needs: .scope(.read, "collection"),
            "Reads several documents of one collection at one moment.",
            parameters: [
                collection,
                Field("ids", .list(of: .key, maxItems: WireLimits.getManyItems), required: true, "Ids, at most 1,000."),
                .expand,
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
                .nowRev, .expanded,
            ],
            errors: [.replyTooLarge],
            example: "{\"collection\":\"countries\",\"ids\":[\"JP\",\"CH\"]}"),
        documentsHistory,
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
            errors: whole,
            example:
                "{\"collection\":\"notes\",\"documents\":[{\"id\":\"a\",\"value\":1},{\"value\":{\"text\":\"b\"}}]}"),
        Method(
            "documents.delete", .documents, .write, needs: .scope(.delete, "collection"),
            "Deletes a document; a tombstone stays so that others can learn of it.",
            parameters: [collection, documentID, .ifRev],
            result: [
                Field("rev", .revision, required: true, "Revision of this change; 0 when the document was absent."),
                Field("deleted", .boolean, required: true, "Whether there was something to delete."), .cascaded,
                .nullified,
                .durable,
            ],
            errors: [.conflict, .referenced, .schemaViolation, .tooManyDocuments, .noSpace, .outcomeUnknown],
            example: "{\"collection\":\"countries\",\"id\":\"JP\"}", single: true),
        deleteMany,
        Method(
            "documents.patch", .documents, .write, needs: .scope([.read, .update], "collection"),
            "Changes parts of a document.",
            parameters: [
                collection, documentID,
                Field(
                    "mergePatch", .json,
                    """
                    A JSON Merge Patch (RFC 7396): an object of members that take the place of the document's, null taking \
                    them away. This or `jsonPatch`.
                    """),
                Field(
                    "jsonPatch", .list(of: patchOperation, maxItems: WireLimits.patchOperations),
                    "A JSON Patch (RFC 6902): operations in their order, all or none."),
                .ifRev,
                Field(
                    "replace", .boolean,
                    """
                    Allows a `mergePatch` that is no object, which takes the place of the whole document, as RFC 7396 has it. \
                    Without it that is refused: it is mostly a mistake.
                    """),
            ],
            result: [
                Field(
                    "rev", .revision, required: true,
                    "Revision of this change; the document's when nothing changed."),
                Field("changed", .boolean, required: true, "Whether the patch made the document another."),
                schemaWarning, .durable,
            ],
            errors: [
                .conflict, .notFound, .patchFailed, .schemaViolation, .uniqueViolation, .valueTooLarge, .quotaExceeded,
                .noSpace,
                .outcomeUnknown,
            ],
            example:
                "{\"collection\":\"countries\",\"id\":\"JP\",\"mergePatch\":{\"capital\":\"Tōkyō\",\"draft\":null}}"),
        Method(
            "documents.increment", .documents, .write, needs: .scope([.read, .update], "collection"),
            "Adds to a number in a document in one step, exactly.",
            parameters: [
                collection, documentID,
                Field(
                    "path", .text(maxBytes: 4096), required: true,
                    """
                    Where the number stands: names with dots between them, `\\.` for a dot in a name. What is \
                    missing comes to be, from 0.
                    """),
                Field("by", .json, "The number to add, whole or decimal; 1 when absent."),
            ],
            result: [
                Field("value", .json, required: true, "The sum."),
                Field(
                    "rev", .revision, required: true,
                    "Revision of this change; the document's when nothing changed."), schemaWarning, .durable,
            ],
            errors: [
                .notFound, .typeMismatch, .outOfRange, .schemaViolation, .uniqueViolation, .valueTooLarge,
                .quotaExceeded,
                .noSpace, .outcomeUnknown,
            ],
            example: "{\"collection\":\"pages\",\"id\":\"home\",\"path\":\"visits.today\",\"by\":1}", single: true),
        Method(
            "documents.restore", .documents, .write, needs: .scope([.read, .create], "collection"),
            "Brings back a deleted document with its last value, as long as its tombstone is kept.",
            parameters: [collection, documentID],
            result: [
                Field(
                    "rev", .revision, required: true,
                    "Revision of this change; the document's when it is not deleted."),
                Field("restored", .boolean, required: true, "Whether it was deleted."), schemaWarning, .durable,
            ],
            errors: [.notFound, .schemaViolation, .uniqueViolation, .quotaExceeded, .noSpace, .outcomeUnknown],
            example: "{\"collection\":\"countries\",\"id\":\"JP\"}"),
        Method(
            "documents.attach", .documents, .write, needs: .scope(.update, "collection"),
            "Gives a document an attachment, in the place of one of the same name.",
            parameters: [
                collection, documentID, attachmentName,
                Field(
                    "contentType", .name(maxBytes: WireLimits.contentTypeBytes),
                    "Its media type; kept and returned as it is."),
                Field("fd", .boolean, "true: the next descriptor that was passed, of a regular file; this or `data`."),
                Field(
                    "data", .text(maxBytes: WireLimits.inlineAttachmentBytes / 3 * 4 + 4),
                    "The content as base64, of at most 8 MiB."),
                .ifRev,
            ],
            result: [
                Field(
                    "rev", .revision, required: true,
                    "Revision of this change; the document's when it had this attachment."),
                Field("bytes", .count, required: true, "The content's bytes."),
                Field("digest", digest, required: true, "The content's BLAKE2b-256 in hexadecimal."),
            ],
            errors: [
                .conflict, .notFound, .descriptorMissing, .transferFailed, .valueTooLarge, .quotaExceeded, .noSpace,
                .overloaded, .outcomeUnknown, .shuttingDown,
            ],
            example:
                """
                {"collection":"cards","id":"7","name":"front.png","contentType":"image/png","fd":true}
                """),
        Method(
            "documents.attachment", .documents, .read, needs: .scope(.read, "collection"),
            "Reads an attachment: as base64, or as a descriptor of a file open for reading.",
            parameters: [
                collection, documentID, attachmentName,
                Field(
                    "as", .word(["inline", "fd"]),
                    """
                    `inline`: base64 in the reply, of at most 8 MiB. `fd`: a descriptor comes with the reply's first \
                    byte. `inline` when absent.
                    """),
            ],
            result: [
                Field("bytes", .count, required: true, "The content's bytes."),
                Field("digest", digest, required: true, "Its BLAKE2b-256 in hexadecimal."),
                Field(
                    "contentType", .name(maxBytes: WireLimits.contentTypeBytes),
                    "Its media type, when it was given one."),
                Field(
                    "data", .text(maxBytes: WireLimits.inlineAttachmentBytes / 3 * 4 + 4),
                    "With `inline`: the content as base64."),
                Field("rev", .revision, required: true, "The document's revision."),
            ],
            errors: [.notFound, .valueTooLarge, .integrity, .overloaded, .shuttingDown],
            example: "{\"collection\":\"cards\",\"id\":\"7\",\"name\":\"front.png\"}"),
        Method(
            "documents.detach", .documents, .write, needs: .scope(.update, "collection"),
            "Takes an attachment away from a document.",
            parameters: [collection, documentID, attachmentName, .ifRev],
            result: [
                Field(
                    "rev", .revision, required: true,
                    "Revision of this change; the document's when nothing changed."),
                Field("detached", .boolean, required: true, "Whether it had such an attachment."),
            ],
            errors: [.conflict, .notFound, .noSpace, .outcomeUnknown],
            example: "{\"collection\":\"cards\",\"id\":\"7\",\"name\":\"front.png\"}"),
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
                Field(
                    "attachments", .boolean,
                    """
                    true: a record of id, value and `attachments`, as an export writes it, brings the document's attachments: those and \
                    no others.
                    """),
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
                .overloaded, .cancelled, .shuttingDown,
            ],
            example: "{\"collection\":\"countries\",\"fd\":true,\"idField\":\"alpha_2\"}", outOfBand: true),
        Method(
            "documents.export", .documents, .read, needs: .scope([.list, .read], "collection"),
            "Writes a collection to a descriptor or new file, a line a document: `{\"id\":…,\"value\":…}`.",
            parameters: [
                collection, fd, path,
                Field(
                    "attachments", .boolean,
                    "true: a document's attachments go along in its line as base64, up to 8 MiB of them together."),
            ],
            result: [
                Field("exported", .count, required: true, "Documents written."),
                Field(
                    "attachmentsLeftOut", .count,
                    "Documents whose attachments are not in the output. Left out when there are none."),
                Field(
                    "attachmentsDamaged", .count,
                    "Of these: documents with an attachment that is damaged or gone on the disk. Left out when there are none."
                ),
                Field(
                    "warnings", .list(of: .text(maxBytes: 256), maxItems: 8),
                    "What is not in the output; left out when all is."),
                Field(
                    "rev", .revision, required: true,
                    "What the first of them were read as of; documents that changed meanwhile may be newer."),
            ],
            errors: [.descriptorMissing, .pathDenied, .transferFailed, .overloaded, .cancelled, .shuttingDown],
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
                            Field(
                                "attachmentBytes", .count,
                                "Bytes of their attachments, equal contents counted as often; left out when there are none."
                            ),
                            Field("rev", .revision, required: true, "Revision of its last change."),
                        ]), maxItems: Int(Int32.max)), required: true, "One object a collection, in the order of names."
                ),
                .nowRev,
            ]),
    ]

    private static let schemaWarning = Field(
        "warning", .object(violation), "The document breaks the collection's schema and is stored all the same.")

    private static let violation: [Field] = [
        Field("path", .text(maxBytes: 65_536), required: true, "The place in the document, a JSON pointer."),
        Field("message", .text(maxBytes: 65_536), required: true, "What the schema asks for there."),
    ]
    private static let collection = Field("collection", .scope, required: true, "Which kind of document.")
    private static let fd = Field("fd", .boolean, "true: the next descriptor that was passed; this or `path`.")
    private static let path = Field(
        "path", .text(maxBytes: 4095),
        "An absolute path beneath one of the daemon's `importRoots`, for its own user only.")
    private static let attachmentName = Field(
        "name", .name(maxBytes: WireLimits.attachmentNameBytes), required: true,
        "The attachment's name in its document.")
    private static let digest = ValueType.name(maxBytes: 64)
    private static let attachmentFields = ValueType.object([
        Field("name", .name(maxBytes: WireLimits.attachmentNameBytes), required: true, "Its name."),
        Field("contentType", .name(maxBytes: WireLimits.contentTypeBytes), "Its media type, when it was given one."),
        Field("bytes", .count, required: true, "The content's bytes."),
        Field("digest", digest, required: true, "The content's BLAKE2b-256 in hexadecimal."),
    ])
    private static let patchOperation = ValueType.object([
        Field("op", .word(["add", "remove", "replace", "move", "copy", "test"]), required: true, "What to do."),
        Field("path", .text(maxBytes: 65_536), required: true, "Where, as a JSON pointer."),
        Field("from", .text(maxBytes: 65_536), "With move and copy: from where."),
        Field("value", .json, "With add, replace and test."),
    ])
    private static let documentID = Field("id", .key, required: true, "The document's id.")
}
