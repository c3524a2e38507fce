extension Method {
    /// Keys that do something for whoever may not read them, and tokens that lead to a secret once.
    static let secretsUseMethods: [Method] = [
        Method(
            "secrets.sign", .secrets, .read, needs: .scope(.use, "service"),
            "Signs data with a stored Ed25519 key, which nobody sees.",
            parameters: [.secretsService, .secretsAccount, data, dataBase64, version, .secretsGroup],
            result: [signature, usedVersion], errors: useErrors,
            example: "{\"service\":\"mail\",\"account\":\"signer\",\"data\":\"ship it\"}"),
        Method(
            "secrets.verifySignature", .secrets, .read, needs: .scope(.use, "service"),
            "Tells whether a signature is that of data by a stored Ed25519 key.",
            parameters: [
                .secretsService, .secretsAccount,
                Field("signature", .text(maxBytes: 88), required: true, "64 bytes, as base64."), data, dataBase64,
                version,
                .secretsGroup,
            ],
            result: [Field("valid", .boolean, required: true, "Whether it is."), usedVersion], errors: useErrors,
            example: "{\"service\":\"mail\",\"account\":\"signer\",\"signature\":\"AAAA\",\"data\":\"ship it\"}"),
        Method(
            "secrets.publicKey", .secrets, .read, needs: .scope(.use, "service"),
            "Reads the public half of a stored Ed25519 key, with which anybody can check signatures.",
            parameters: [.secretsService, .secretsAccount, version, .secretsGroup],
            result: [
                Field("publicKey", .text(maxBytes: 44), required: true, "32 bytes, as base64."), usedVersion,
            ], errors: useErrors, example: "{\"service\":\"mail\",\"account\":\"signer\"}"),
        Method(
            "secrets.hmac", .secrets, .read, needs: .scope(.use, "service"),
            "Makes the code of data by a stored key: HMAC-SHA-512/256 or keyed BLAKE2b, as the key says.",
            parameters: [.secretsService, .secretsAccount, data, dataBase64, version, .secretsGroup],
            result: [Field("code", .text(maxBytes: 44), required: true, "32 bytes, as base64."), usedVersion],
            errors: useErrors, example: "{\"service\":\"mail\",\"account\":\"codes\",\"data\":\"order 7\"}"),
        Method(
            "secrets.verifyHmac", .secrets, .read, needs: .scope(.use, "service"),
            "Tells whether a code is that of data by a stored key; compared in constant time.",
            parameters: [
                .secretsService, .secretsAccount,
                Field("code", .text(maxBytes: 44), required: true, "32 bytes, as base64."), data, dataBase64, version,
                .secretsGroup,
            ],
            result: [Field("valid", .boolean, required: true, "Whether it is."), usedVersion], errors: useErrors,
            example: "{\"service\":\"mail\",\"account\":\"codes\",\"code\":\"AAAA\",\"data\":\"order 7\"}"),
        Method(
            "secrets.encrypt", .secrets, .read, needs: .scope(.use, "service"),
            "Seals data with the newest version of a stored XChaCha20-Poly1305 key.",
            parameters: [.secretsService, .secretsAccount, data, dataBase64, associatedData, .secretsGroup],
            result: [
                Field(
                    "ciphertext", .text(maxBytes: WireLimits.ciphertextBytes), required: true,
                    "What only this key opens, as base64; it says which version does."), usedVersion,
            ], errors: useErrors, example: "{\"service\":\"mail\",\"account\":\"sealer\",\"data\":\"card 4711\"}"),
        Method(
            "secrets.decrypt", .secrets, .read, needs: .scope(.use, "service"),
            "Opens what `secrets.encrypt` has sealed.",
            parameters: [.secretsService, .secretsAccount, ciphertext, associatedData, .secretsGroup],
            result: [
                Field("data", .text(maxBytes: WireLimits.dataBytes), secret: true, "The text that was sealed."),
                Field(
                    "dataBase64", .text(maxBytes: WireLimits.dataBase64Bytes), secret: true,
                    "In its place, when bytes were sealed: these, as base64."), usedVersion,
            ], errors: useErrors + [.forged],
            example: "{\"service\":\"mail\",\"account\":\"sealer\",\"ciphertext\":\"AAAA\"}"),
        Method(
            "secrets.rewrap", .secrets, .read, needs: .scope(.use, "service"),
            "Seals what `secrets.encrypt` has sealed anew with the newest version of the key, and shows it to nobody.",
            parameters: [.secretsService, .secretsAccount, ciphertext, associatedData, .secretsGroup],
            result: [
                Field(
                    "ciphertext", .text(maxBytes: WireLimits.ciphertextBytes), required: true,
                    "To be kept in the old one's place."), usedVersion,
            ], errors: useErrors + [.forged],
            example: "{\"service\":\"mail\",\"account\":\"sealer\",\"ciphertext\":\"AAAA\"}"),
        Method(
            "secrets.issueToken", .secrets, .write, needs: .scope(.read, "service"),
            "Makes a token that leads to a secret once, for whoever presents it on another connection.",
            parameters: [
                .secretsService, .secretsAccount,
                Field("ttlSeconds", .integer(1...WireLimits.tokenSeconds), required: true, "How long it is good."),
                Field("version", .count, "Which version; the newest at that time when absent."), .secretsGroup,
            ],
            result: [
                Field("token", .text(maxBytes: 44), required: true, secret: true, "To be handed on."),
                Field("expiresAt", .timestamp, required: true, "When it becomes worthless, at the latest."),
            ],
            errors: [.sealed, .integrity, .quotaExceeded, .overloaded, .installationMismatch],
            example: "{\"service\":\"mail\",\"account\":\"ada\",\"ttlSeconds\":60}", apart: true),
        Method(
            "secrets.redeemToken", .secrets, .write, needs: .nothing,
            "Reads the secret that a token leads to; the token is all that is needed, and worthless afterwards.",
            parameters: [
                Field("token", .text(maxBytes: 44), required: true, secret: true, "From `secrets.issueToken`.")
            ],
            result: [
                Field("service", .scope, required: true, "Of which service the secret is."),
                Field("account", .key, required: true, "Whose."),
                Field("accessGroup", .scope, "The group that it is in."),
                Field("secret", .json, secret: true, "The text, or texts by name; left out when it is bytes."),
                Field(
                    "secretBase64", .text(maxBytes: WireLimits.secretBase64Bytes), secret: true,
                    "In its place: bytes, as base64."),
                .rev, Field("version", .count, required: true, "Number of the version."),
                Field("createdAt", .timestamp, required: true, "When the version was written."),
                Field("expiresAt", .timestamp, "When it expires; left out for never."),
            ],
            errors: [.sealed, .integrity, .tokenUnusable, .notFound],
            example: "{\"token\":\"AAAA\"}", apart: true),
    ]

    private static let useErrors: [ErrorKind] = [
        .sealed, .integrity, .notFound, .typeMismatch, .overloaded, .installationMismatch,
    ]

    private static let data = Field(
        "data", .text(maxBytes: WireLimits.dataBytes), secret: true, "Text, whose UTF-8 is meant; at most 256 KiB.")
    private static let dataBase64 = Field(
        "dataBase64", .text(maxBytes: WireLimits.dataBase64Bytes), secret: true, "In its place: bytes, as base64.")
    private static let version = Field("version", .count, "Which version of the key; the newest when absent.")
    private static let usedVersion = Field(
        "version", .count, required: true, "The version of the key that was used.")
    private static let signature = Field("signature", .text(maxBytes: 88), required: true, "64 bytes, as base64.")
    private static let ciphertext = Field(
        "ciphertext", .text(maxBytes: WireLimits.ciphertextBytes), required: true, "From `secrets.encrypt`, as base64.")
    private static let associatedData = Field(
        "associatedData", .text(maxBytes: WireLimits.associatedBytes),
        "What is sealed belongs to it: opening needs the same. Not inside, and no secret.")
}
