extension Method {
    /// What was asked of secrets, by whom.
    static let secretsAuditMethods: [Method] = [
        Method(
            "secrets.audit", .secrets, .read, needs: .whole(.admin),
            "Lists what was asked of secrets and by whom, the oldest first; never values.",
            parameters: [
                Field("service", .scope, "Only what was about this service."),
                Field("since", .text(maxBytes: 24), "Only what was from then on: RFC 3339, UTC."),
                .limit(WireLimits.secretsPage, default: 100), .cursor,
            ],
            result: [
                Field(
                    "records", .list(of: .object(record), maxItems: WireLimits.secretsPage), required: true,
                    "Some of them; there may be fewer than `limit`, or none, and more to come."), .nextCursor,
            ], errors: [.sealed, .integrity], example: "{\"service\":\"mail\"}", audit: .told),
        Method(
            "secrets.auditVerify", .secrets, .read, needs: .whole(.admin),
            "Checks that the audit is as it was written: send it again with `cursor` until there is none.",
            parameters: [.cursor],
            result: [
                Field("valid", .boolean, required: true, "Whether all records that were looked at are."),
                Field(
                    "firstBroken", .count,
                    "Number of the first record that has been altered, is missing, or is not known of; 0 when that cannot be told."
                ),
                Field(
                    "reason", .word(["record", "head", "dropped", "setBack", "secretsSetBack", "beyond", "unbound"]),
                    "What is wrong. `record`: that one; `head`: the row of the audit's head; `dropped`: all of the audit is gone; `setBack`: it ends before what the secrets know of, or both end before what was acknowledged; `secretsSetBack`: the secrets end before what it knows of; `beyond`: something lies behind the newest record that the secrets know of; `unbound`: the record that tells where it ends is lost, or does not fit the services."
                ),
                Field("records", .count, required: true, "How many are as they were written."),
                Field("newest", .count, required: true, "Number of the newest record."),
                Field(
                    "head", .text(maxBytes: 44),
                    "What all records have come to: noted elsewhere it tells whether the audit was set back as a whole."
                ),
                .nextCursor,
            ], errors: [.sealed, .integrity], audit: .told),
    ]

    private static let record: [Field] = [
        Field("number", .count, required: true, "From 1, without gaps."),
        Field("at", .timestamp, required: true, "When it was, the first time."),
        Field("lastAt", .timestamp, "With `count`: when it was the last time."),
        Field("count", .count, "How often, when more than once."),
        Field("method", .text(maxBytes: 64), required: true, "What was asked for."),
        Field(
            "refused", .text(maxBytes: 64),
            "The error's kind, when it was not done. `lost`, of `secrets.audit`: so many records found no room while the secrets were sealed; `missing`: the newest change had no record at a start; `accepted`: a repair has accepted the audit as it was, which is not as it was written."
        ),
        Field("uid", .count, required: true, "Who asked, as the kernel says."),
        Field("role", .text(maxBytes: 128), required: true, "In which role."),
        Field("client", .text(maxBytes: 256), "What the client called itself."),
        Field("service", .scope, "What it was about."), Field("account", .key, "Whose secret."),
        Field("accessGroup", .scope, "The group that it is in."),
        Field("rev", .count, required: true, "Newest revision that the answer gave away; 0 for none."),
        Field(
            "unproved", .boolean,
            "True when it came by way of the public key while the secrets were sealed: whoever can write to the data directory can have made it up."
        ),
    ]
}
