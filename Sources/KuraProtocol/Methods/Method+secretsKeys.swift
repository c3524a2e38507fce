extension Method {
    /// The keys of the secrets: what opens them, and who may change that.
    static let secretsKeysMethods: [Method] = [
        Method(
            "secrets.status", .secrets, .read, needs: .anywhere(.list),
            "Tells whether the secrets are sealed, and how their keys are kept.",
            result: [
                Field(
                    "state", .word(secretsStates), required: true,
                    "`unusable`: the slots cannot be read or made; `reason` says why."),
                Field("reason", .text(maxBytes: 256), "Why they are unusable."),
                Field(
                    "hasBeenUnlocked", .boolean, required: true,
                    "Whether they have been unlocked since the daemon started."),
                Field(
                    "memoryLocked", .boolean, required: true,
                    "Whether the kernel keeps the memory of all keys out of swap."),
                Field("slots", .count, required: true, "How many slots lead to the root key."),
                Field("storeId", .text(maxBytes: 32), "Names this store of secrets: 32 hexadecimal digits."),
                Field("keyEpoch", .count, "Which root key new secrets are sealed with, from 1."),
                Field(
                    "publicKey", .text(maxBytes: 44),
                    "X25519 key to seal secrets to for this daemon, as base64; left out while sealed."),
            ]),
        Method(
            "secrets.slots", .secrets, .read, needs: .whole(.admin),
            "Lists the slots: the ways to the root key.",
            result: [
                Field("slots", .list(of: .object(keySlot), maxItems: 32), required: true, "In the order of their ids."),
                Field("keyEpoch", .count, required: true, "Which root key the slots lead to."),
                Field(
                    "retiredEpochs", .list(of: .count, maxItems: 16), required: true,
                    "Earlier root keys that something is still sealed with."),
            ], errors: [.integrity]),
        Method(
            "secrets.addSlot", .secrets, .write, needs: .whole(.admin),
            "Adds a way to the root key; the secrets have to be unlocked.",
            parameters: [
                Field("kind", .word(slotKinds), required: true, "Where the slot's key comes from."),
                passphrase(
                    "newPassphrase", required: false, "With `kind` `passphrase`: what opens the slot; not empty."),
                Field("label", .text(maxBytes: WireLimits.slotLabelBytes), "What to call it."),
            ],
            result: [
                Field("slot", .object(keySlot), required: true, "The slot that was made."),
                Field("slots", .count, required: true, "How many there are now."),
            ], errors: keyErrors + [.quotaExceeded], example: "{\"kind\":\"keyFile\",\"label\":\"this host\"}",
            apart: true),
        Method(
            "secrets.removeSlot", .secrets, .write, needs: .whole(.admin),
            "Removes a way to the root key, but never the last one; the secrets have to be unlocked.",
            parameters: [Field("slot", .integer(1...Int64(UInt32.max)), required: true, "Its `id`.")],
            result: [
                Field("slot", .object(keySlot), required: true, "The slot that is gone."),
                Field("slots", .count, required: true, "How many there are now."),
            ], errors: keyErrors + [.notFound], example: "{\"slot\":2}", apart: true),
        Method(
            "secrets.unlock", .secrets, .write, needs: .whole(.admin),
            "Opens the secrets with a passphrase, or with the keys that the daemon can read by itself.",
            parameters: [
                passphrase(
                    "passphrase", required: false, "Tried on each passphrase slot; left out: files and credentials.")
            ],
            result: [
                Field("state", .word(secretsStates), required: true, "`unlocked`."),
                Field("slot", .count, "The `id` of the slot that opened; left out when the slots were only made now."),
            ], errors: keyErrors, apart: true),
        Method(
            "secrets.lock", .secrets, .write, needs: .whole(.admin),
            "Forgets all keys: the secrets are sealed until somebody unlocks them.",
            result: [Field("state", .word(secretsStates), required: true, "`sealed`.")], apart: true),
        Method(
            "secrets.changePassphrase", .secrets, .write, needs: .whole(.admin),
            "Puts a new passphrase in the place of an old one; also while the secrets are sealed.",
            parameters: [
                passphrase("passphrase", required: true, "The old one."),
                passphrase("newPassphrase", required: true, "The new one; not empty."),
            ],
            result: [Field("slot", .object(keySlot), required: true, "The slot that it opens.")], errors: keyErrors,
            example: "{\"passphrase\":\"old words\",\"newPassphrase\":\"new words\"}", apart: true),
        Method(
            "secrets.rotate", .secrets, .write, needs: .whole(.admin),
            "Makes a new root key; the old one is kept under it as long as something is sealed with it.",
            parameters: [
                Field("rootKey", .boolean, required: true, "True: the root key."),
                passphrase("passphrase", required: false, "Of the passphrase slots, which all have to have this one."),
            ],
            result: [Field("keyEpoch", .count, required: true, "The new root key's.")],
            errors: keyErrors + [.quotaExceeded], example: "{\"rootKey\":true}", apart: true),
    ]

    private static let secretsStates = ["sealed", "unlocked", "unusable"]
    private static let slotKinds = ["keyFile", "descriptor", "credential", "container", "passphrase"]
    private static let keyErrors: [ErrorKind] = [.sealed, .integrity, .wrongKey, .overloaded, .noSpace]

    private static func passphrase(_ name: String, required: Bool, _ summary: String) -> Field {
        Field(name, .text(maxBytes: WireLimits.passphraseBytes), required: required, secret: true, summary)
    }

    private static let keySlot: [Field] = [
        Field("id", .count, required: true, "Given once, never again."),
        Field("kind", .word(slotKinds), required: true, "Where its key comes from."),
        Field("label", .text(maxBytes: WireLimits.slotLabelBytes), required: true, "What it was called; may be empty."),
        Field("createdAt", .timestamp, required: true, "When it was made."),
        Field("passes", .count, "Of a passphrase: Argon2id's passes."),
        Field("memoryBytes", .count, "Of a passphrase: Argon2id's memory, bytes."),
    ]
}
