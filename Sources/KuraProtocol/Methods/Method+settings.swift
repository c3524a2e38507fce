extension Method {
    static let settingsMethods: [Method] = [
        Method(
            "settings.get", .settings, .read, "Reads one setting.",
            parameters: [
                domain, settingKey,
                Field("default", .json, "Returned as `value` when the setting is absent."),
                Field("explain", .boolean, "Name the layer that the value comes from."),
            ],
            result: [
                Field("value", .json, "The value; left out when absent and no default is given."),
                .rev,
                Field("layer", .word(["app", "default", "none"]), "With `explain`: where the value comes from."),
            ],
            example: "{\"domain\":\"app\",\"key\":\"theme\"}"),
        Method(
            "settings.getMany", .settings, .read, "Reads several settings of one domain at one moment.",
            parameters: [
                domain,
                Field(
                    "keys", .list(of: .key, maxItems: WireLimits.getManyItems), required: true, "Names of the settings."
                ),
            ],
            result: [
                Field("values", .map(of: .json), required: true, "The values by key; absent settings are left out."),
                .nowRev,
            ],
            example: "{\"domain\":\"app\",\"keys\":[\"theme\",\"launches\"]}"),
        Method(
            "settings.put", .settings, .write, "Writes one setting; writing the value that is there changes nothing.",
            parameters: [
                domain, settingKey, Field("value", .json, required: true, "Any JSON value of at most 1 MiB."), .ifRev,
            ],
            result: [Field("rev", .revision, required: true, "Revision of the setting's last change.")],
            errors: [.conflict, .valueTooLarge, .quotaExceeded, .noSpace, .outcomeUnknown],
            example: "{\"domain\":\"app\",\"key\":\"theme\",\"value\":\"dark\"}"),
        Method(
            "settings.delete", .settings, .write, "Removes one setting; removing an absent one changes nothing.",
            parameters: [domain, settingKey, .ifRev],
            result: [
                Field("rev", .revision, required: true, "Revision of this change; 0 when the setting was absent."),
                Field("deleted", .boolean, required: true, "Whether there was something to remove."),
            ],
            errors: [.conflict, .noSpace, .outcomeUnknown],
            example: "{\"domain\":\"app\",\"key\":\"theme\"}"),
        Method(
            "settings.list", .settings, .read, "Lists a domain's settings in the order of their keys' bytes.",
            parameters: [
                domain,
                Field("prefix", .text(maxBytes: WireLimits.keyBytes), "Only keys that start so."),
                .cursor, .limit(WireLimits.listItems, default: 1000),
            ],
            result: [
                Field("values", .map(of: .json), required: true, "Values by key."),
                Field("rev", .revision, required: true, "Newest revision that the answer takes into account."),
                .nextCursor,
            ],
            errors: [.replyTooLarge],
            example: "{\"domain\":\"app\"}"),
        Method(
            "settings.putMany", .settings, .write,
            "Writes and removes several settings of one domain: all or nothing, one revision.",
            parameters: [
                domain,
                Field("values", .map(of: .json), required: true, "Values by key; at most 10,000."),
                Field(
                    "delete", .list(of: .key, maxItems: WireLimits.listItems),
                    "Keys to remove; none of them in `values`."),
                Field("ifRev", .revision, "Write only when no setting of the domain has changed since this revision."),
            ],
            result: [
                Field("rev", .revision, required: true, "Revision of the domain's last change."),
                Field("changed", .count, required: true, "How many settings this call changed."),
            ],
            errors: [.conflict, .valueTooLarge, .quotaExceeded, .noSpace, .outcomeUnknown],
            example: "{\"domain\":\"app\",\"values\":{\"theme\":\"dark\",\"size\":12},\"delete\":[\"old\"]}"),
        Method(
            "settings.increment", .settings, .write, "Adds to an integer setting in one step.",
            parameters: [
                domain, settingKey,
                Field("by", .integer(-WireLimits.safeInteger...WireLimits.safeInteger), "What to add; 1 when absent."),
                Field(
                    "initial", .integer(-WireLimits.safeInteger...WireLimits.safeInteger),
                    "What an absent setting counts as; 0 when absent."),
            ],
            result: [
                Field(
                    "value", .integer(-WireLimits.safeInteger...WireLimits.safeInteger), required: true, "The sum."),
                .rev,
            ],
            errors: [.typeMismatch, .outOfRange, .quotaExceeded, .noSpace, .outcomeUnknown],
            example: "{\"domain\":\"app\",\"key\":\"launches\"}"),
        Method(
            "settings.count", .settings, .read, "Counts a domain's settings.", parameters: [domain],
            result: [Field("count", .count, required: true, "Settings in the domain."), .nowRev],
            example: "{\"domain\":\"app\"}"),
        Method(
            "settings.scopes", .settings, .read, "Lists the domains with their sizes.",
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
    ]

    private static let domain = Field("domain", .scope, required: true, "Which application's or part's settings.")
    private static let settingKey = Field("key", .key, required: true, "Name of the setting.")
}
