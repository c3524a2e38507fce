extension Method {
    /// The keys of the secrets: what opens them, and who may change that.
    static let secretsKeysMethods: [Method] = [
        Method(
            "secrets.status", .secrets, .read, needs: .anywhere(.list),
            "Tells whether the secrets are sealed, and how their keys are kept.",
            parameters: [Field("service", .scope, "Tells `installationMismatch` of this one.")],
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
                Field(
                    "hostKeyRenewedAt", .timestamp,
                    "When `keys/host.key` was missing and another was made: what is `deviceOnly` from before is lost without the old one. `storage.acknowledge` ends it."
                ),
                Field(
                    "rootKeyUnneeded", .boolean,
                    "True: `keys/root.key` is there and no slot needs it. It goes when the secrets are unlocked; where `keys/slots.json` is an older one, bring the newer one back before."
                ),
                Field(
                    "hostKeyUnusable", .boolean,
                    "True: `keys/host.key` has not 32 bytes, or cannot be read: what is `deviceOnly` answers `integrity` until a start finds the right one."
                ),
                Field("slots", .count, required: true, "How many slots lead to the root key."),
                Field(
                    "integrity", .word(["checking", "whole", "damaged"]),
                    "Whether what is on the disk is what was written; left out while sealed."),
                Field(
                    "chainHead", .text(maxBytes: 64),
                    "What the chain over all changes has come to: 64 hexadecimal digits. Whoever noted one elsewhere can tell that the directory was not set back behind it. Left out for who may not list all secrets."
                ),
                Field("chainLength", .count, "Changes in the chain; left out with `chainHead`."),
                Field(
                    "rewrapping",
                    .object([
                        Field("done", .count, required: true, "Secrets that were sealed anew."),
                        Field("total", .count, required: true, "Of about so many."),
                    ]), "While secrets are sealed anew after a rotation."),
                Field(
                    "scrubbing", .boolean,
                    "True while what destroyed versions have left on the disk is still to be overwritten."),
                Field("storeId", .text(maxBytes: 32), "Names this store of secrets: 32 hexadecimal digits."),
                Field("keyEpoch", .count, "Which root key new secrets are sealed with, from 1."),
                Field(
                    "installationMismatch", .boolean,
                    "With `service`: its secrets are those of another installation than this connection has named in `session.hello`."
                ),
                Field(
                    "publicKey", .text(maxBytes: 44),
                    "X25519 key to seal secrets to for this daemon, as base64; left out while sealed."),
            ], audit: .nothing),
        Method(
            "secrets.slots", .secrets, .read, needs: .whole(.admin),
            "Lists the slots: the ways to the root key.",
            result: [
                Field("slots", .list(of: .object(keySlot), maxItems: 32), required: true, "In the order of their ids."),
                Field("keyEpoch", .count, required: true, "Which root key the slots lead to."),
                Field(
                    "retiredEpochs", .list(of: .count, maxItems: 16), required: true,
                    "Earlier root keys that something is still sealed with."),
            ], errors: [.sealed, .integrity]),
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
            ], errors: keyErrors, apart: true, audit: .told),
        Method(
            "secrets.lock", .secrets, .write, needs: .whole(.admin),
            "Forgets all keys: the secrets are sealed until somebody unlocks them.",
            result: [Field("state", .word(secretsStates), required: true, "`sealed`.")], apart: true, audit: .told),
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
            "Makes a new root key, or a new key for one service; what is sealed with the old one is sealed anew by and by, and then it goes.",
            parameters: [
                Field("rootKey", .boolean, "True: the root key."),
                passphrase(
                    "passphrase", required: false,
                    "With `rootKey`: of the passphrase slots, which all have to have this one."),
                Field("service", .scope, "In its place: the service whose key it is."),
                Field(
                    "waitMs", .integer(0...WireLimits.waitMilliseconds),
                    "How long to wait until everything is sealed anew; meanwhile notifications `progress` tell how far it is. 0, as when absent: not at all."
                ),
            ],
            result: [
                Field("keyEpoch", .count, required: true, "The newest root key's."),
                Field("rev", .revision, "With `service`: revision of its last change."),
                Field("rewrapping", .boolean, "True while something is still to be sealed anew."),
                Field(
                    "keptSlots", .list(of: .object(keptSlot), maxItems: 32),
                    "With `rootKey`: slots whose own keys are what they were. Whoever has one of those opens what is new as well."
                ),
            ],
            errors: keyErrors + [.quotaExceeded, .notFound, .outcomeUnknown], example: "{\"rootKey\":true}", apart: true
        ),
    ]

    private static let secretsStates = ["sealed", "unlocked", "unusable"]
    private static let slotKinds = ["keyFile", "descriptor", "credential", "container", "passphrase"]
    private static let keyErrors: [ErrorKind] = [.sealed, .integrity, .wrongKey, .overloaded, .noSpace]

    private static func passphrase(_ name: String, required: Bool, _ summary: String) -> Field {
        Field(name, .text(maxBytes: WireLimits.passphraseBytes), required: required, secret: true, summary)
    }

    private static let keptSlot: [Field] = [
        Field("id", .count, required: true, "Which one."),
        Field("kind", .word(slotKinds), required: true, "Where its key comes from."),
        Field("change", .text(maxBytes: 256), required: true, "How it gets another key."),
    ]

    private static let keySlot: [Field] = [
        Field("id", .count, required: true, "Given once, never again."),
        Field("kind", .word(slotKinds), required: true, "Where its key comes from."),
        Field("label", .text(maxBytes: WireLimits.slotLabelBytes), required: true, "What it was called; may be empty."),
        Field("createdAt", .timestamp, required: true, "When it was made."),
        Field("passes", .count, "Of a passphrase: Argon2id's passes."),
        Field("memoryBytes", .count, "Of a passphrase: Argon2id's memory, bytes."),
    ]
}
