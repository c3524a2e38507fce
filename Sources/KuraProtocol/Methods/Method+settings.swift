extension Method {
    static let settingsMethods: [Method] = [
        Method(
            "settings.get", .settings, .read, needs: .scope(.read, "domain"), "Reads one setting.",
            parameters: [
                domain, settingKey,
                Field("default", .json, "Returned as `value` when the setting is absent."),
                Field("explain", .boolean, "Name the layer that the value comes from, and what it hides."),
            ],
            result: [
                Field("value", .json, "The value that shows; left out when no layer has one and no default is given."),
                Field(
                    "rev", .revision, required: true,
                    "Revision of the last change of what is stored under the key; 0 when nothing is."),
                Field("layer", .word(layerWords), "With `explain`: where the value comes from."),
                Field("reason", .text(maxBytes: 1024), "With `explain`: why the setting is locked."),
                Field(
                    "hidden",
                    .list(
                        of: .object([
                            Field("layer", .word(layerWords), required: true, "A lower layer that has a value too."),
                            Field("value", .json, required: true, "Its value."),
                        ]), maxItems: 5),
                    "With `explain`: what the value hides, highest first; left out when it hides nothing."),
            ],
            example: "{\"domain\":\"app\",\"key\":\"theme\"}", single: true),
        Method(
            "settings.getMany", .settings, .read, needs: .scope(.read, "domain"),
            "Reads several settings of one domain at one moment.",
            parameters: [
                domain,
                Field(
                    "keys", .list(of: .key, maxItems: WireLimits.getManyItems), required: true, "Names of the settings."
                ),
                explainMany,
            ],
            result: [
                Field(
                    "values", .map(of: .json), required: true,
                    "The values that show by key; settings without one are left out."),
                winners, .nowRev,
            ],
            example: "{\"domain\":\"app\",\"keys\":[\"theme\",\"launches\"]}"),
        Method(
            "settings.put", .settings, .write, needs: .item(scope: "domain", name: "key"),
            "Writes one setting; writing the value that is there changes nothing.",
            parameters: [
                domain, settingKey, Field("value", .json, required: true, "Any JSON value of at most 1 MiB."), .ifRev,
            ],
            result: [
                Field("rev", .revision, required: true, "Revision of the setting's last change."), warning, .durable,
            ],
            errors: [
                .conflict, .locked, .schemaViolation, .valueTooLarge, .quotaExceeded, .noSpace, .outcomeUnknown,
            ],
            example: "{\"domain\":\"app\",\"key\":\"theme\",\"value\":\"dark\"}", single: true),
        Method(
            "settings.delete", .settings, .write, needs: .scope(.delete, "domain"),
            "Removes one setting; removing an absent one changes nothing.",
            parameters: [domain, settingKey, .ifRev],
            result: [
                Field("rev", .revision, required: true, "Revision of this change; 0 when the setting was absent."),
                Field("deleted", .boolean, required: true, "Whether there was something to remove."), .durable,
            ],
            errors: [.conflict, .locked, .noSpace, .outcomeUnknown],
            example: "{\"domain\":\"app\",\"key\":\"theme\"}", single: true),
        Method(
            "settings.list", .settings, .read, needs: .scope([.list, .read], "domain"),
            "Lists a domain's settings in the order of their keys' bytes.",
            parameters: [
                domain,
                Field("prefix", .text(maxBytes: WireLimits.keyBytes), "Only keys that start so."),
                .cursor, .limit(WireLimits.listItems, default: 1000),
                Field(
                    "layers", .word(["effective", "app"]),
                    "`effective`: the values that show, from all layers; `app`: only what is stored. `effective` when absent."
                ),
                explainMany,
            ],
            result: [
                Field("values", .map(of: .json), required: true, "Values by key."), winners,
                Field("rev", .revision, required: true, "Newest revision that the answer takes into account."),
                .nextCursor,
            ],
            errors: [.replyTooLarge],
            example: "{\"domain\":\"app\"}"),
        Method(
            "settings.putMany", .settings, .write,
            needs: .scope([.create, .update], "domain", also: [Extra(.delete, with: "delete")]),
            "Writes and removes several settings of one domain: all or nothing, one revision.",
            parameters: [
                domain,
                Field("values", .map(of: .json), required: true, "Values by key; at most 10,000."),
                Field(
                    "delete", .list(of: .key, maxItems: WireLimits.listItems),
                    "Keys to remove; none of them in `values`, and none twice."),
                Field("ifRev", .revision, "Write only when no setting of the domain has changed since this revision."),
            ],
            result: [
                Field(
                    "rev", .revision, required: true,
                    "Revision of the domain's last change; the newest of all when nothing was asked for."),
                Field("changed", .count, required: true, "How many settings this call changed."), warnings, .durable,
            ],
            errors: [
                .conflict, .locked, .schemaViolation, .valueTooLarge, .quotaExceeded, .noSpace, .outcomeUnknown,
            ],
            example: "{\"domain\":\"app\",\"values\":{\"theme\":\"dark\",\"size\":12},\"delete\":[\"old\"]}"),
        Method(
            "settings.increment", .settings, .write, needs: .scope([.read, .create, .update], "domain"),
            "Adds to an integer setting in one step.",
            parameters: [
                domain, settingKey,
                Field("by", .integer(-WireLimits.safeInteger...WireLimits.safeInteger), "What to add; 1 when absent."),
                Field(
                    "initial", .integer(-WireLimits.safeInteger...WireLimits.safeInteger),
                    "What a setting counts as that is not stored; when absent its default by registration or schema, or 0."
                ),
            ],
            result: [
                Field(
                    "value", .integer(-WireLimits.safeInteger...WireLimits.safeInteger), required: true, "The sum."),
                .rev, warning, .durable,
            ],
            errors: [
                .locked, .schemaViolation, .typeMismatch, .outOfRange, .quotaExceeded, .noSpace, .outcomeUnknown,
            ],
            example: "{\"domain\":\"app\",\"key\":\"launches\"}", single: true),
        Method(
            "settings.count", .settings, .read, needs: .scope(.list, "domain"), "Counts a domain's stored settings.",
            parameters: [domain],
            result: [Field("count", .count, required: true, "Settings in the domain."), .nowRev],
            example: "{\"domain\":\"app\"}", single: true),
        Method(
            "settings.scopes", .settings, .read, needs: .anywhere(.list), "Lists the domains with their sizes.",
            result: [
                Field(
                    "scopes",
                    .list(
                        of: .object([
                            Field("domain", .scope, required: true, "Name."),
                            Field("count", .count, required: true, "Settings in it."),
                            Field("bytes", .count, required: true, "Bytes of keys and values."),
                            Field("rev", .revision, required: true, "Revision of its last change."),
                        ]), maxItems: Int(Int32.max)), required: true, "One object a domain, in the order of names."),
                .nowRev,
            ]),
        Method(
            "settings.register", .settings, .write, needs: .scope(.write, "domain"),
            "Registers defaults: they show where nothing is stored, for all who read the domain.",
            parameters: [
                domain,
                Field("defaults", .map(of: .json), required: true, "Values by key; a domain has at most 10,000."),
                Field(
                    "replace", .boolean, "Forget the defaults that are not named; when absent or false they stay."),
            ],
            result: [
                Field("rev", .revision, required: true, "Revision of the last change of the domain's defaults."),
                Field("changed", .count, required: true, "How many defaults came, went or became others."), warnings,
            ],
            errors: [.schemaViolation, .valueTooLarge, .quotaExceeded, .noSpace, .outcomeUnknown],
            example: "{\"domain\":\"app\",\"defaults\":{\"theme\":\"light\",\"size\":12}}"),
        Method(
            "settings.override", .settings, .read, needs: .scope(.read, "domain"),
            "Shows this connection another value, until it ends or clears it; nothing is stored.",
            parameters: [
                domain, settingKey,
                Field("value", .json, required: true, "Any JSON value; it is not held against the schema."),
            ],
            result: [overrides], errors: [.locked, .quotaExceeded],
            example: "{\"domain\":\"app\",\"key\":\"theme\",\"value\":\"dark\"}"),
        Method(
            "settings.clearOverrides", .settings, .read, needs: .scope(.read, "domain"),
            "Takes away overrides of this connection.",
            parameters: [
                Field("domain", .scope, "Only those of this domain; all when absent."),
                Field("key", .key, "Only that of this setting of the domain."),
            ],
            result: [overrides], example: "{\"domain\":\"app\"}"),
        Method(
            "settings.configure", .settings, .write,
            // What a schema finds tells names and, asked often enough, values.
            needs: .scope(
                .admin, "domain", also: [Extra([.list, .read], with: "schema"), Extra([.list, .read], with: "mode")]),
            "Says what a domain is: its schema, whether it is in backups, when its changes are durable.",
            parameters: [
                domain,
                Field(
                    "schema", .json,
                    "JSON Schema (draft-07) of the domain as an object; null takes it away. At most 65,536 bytes."),
                Field(
                    "mode", .word(["off", "warn", "enforce"]),
                    "What a value meets that breaks the schema: nothing, a warning in the reply, a refusal. At first `warn`."
                ),
                Field("backup", .boolean, "Whether backups have the domain. At first true."),
                Field(
                    "durability", .word(["durable", "relaxed"]),
                    "`relaxed`: changes are acknowledged at once and synced later. At first `durable`."),
                Field(
                    "flushSeconds", .integer(WireLimits.flushSeconds),
                    "With `relaxed`: a change is synced after so many seconds at the latest. At first 5."),
                Field("force", .boolean, "Enforce the schema though stored values break it."),
                Field("dryRun", .boolean, "Report what stored values break, and change nothing."),
                .ifConfigurationRev,
            ],
            result: [
                Field("rev", .revision, required: true, "Revision of the last change of the domain's configuration."),
                Field("applied", .boolean, required: true, "Whether the domain is now as the request says."),
                Field(
                    "violations",
                    .list(
                        of: .object(
                            keyedViolation + [
                                Field(
                                    "layer", .word(["registered", "schema"]),
                                    "Whose default it is; absent for stored values.")
                            ]), maxItems: 100), required: true, "What breaks the schema; the first 100."),
                Field("checked", .count, required: true, "How many values were held against the schema."),
            ],
            errors: [.conflict, .valueTooLarge, .quotaExceeded, .noSpace, .outcomeUnknown],
            example: """
                {"domain":"app","mode":"enforce","schema":{"properties":{"size":{"type":"integer","minimum":6,"default":12}}}}
                """),
        Method(
            "settings.describe", .settings, .read, needs: .scope([.list, .read], "domain"),
            "Tells what a domain and its keys are configured to be.",
            parameters: [
                domain, Field("key", .key, "Only this setting, and no schema."), .cursor,
                .limit(WireLimits.listItems, default: 1000),
            ],
            result: [
                Field(
                    "rev", .revision, required: true,
                    "Revision of the last change of the domain's configuration; 0 when there was none."),
                Field("schema", .json, "The schema; left out when there is none."),
                Field("mode", .word(["off", "warn", "enforce"]), "What a value meets that breaks the schema."),
                Field("backup", .boolean, required: true, "Whether backups have the domain."),
                Field("durability", .word(["durable", "relaxed"]), required: true, "When changes are durable."),
                Field(
                    "flushSeconds", .integer(WireLimits.flushSeconds), "Seconds after which a relaxed change is synced."
                ),
                Field(
                    "keys",
                    .map(
                        of: .object([
                            Field("layer", .word(layerWords), required: true, "Where the value that shows comes from."),
                            Field("default", .json, "What shows when nothing is stored."),
                            Field("types", .list(of: .text(maxBytes: 16), maxItems: 7), "Types by the schema."),
                            Field("title", .text(maxBytes: 65_536), "By the schema."),
                            Field("description", .text(maxBytes: 65_536), "By the schema."),
                            Field("reason", .text(maxBytes: 1024), "Why it is locked."),
                        ])), required: true, "By key: those with a value in any layer, and those that the schema names."
                ),
                .nextCursor,
            ],
            example: "{\"domain\":\"app\"}"),
        Method(
            "settings.export", .settings, .read, needs: .scopes([.list, .read], "domains"),
            "Returns what is stored in domains, in the order of names' and keys' bytes; defaults and locks are left out.",
            parameters: [
                Field(
                    "domains", .list(of: .scope, maxItems: WireLimits.getManyItems), "Only these; all when absent."),
                .cursor, .limit(WireLimits.listItems, default: WireLimits.listItems),
            ],
            result: [
                Field("values", .map(of: .map(of: .json)), required: true, "Values by domain and key."), .nowRev,
                .nextCursor,
            ],
            example: "{\"domains\":[\"app\"]}"),
        Method(
            "settings.import", .settings, .write,
            needs: .scopeNames(
                [.read, .create, .update], "values", also: [Extra([.list, .delete], with: "mode", word: "replace")]),
            "Stores settings of several domains as exported: all or nothing, one revision.",
            parameters: [
                Field(
                    "values", .map(of: .map(of: .json)), required: true,
                    "Values by domain and key; at most 10,000 together."),
                Field(
                    "mode", .word(["merge", "replace"]),
                    "`replace` removes the other settings of these domains; `merge` when absent."),
                Field("dryRun", .boolean, "Tell what would be different, and change nothing."),
            ],
            result: [
                Field(
                    "rev", .revision, required: true,
                    "Revision of all changes; the newest one there is when nothing was changed."),
                Field("added", .count, required: true, "Settings that were not there."),
                Field("changed", .count, required: true, "Settings that had another value."),
                Field("removed", .count, required: true, "Settings that are gone."),
                Field(
                    "diff",
                    .object([
                        Field("added", places, required: true, "Those that were not there."),
                        Field("changed", places, required: true, "Those that had another value."),
                        Field("removed", places, required: true, "Those that are gone."),
                    ]), required: true, "Their names, the first 1,000 of each."),
                warnings, .durable,
            ],
            errors: [.locked, .schemaViolation, .valueTooLarge, .quotaExceeded, .noSpace, .outcomeUnknown],
            example: "{\"values\":{\"app\":{\"theme\":\"dark\"}},\"dryRun\":true}"),
    ]

    private static let layerWords = ["locked", "session", "app", "registered", "schema", "default", "none"]
    private static let explainMany = Field("explain", .boolean, "Name the layers that the values come from.")
    private static let winners = Field(
        "layers", .map(of: .word(layerWords)), "With `explain`: where each value comes from.")
    private static let overrides = Field(
        "overrides", .count, required: true, "How many settings this connection overrides now.")
    private static let violation: [Field] = [
        Field(
            "path", .text(maxBytes: 65_536), required: true,
            "Where in the value, as a JSON pointer; empty for the whole."),
        Field("message", .text(maxBytes: 4096), required: true, "What the schema asks for there."),
    ]
    private static let keyedViolation =
        [Field("key", .key, required: true, "Whose value it is.")] + violation
    private static let places = ValueType.list(
        of: .object([
            Field("domain", .scope, required: true, "Its domain."), Field("key", .key, required: true, "Its key."),
        ]), maxItems: 1000)
    private static let warning = Field(
        "warning", .object(violation), "The value breaks the domain's schema and is stored all the same.")
    private static let warnings = Field(
        "warnings", .list(of: .object(keyedViolation), maxItems: 100),
        "Values that break the domain's schema and are stored all the same.")
    private static let domain = Field("domain", .scope, required: true, "Which application's or part's settings.")
    private static let settingKey = Field("key", .key, required: true, "Name of the setting.")
}
