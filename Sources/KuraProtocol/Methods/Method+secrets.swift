extension Method {
    /// Secrets: values by service and account.
    static let secretsMethods: [Method] = [
        Method(
            "secrets.put", .secrets, .write, needs: .item(scope: "service", name: "account"),
            "Stores a secret, as a new version; what is left out of what is known of it stays as it was.",
            parameters: [
                service, account,
                Field(
                    "secret", .json, secret: true,
                    "A text, or texts by name (user, password, host…) in one object; at most 1 MiB."),
                Field(
                    "secretBase64", .text(maxBytes: WireLimits.secretBase64Bytes), secret: true,
                    "In its place: bytes, as base64."),
                Field(
                    "secretSealed", .text(maxBytes: WireLimits.secretSealedBytes),
                    "In its place: sealed to `publicKey` of `secrets.status`, as base64."),
                label, attributes, accessibility, deviceOnly, accessGroup, backup, expiresAt, maxVersions, .ifRev,
                Field(
                    "algorithm", .word(algorithms),
                    "With bytes, 32 of them: they are a key that is good for this alone (`secrets.sign` and the like)."),
            ],
            result: [.writtenRev, Field("version", .count, required: true, "Number of the version, from 1.")],
            errors: writeErrors + [.valueTooLarge, .typeMismatch, .installationMismatch],
            example: "{\"service\":\"mail\",\"account\":\"ada\",\"secret\":\"open sesame\"}", single: true),
        Method(
            "secrets.get", .secrets, .read, needs: .scope(.read, "service"), "Reads a secret.",
            parameters: [
                service, account, Field("version", .count, "Which version; the newest when absent."),
                Field("field", .key, "Only the text of this name, of a secret that has several."),
                Field(
                    "sealTo", .text(maxBytes: 44),
                    "X25519 public key, as base64: the secret comes sealed to it (crypto_box_seal), and nobody between sees it."
                ),
                accessGroup,
            ],
            result: value + [
                .rev, Field("version", .count, "Number of the version."),
                Field("createdAt", .timestamp, "When the version was written."), expires,
            ],
            errors: readErrors + [.notFound, .installationMismatch],
            example: "{\"service\":\"mail\",\"account\":\"ada\"}", single: true),
        Method(
            "secrets.getMany", .secrets, .read, needs: .scope(.read, "service"),
            "Reads several secrets of one service at one moment.",
            parameters: [
                service,
                Field(
                    "accounts", .list(of: .key, maxItems: WireLimits.getManyItems), required: true,
                    "Whose secrets, at most 1,000."),
                Field(
                    "sealTo", .text(maxBytes: 44),
                    "X25519 public key, as base64: each secret comes sealed to it, as with `secrets.get`."),
                accessGroup,
            ],
            result: [
                Field(
                    "secrets", .list(of: .object(found), maxItems: WireLimits.getManyItems), required: true,
                    secret: true,
                    "Those that exist, in the order asked for."),
                Field(
                    "missing", .list(of: .key, maxItems: WireLimits.getManyItems), required: true,
                    "Accounts without a secret, or whose newest version was destroyed."),
                .nowRev,
            ],
            errors: readErrors + [.installationMismatch, .replyTooLarge],
            example: "{\"service\":\"mail\",\"accounts\":[\"ada\",\"bob\"]}"),
        Method(
            "secrets.delete", .secrets, .write, needs: .scope(.delete, "service"),
            "Removes a secret with all its versions; removing an absent one changes nothing.",
            parameters: [service, account, .ifRev, accessGroup],
            result: [
                Field("rev", .revision, required: true, "Revision of this change; 0 when the secret was absent."),
                Field("deleted", .boolean, required: true, "Whether there was something to remove."),
            ],
            errors: writeErrors + [.installationMismatch], example: "{\"service\":\"mail\",\"account\":\"ada\"}",
            single: true),
        Method(
            "secrets.list", .secrets, .read, needs: .scope(.list, "service"),
            "Lists what is known of secrets, never their values; in an order of its own, the same each time.",
            parameters: [
                Field("service", .scope, "Only those of this service."),
                Field(
                    "attributes", .map(of: .text(maxBytes: WireLimits.attributeBytes)), "Only those with all of these."),
                accessGroup, .cursor, .limit(WireLimits.secretsPage, default: 100),
            ],
            result: [
                Field(
                    "items", .list(of: .object(item), maxItems: WireLimits.secretsPage), required: true,
                    "Some of them; there may be fewer than `limit`, or none, and more to come."), .nowRev, .nextCursor,
            ],
            errors: readErrors, example: "{\"service\":\"mail\"}"),
        Method(
            "secrets.versions", .secrets, .read, needs: .scope(.list, "service"),
            "Lists a secret's versions, the oldest first.",
            parameters: [service, account, accessGroup],
            result: [
                Field(
                    "versions",
                    .list(
                        of: .object([
                            Field("version", .count, required: true, "Number."),
                            Field("rev", .revision, required: true, "Revision that it was written at."),
                            Field("createdAt", .timestamp, required: true, "When."),
                            expires,
                            Field("kind", .word(kinds), required: true, "What it is."), algorithm,
                            Field("bytes", .count, required: true, "Its size."),
                            Field("destroyed", .boolean, "True when its value was destroyed."),
                        ]), maxItems: 100), required: true, "None when the secret is absent."), .rev,
            ],
            errors: readErrors, example: "{\"service\":\"mail\",\"account\":\"ada\"}"),
        Method(
            "secrets.restoreVersion", .secrets, .write, needs: .scope(.update, "service"),
            "Stores what an earlier version was once more, as the newest.",
            parameters: [
                service, account, Field("version", .integer(1...WireLimits.safeInteger), required: true, "Which one."),
                .ifRev, accessGroup,
            ],
            result: [.writtenRev, Field("version", .count, required: true, "Number of the new version.")],
            errors: writeErrors + [.notFound, .installationMismatch],
            example: "{\"service\":\"mail\",\"account\":\"ada\",\"version\":1}"),
        Method(
            "secrets.destroyVersion", .secrets, .write, needs: .scope(.delete, "service"),
            "Destroys a version: its key and value are overwritten wherever the data directory has them; answered when they are.",
            parameters: [
                service, account, Field("version", .integer(1...WireLimits.safeInteger), required: true, "Which one."),
                .ifRev, accessGroup,
            ],
            result: [
                .writtenRev,
                Field(
                    "keptIn", .list(of: .word(["backups", "quarantine"]), maxItems: 2), required: true,
                    "Who has a copy still, if they had one: `backups`, copies of the data directory that were made before; `quarantine`, when there is one."
                ),
            ],
            errors: [
                .sealed, .integrity, .quotaExceeded, .noSpace, .outcomeUnknown, .conflict, .notFound, .overloaded,
                .installationMismatch,
            ], example: "{\"service\":\"mail\",\"account\":\"ada\",\"version\":1}", apart: true),
        Method(
            "secrets.generate", .secrets, .write,
            needs: .scope([.create, .update], "service", also: [Extra(.read, with: "returnSecret")]),
            "Makes a secret and stores it; nobody sees it unless asked for.",
            parameters: [
                service, account,
                Field("kind", .word(["password", "key", "uuid"]), "What to make; a password when absent."),
                Field(
                    "length", .integer(1...4096),
                    "Characters of a password (24 when absent), bytes of a key (32 when absent)."),
                Field(
                    "alphabet", .name(maxBytes: 94),
                    "What a password is made of: ASCII characters, each once; letters and digits when absent."),
                Field("returnSecret", .boolean, "Return it as well. Not within a transaction, nor with `requestKey`."),
                label, attributes, accessibility, deviceOnly, accessGroup, backup, expiresAt, maxVersions, .ifRev,
                Field(
                    "algorithm", .word(algorithms), "With `kind` `key`: it has 32 bytes, and is good for this alone."),
            ],
            result: [
                .writtenRev, Field("version", .count, required: true, "Number of the version, from 1."),
                Field("secret", .text(maxBytes: 4096), secret: true, "With `returnSecret`: the password or UUID."),
                Field("secretBase64", .text(maxBytes: 6000), secret: true, "With `returnSecret`: the key, as base64."),
            ],
            errors: writeErrors + [.typeMismatch, .installationMismatch],
            example: "{\"service\":\"mail\",\"account\":\"robot\",\"length\":32}"),
        Method(
            "secrets.rename", .secrets, .write, needs: .scope([.create, .delete], "service"),
            "Gives a secret another account, with all its versions.",
            parameters: [
                service, account,
                Field("newAccount", .key, required: true, "Of which there must be none: not the secret's own, either."),
                .ifRev, accessGroup,
            ],
            result: [.writtenRev], errors: writeErrors + [.notFound, .typeMismatch, .installationMismatch],
            example: "{\"service\":\"mail\",\"account\":\"ada\",\"newAccount\":\"ada@example.org\"}"),
        Method(
            "secrets.setAttributes", .secrets, .write, needs: .scope(.update, "service"),
            "Changes what is known of a secret; its value stays, and what is left out as well.",
            parameters: [
                service, account, label, attributes, accessibility, backup, expiresAt, maxVersions, .ifRev, accessGroup,
            ],
            result: [.writtenRev], errors: writeErrors + [.notFound, .installationMismatch],
            example: "{\"service\":\"mail\",\"account\":\"ada\",\"label\":\"Mail\"}"),
        Method(
            "secrets.configure", .secrets, .write, needs: .scope(.admin, "service"), "Says what a service is.",
            parameters: [
                service, Field("maxVersions", .integer(1...100), "Versions that an item keeps; at first 10."),
                Field("installation", .scope, "Which installation of the application its secrets belong to."),
                Field(
                    "auditReads", .word(["each", "batched"]),
                    "`each`: a read is answered when it is in the audit, on the disk; `batched`, as at first: it is there some seconds later."
                ),
            ],
            result: [Field("rev", .revision, required: true, "Revision of the service's last change.")],
            errors: unconditionalErrors, example: "{\"service\":\"mail\",\"maxVersions\":3}"),
        Method(
            "secrets.describe", .secrets, .read, needs: .scope(.list, "service"), "Tells what a service is.",
            parameters: [service],
            result: [
                seen,
                Field("maxVersions", .count, required: true, "Versions that an item keeps."),
                Field(
                    "auditReads", .word(["each", "batched"]),
                    "When reads are in the audit; left out when there is no such service."),
                Field("installation", .scope, "Which installation its secrets belong to."),
                Field("keyNumber", .count, "Which key of its own it has, from 1; for who sees all of it."),
                Field("rewrapping", .boolean, "True while something is still to be sealed anew with it."),
                Field(
                    "head", .text(maxBytes: 64),
                    "What its secrets come to, 64 hexadecimal digits: another one after each change, the same again only for the same secrets; for who sees all of it."
                ),
                Field("rev", .revision, "Revision of the last change of them; 0 when there is no such service."),
            ],
            errors: readErrors, example: "{\"service\":\"mail\"}", audit: .nothing),
        Method(
            "secrets.scopes", .secrets, .read, needs: .anywhere(.list), "Lists the services with their sizes.",
            result: [
                Field(
                    "scopes",
                    .list(
                        of: .object([
                            Field("service", .scope, required: true, "Name."),
                            seen, Field("rev", .revision, "Revision of the last change of them."),
                        ]), maxItems: Int(Int32.max)), required: true,
                    "One object a service, in an order of its own; those in which the caller sees a secret."),
                .nowRev,
            ], errors: readErrors, audit: .nothing),
        Method(
            "secrets.clear", .secrets, .write, needs: .scope([.list, .delete], "service"),
            "Removes secrets of a service, 1,000 at most, fewer on a full disk: send it again until nothing is left.",
            parameters: [
                service,
                Field(
                    "confirm", .scope, required: true,
                    "The service's installation when it has one, else its name once more."),
            ],
            result: [
                Field("rev", .revision, required: true, "Revision of this change; 0 when there was nothing."),
                Field("deleted", .count, required: true, "How many are gone."),
                Field("left", .count, required: true, "How many are still there."),
            ],
            errors: unconditionalErrors, example: "{\"service\":\"mail\",\"confirm\":\"mail\"}"),
        Method(
            "secrets.verify", .secrets, .read, needs: .whole(.admin),
            "Looks at everything that is there: records and secrets against their sums, and each value; tells what is not what was written.",
            parameters: [Field("service", .scope, "Only this one's; when absent, all, and the store's record.")],
            result: [
                Field("services", .count, required: true, "How many were looked at."),
                Field("secrets", .count, required: true, "Secrets."),
                Field("versions", .count, required: true, "Values."),
            ] + damaged + [.nowRev], errors: [.sealed, .notFound], example: "{\"service\":\"mail\"}", audit: .told),
        Method(
            "secrets.repair", .secrets, .write, needs: .whole(.admin),
            "Has a damaged service, or the store, go on with what is whole; says what is lost.",
            parameters: [
                Field(
                    "confirm", .scope, required: true,
                    "The service's name once more; without `service`, `storeId` of `secrets.status`."),
                Field(
                    "service", .scope,
                    "Which one; when absent, the services' records and the audit are accepted as they are."),
                Field(
                    "otherHostKey", .boolean,
                    "With `service`; true: versions that are `deviceOnly` and sealed with another `keys/host.key` lose their values as well. Else they stay, and open when that is back."
                ),
            ],
            result: [
                .writtenRev, Field("kept", .count, required: true, "Secrets that stay."),
                Field("lostSecrets", .count, required: true, "Secrets that are gone."),
                Field("lostVersions", .count, required: true, "Versions that stay without their values."),
            ] + damaged, errors: [.sealed, .integrity, .notFound, .quotaExceeded, .noSpace, .outcomeUnknown],
            example: "{\"service\":\"mail\",\"confirm\":\"mail\"}", apart: true, audit: .told),
    ]

    private static let damaged: [Field] = [
        Field(
            "damaged",
            .list(
                of: .object([
                    Field(
                        "what", .word(["store", "service", "sum", "secret", "version", "audit"]), required: true,
                        "`store`: services' records were altered, removed or set back; `service`: its record, and with it all of its values; `sum`: secrets of it are missing or were set back; `secret`: a head; `version`: a value; `audit`: the audit is not that of the secrets, `secrets.auditVerify` says why."
                    ),
                    Field("service", .scope, "Of which service, when that can be told."),
                    Field("account", .key, "Whose, when that can be told."),
                    Field("accessGroup", .scope, "The group that it is in."),
                    Field("row", .text(maxBytes: 64), "What its row is called on the disk."),
                    Field("version", .count, "Number of the version."),
                    Field("missing", .count, "Of `sum`: how many secrets are not there."),
                ]), maxItems: 1000), required: true, "The first thousand."),
        Field("damagedCount", .count, required: true, "How many there are."),
        Field(
            "otherHostKey", .count,
            "Values besides that are `deviceOnly` and sealed with another `keys/host.key`: nothing is damaged, and they open when that is back. Left out when there are none."
        ),
    ]

    private static let readErrors: [ErrorKind] = [.sealed, .integrity]
    private static let writeErrors: [ErrorKind] = unconditionalErrors + [.conflict]
    private static let unconditionalErrors: [ErrorKind] = [
        .sealed, .integrity, .quotaExceeded, .noSpace, .outcomeUnknown,
    ]
    private static let kinds = ["text", "binary", "dictionary", "key"]
    private static let algorithms = ["ed25519", "hmac-sha512-256", "blake2b-256", "xchacha20-poly1305"]
    private static let algorithm = Field("algorithm", .word(algorithms), "Of a key: what it is good for.")

    private static let service = Field.secretsService
    private static let seen = Field(
        "count", .count,
        "Secrets in it that the caller sees; left out, as `rev` is, where it sees some access groups and there are more than 1,000 secrets."
    )
    private static let account = Field.secretsAccount
    private static let accessGroup = Field.secretsGroup
    private static let label = Field("label", .text(maxBytes: 512), "What to show people.")
    private static let attributes = Field(
        "attributes", .map(of: .text(maxBytes: WireLimits.attributeBytes)),
        "Texts by name, sealed like the secret, to find it by; at most 8 KiB. They take the place of all that were there."
    )
    private static let accessibility = Field(
        "accessibility", .word(["whenUnlocked", "afterFirstUnlock", "always"]),
        "When it may be read; `whenUnlocked` at first.")
    private static let deviceOnly = Field(
        "deviceOnly", .boolean, "It is sealed with a key of this host besides, which no backup has.")
    private static let backup = Field("backup", .boolean, "Whether backups have it. At first true.")
    private static let expiresAt = Field(
        "expiresAt", .text(maxBytes: 24),
        "RFC 3339, UTC, as in 2030-01-31T12:00:00Z: from then on the secret is absent. Of this version alone.")
    private static let maxVersions = Field(
        "maxVersions", .integer(0...100), "Versions that are kept; 0, as at first: as many as the service says.")
    private static let expires = Field("expiresAt", .timestamp, "When it expires; left out for never.")

    private static let value: [Field] = [
        Field(
            "secret", .json, secret: true,
            "The text, or texts by name; left out when the secret is absent, or is bytes."),
        Field(
            "secretBase64", .text(maxBytes: WireLimits.secretBase64Bytes), secret: true,
            "In its place: bytes, as base64."),
        Field(
            "secretSealed", .text(maxBytes: WireLimits.secretSealedBytes),
            "With `sealTo`: an object with `id` of the request, `service`, `account`, `accessGroup`, `version` and the secret, sealed, as base64."
        ),
    ]

    private static let found: [Field] =
        [Field("account", .key, required: true, "Whose.")] + value + [
            .rev, Field("version", .count, required: true, "Number of the version."),
            Field("createdAt", .timestamp, required: true, "When the version was written."), expires,
        ]

    private static let item: [Field] = [
        Field("service", .scope, required: true, "Of which service."),
        Field("account", .key, required: true, "Whose."),
        Field("accessGroup", .scope, "The group that it is in."),
        Field("label", .text(maxBytes: 512), "What to show people."),
        Field("attributes", .map(of: .text(maxBytes: WireLimits.attributeBytes)), "Texts by name."),
        Field("kind", .word(kinds), required: true, "What it is."), algorithm,
        Field(
            "accessibility", .word(["whenUnlocked", "afterFirstUnlock", "always"]), required: true,
            "When it may be read."),
        Field("deviceOnly", .boolean, "True when it is sealed with a key of this host besides."),
        Field("backup", .boolean, "False when backups do not have it."),
        Field("maxVersions", .count, "Versions that are kept, when the item says."),
        Field("rev", .revision, required: true, "Revision of its last change."),
        Field("version", .count, required: true, "Number of the newest version."),
        Field("createdAt", .timestamp, required: true, "When it was first put."),
        Field("updatedAt", .timestamp, required: true, "When it was changed last."), expires,
    ]
}

extension Field {
    static let secretsService = Field("service", .scope, required: true, "Which application's or server's secrets.")
    static let secretsAccount = Field("account", .key, required: true, "Whose secret it is there.")
    static let secretsGroup = Field(
        "accessGroup", .scope,
        "The group that the secret is in: only a grant for the group leads to it. Absent: none. Two groups may have secrets of one name."
    )
}
