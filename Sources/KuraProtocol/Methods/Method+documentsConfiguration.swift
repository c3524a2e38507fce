extension Method {
    private static let failures = Field(
        "failures",
        .list(
            of: .object([
                Field("id", .key, required: true, "The document's id."),
                Field("to", .count, "The version that the step leads to; left out when the whole result is at fault."),
                Field("step", .count, "The step's position in that migration, from 0."),
                Field("path", .text(maxBytes: 65_536), required: true, "The place in the document, as a JSON pointer."),
                Field("reason", .text(maxBytes: 65_536), required: true, "Why."),
            ]), maxItems: 16), required: true, "The first of them.")

    /// What says what a collection is.
    static let documentsConfigurationMethods: [Method] = [
        Method(
            "documents.configure", .documents, .write,
            // What breaks an index or a schema tells of documents.
            needs: .scope(
                .admin, "collection",
                also: [
                    Extra([.list, .read], with: "indexes"), Extra([.list, .read], with: "schema"),
                    Extra([.list, .read, .update], with: "migrations"),
                    // Documents are deleted, and forgotten, by themselves then.
                    Extra(.delete, with: "tombstoneDays"), Extra(.delete, with: "retainDays"),
                    Extra(.delete, with: "history"),
                ]),
            "Says what a collection is: its indexes, schema, references, what ages out, when its changes are durable. What is absent stays.",
            parameters: [
                Field("collection", .scope, required: true, "Which kind of document."),
                Field(
                    "indexes", .json,
                    """
                    All its indexes, a list of at most 64 objects `{name, fields, unique, where}`: 1 to 16 paths, whether no two \
                    documents have the same values there, and a selector of the documents that it is about. Those that are not \
                    in the list are dropped; null or `[]` drops all. They are built in the background; one that has failed is built anew.
                    """),
                Field(
                    "schema", .json,
                    "JSON Schema (draft-07) of its documents; null takes it away. At most 65,536 bytes. Writes are held against it."
                ),
                Field(
                    "schemaMode", .word(["off", "warn", "enforce"]),
                    "What a document meets that breaks the schema: nothing, a warning in the reply, a refusal. At first `warn`."
                ),
                Field(
                    "tombstoneDays", .json,
                    "Days after which what is deleted can be forgotten, 1 to 36,500; null, as at first: never by itself."
                ),
                Field(
                    "retainDays", .json,
                    "Days after its last change when a document is deleted, 1 to 36,500; null, as at first: never by itself."
                ),
                Field(
                    "history", .json,
                    """
                    What is kept of what its documents were, `{count, days, bytes}`: so many former versions of each, 1 to 10,000, \
                    for so many days after they were replaced, 1 to 36,500, and so many bytes of all of them, at first 268,435,456; \
                    one of `count` and `days` at least. Null, as at first, keeps no more than the log, and erases what was kept.
                    """),
                Field(
                    "durability", .word(["durable", "relaxed"]),
                    "`relaxed`: changes are acknowledged at once and synced later. At first `durable`."),
                Field(
                    "flushSeconds", .integer(WireLimits.flushSeconds),
                    "With `relaxed`: a change is synced after so many seconds at the latest. At first 5."),
                Field(
                    "references", .json,
                    """
                    All that its documents refer to, a list of at most 16 objects `{field, collection, onDelete}`: a path at which \
                    an id stands or an array of ids, whose documents these are, and what happens when one of those is deleted: \
                    `deny` refuses it, `nullify` takes the id away, `cascade` deletes who refers to it as well. Null or `[]` takes \
                    them away. Each has an index of its own. Needs `admin` on those collections too.
                    """),
                Field(
                    "backup", .boolean,
                    "Whether backups have its documents and attachments; true at first."),
                Field(
                    "version", .integer(1...0x7FFF_FFFF),
                    """
                    The version of its documents that the caller knows. A lower one than the stored one is refused with \
                    `schemaTooNew`, a higher one needs `migrations` as soon as there are documents. Those of a collection without a \
                    version are of version 1.
                    """),
                Field(
                    "migrations", .json,
                    """
                    With `version`: how documents become those of the next version, a list of at most 256 objects `{to, steps}` in \
                    the order of versions. A step is one of `{rename: {from, to, ifExists}}`, `{move: {from, to, ifExists}}`, \
                    `{setDefault: {path, value}}`, `{remove: path}`, `{convert: {path, to, onFailure}}`. Those up to the stored version \
                    are passed over. They run in the background.
                    """),
                Field(
                    "dryRun", .boolean,
                    "With `version`: change nothing, and tell what the migrations would do. At first false."),
                Field(
                    "timeoutMs", .integer(1...WireLimits.waitMilliseconds),
                    "With `dryRun`: how long it may take. At first 60,000."),
                Field(
                    "searchFields", .json,
                    """
                    All fields whose text `documents.search` finds, a list of at most 16 paths or objects `{path, weight}`. Null or \
                    `[]` ends that. Another list is built anew in the background, unless only weights differ.
                    """),
                Field(
                    "searchTokenizer", .word(["unicode61", "trigram"]),
                    "What is found: words without case and diacritics, as at first, or any three characters in a row."),
                .ifConfigurationRev,
            ],
            result: [
                Field(
                    "rev", .revision, required: true, "Revision of the last change of the collection's configuration."),
                Field(
                    "building", .list(of: .name(maxBytes: WireLimits.scopeBytes), maxItems: 64), required: true,
                    "Indexes that are not complete yet; `documents.describe` with `waitMs` waits for them."),
                Field("version", .integer(1...0x7FFF_FFFF), "With `version`: the stored version, as it is now."),
                Field("migrating", .boolean, "With `version`: documents are being migrated to it."),
                Field(
                    "dryRun",
                    .object([
                        Field("from", .count, required: true, "The stored version."),
                        Field("to", .count, required: true, "The declared version."),
                        Field("documents", .count, required: true, "Documents that were looked at."),
                        Field("changed", .count, required: true, "Documents that would be changed."),
                        Field("failed", .count, required: true, "Documents that would be left as they are."),
                        Field(
                            "steps",
                            .list(
                                of: .object([
                                    Field("to", .count, required: true, "The version that it leads to."),
                                    Field("step", .count, required: true, "Its position in that migration, from 0."),
                                    Field("changed", .count, required: true, "Documents that it would change."),
                                    Field(
                                        "unconverted", .count, required: true,
                                        "Documents in which it would not find a value that can be converted, and go on."
                                    ),
                                ]), maxItems: 65_536), required: true, "Each step, in its order."),
                        failures,
                    ]), "With `dryRun`: what would be done."),
                Field("search", .word(["building", "ready"]), "How the search index stands, when there is one."),
            ],
            errors: [
                .conflict, .schemaTooNew, .timeout, .cancelled, .valueTooLarge, .quotaExceeded, .noSpace,
                .outcomeUnknown,
            ],
            example: """
                {"collection":"people","indexes":[{"name":"byMail","fields":["mail"],"unique":true},{"name":"byName",\
                "fields":["name.last","name.first"]}]}
                """),
        Method(
            "documents.describe", .documents, .read, needs: .scope([.list, .read], "collection"),
            "Tells what a collection is configured to be, how its indexes stand and how large it is.",
            parameters: [
                Field("collection", .scope, required: true, "Which kind of document."),
                Field(
                    "waitMs", .integer(0...WireLimits.waitMilliseconds),
                    "Wait until no index is being built, that of the search included, and no migration is under way, so long at most."
                ),
                Field(
                    "version", .integer(1...0x7FFF_FFFF),
                    "The version of its documents that the caller knows; a lower one than the stored one is refused."),
            ],
            result: [
                Field(
                    "rev", .revision, required: true,
                    "Revision of the last change of the collection's configuration; 0 when there was none."),
                Field("count", .count, required: true, "Documents, deleted ones not counted."),
                Field("bytes", .count, required: true, "Bytes of their values."),
                Field("tombstones", .count, required: true, "Deleted documents that are not forgotten yet."),
                Field(
                    "indexes",
                    .list(
                        of: .object([
                            Field("name", .name(maxBytes: WireLimits.scopeBytes), required: true, "Its name."),
                            Field(
                                "fields", .list(of: .text(maxBytes: 65_536), maxItems: 16), required: true,
                                "Paths, the first counts first."),
                            Field("unique", .boolean, required: true, "No two documents have the same values there."),
                            Field("where", .json, "The selector of the documents that it is about; left out for all."),
                            Field(
                                "state", .word(["building", "ready", "failed"]), required: true,
                                "`failed`: it was to be unique, and `conflict` names two documents that are not."),
                            Field("done", .count, "While it is built: documents gone through."),
                            Field("total", .count, "While it is built: documents to go through, deleted ones counted."),
                            Field(
                                "conflict", .list(of: .key, maxItems: 2), "Ids of two documents with the same values."),
                            Field(
                                "each", .boolean, "true: made for a reference, with an entry for each id; goes with it."
                            ),
                            Field("entries", .count, required: true, "Documents in it; with `each`, ids."),
                            Field("bytes", .count, required: true, "Bytes of their keys."),
                        ]), maxItems: 64), required: true, "In the order in which they were configured."),
                Field(
                    "version", .integer(1...0x7FFF_FFFF),
                    "The version of its documents; left out when none was declared."),
                Field(
                    "migration",
                    .object([
                        Field(
                            "state", .word(["running", "done"]), required: true,
                            "`running`: each document is of the old version or of the new one."),
                        Field("from", .count, required: true, "The version that it leads from."),
                        Field("to", .count, required: true, "The version that it leads to."),
                        Field("done", .count, required: true, "Documents gone through."),
                        Field("total", .count, required: true, "Documents to go through, deleted ones counted."),
                        Field("changed", .count, required: true, "Documents that were changed."),
                        Field("failed", .count, required: true, "Documents that were left as they were."), failures,
                    ]), "The last migration; left out when there was none."),
                Field(
                    "searchFields", .list(of: .json, maxItems: 16),
                    "Fields whose text is searched; left out when none is."),
                Field("searchTokenizer", .word(["unicode61", "trigram"]), "What is found of it."),
                Field(
                    "search",
                    .object([
                        Field("state", .word(["building", "ready"]), required: true, "Whether it can be searched."),
                        Field("done", .count, "While it is built: documents gone through."),
                        Field("total", .count, "While it is built: documents to go through, deleted ones counted."),
                        Field("entries", .count, required: true, "Documents in it: those that have text."),
                    ]), "How the search index stands; left out when there is none."),
                Field("schema", .json, "The schema; left out when there is none."),
                Field(
                    "schemaMode", .word(["off", "warn", "enforce"]), "What a document meets that breaks the schema."),
                Field("tombstoneDays", .count, "Days that deleted documents are kept; left out for ever."),
                Field("retainDays", .count, "Days that documents are kept; left out for ever."),
                Field(
                    "history",
                    .object([
                        Field("count", .count, "Former versions of a document."),
                        Field("days", .count, "Days since a version was replaced."),
                        Field("bytes", .count, required: true, "Bytes of all former versions."),
                    ]), "What is kept of what documents were; left out for no more than the log has."),
                Field("durability", .word(["durable", "relaxed"]), required: true, "When changes are durable."),
                Field(
                    "flushSeconds", .integer(WireLimits.flushSeconds), "Seconds after which a relaxed change is synced."
                ),
                Field(
                    "references",
                    .list(
                        of: .object([
                            Field(
                                "field", .text(maxBytes: WireLimits.pathBytes), required: true, "Where the ids stand."),
                            Field("collection", .scope, required: true, "Whose documents' they are."),
                            Field(
                                "onDelete", .word(["deny", "nullify", "cascade"]), required: true,
                                "What happens when one of those is deleted."),
                        ]), maxItems: 16), "What its documents refer to; left out when nothing."),
                Field("backup", .boolean, required: true, "Whether it belongs into backups."),
            ],
            errors: [.schemaTooNew], example: "{\"collection\":\"people\",\"waitMs\":60000}"),
        Method(
            "documents.drop", .documents, .write, needs: .scope([.delete, .admin], "collection"),
            "Drops a collection with all that is in it and configured for it; its name is free at once.",
            parameters: [Field("collection", .scope, required: true, "Which kind of document.")],
            result: [
                Field(
                    "rev", .revision, required: true, "Revision of this change; 0 when there was no such collection."),
                Field("dropped", .boolean, required: true, "Whether there was something to drop."),
            ],
            errors: [.noSpace, .outcomeUnknown], example: "{\"collection\":\"drafts\"}"),
        Method(
            "documents.purge", .documents, .write, needs: .scope([.delete, .admin], "collection"),
            "Forgets deleted documents for good: what is purged cannot be brought back.",
            parameters: [
                Field("collection", .scope, required: true, "Which kind of document."),
                Field(
                    "olderThanDays", .integer(0...WireLimits.days.upperBound),
                    "Only what was deleted so many days ago; everything that is deleted when it is 0 or absent."),
            ],
            result: [
                Field("purged", .count, required: true, "Deleted documents that are forgotten now."), .nowRev,
            ],
            errors: [.noSpace, .outcomeUnknown],
            example: "{\"collection\":\"notes\",\"olderThanDays\":30}", outOfBand: true),
    ]
}
