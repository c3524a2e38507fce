extension Method {
    static let backupsMethods: [Method] = [
        Method(
            "storage.backup", .storage, .read, needs: .whole(.backup),
            "Writes one consistent backup of \((Store.durable.words + ["attachments"]).listed()), while writes go on.",
            parameters: [
                Field(
                    "name", .name(maxBytes: 64),
                    "What it is called in the data directory's `backups/`: letters, digits, dots, dashes, underscores."),
                Field("fd", .boolean, "true: it goes to the descriptor that came with the request."),
                Field(
                    "recipients", .list(of: .text(maxBytes: 44), maxItems: 32),
                    "X25519 public keys, base64: it is encrypted, and each of their secret keys opens it."),
                Field(
                    "passphrase", .text(maxBytes: WireLimits.passphraseBytes), secret: true,
                    "It is encrypted, and the passphrase opens it."),
                Field(
                    "include", .list(of: .text(maxBytes: 160), maxItems: 256),
                    "What of everything: \(Store.durable.quoted.joinedByCommas), or a scope such as `documents/notes`."),
            ],
            result: [
                Field("name", .text(maxBytes: 64), "What it is called."),
                Field("bytes", .count, required: true, "Bytes of the file."),
                Field("digest", .text(maxBytes: 64), required: true, "BLAKE2b-256 of the file, hexadecimal."),
                Field("encrypted", .boolean, required: true, "Whether a key is needed to open it."),
                Field(
                    "verified", .boolean, required: true,
                    "Whether it was read back and found whole; false where what was written cannot be read."),
                Field("counts", .map(of: .count), required: true, "Items that are in it."),
                Field(
                    "leftOut", .list(of: .object(leftOut), maxItems: Int(Int32.max)), required: true,
                    "What is not in it, and why."),
                Field("rev", .revision, required: true, "Everything is as of this revision."),
            ], errors: backupErrors, example: "{\"name\":\"before-upgrade\"}", outOfBand: true, apart: true,
            audit: .byHandler),
        Method(
            "storage.bundle", .storage, .read, needs: .whole(.backup),
            "Writes a seed bundle: \(Store.bundled.words.listed()) that a daemon begins with (`kurad --seed-bundle`).",
            parameters: [
                Field(
                    "name", .name(maxBytes: 64),
                    "What it is called in the data directory's `backups/`: letters, digits, dots, dashes, underscores."),
                Field("fd", .boolean, "true: it goes to the descriptor that came with the request."),
                Field(
                    "include", .list(of: .text(maxBytes: 160), maxItems: 256),
                    "What of everything: \(Store.bundled.quoted.joinedByCommas), or a scope such as `models/feed`. Models need `read` of them besides: all of them, or those of each scope that is named."
                ),
            ],
            result: [
                Field("name", .text(maxBytes: 64), "What it is called."),
                Field("bytes", .count, required: true, "Bytes of the file."),
                Field("digest", .text(maxBytes: 64), required: true, "BLAKE2b-256 of the file, hexadecimal."),
                Field(
                    "verified", .boolean, required: true,
                    "Whether it was read back and found whole; false where what was written cannot be read."),
                Field("counts", .map(of: .count), required: true, "Items that are in it."),
                Field(
                    "leftOut", .list(of: .object(leftOut), maxItems: Int(Int32.max)), required: true,
                    "What is not in it, and why."),
                Field("rev", .revision, required: true, "Settings and documents are as of this revision."),
            ], errors: [.noSpace, .overloaded, .descriptorMissing, .transferFailed, .integrity, .cancelled],
            example: "{\"name\":\"first-start\"}", outOfBand: true, apart: true),
        Method(
            "backups.list", .backups, .read, needs: .whole(.backup),
            "Lists the backups in the data directory, the newest first.",
            result: [
                Field(
                    "backups", .list(of: .object(entry), maxItems: Int(Int32.max)), required: true, "One object each."),
                .nowRev,
            ], errors: [.transferFailed], outOfBand: true, apart: true),
        Method(
            "backups.verify", .backups, .read, needs: .whole(.backup),
            "Reads a backup to its end and checks every part of it.",
            parameters: [
                Field("name", .name(maxBytes: 64), required: true, "Which one."),
                Field(
                    "passphrase", .text(maxBytes: WireLimits.passphraseBytes), secret: true,
                    "What opens it, when it is encrypted with one."),
            ],
            result: [
                Field("name", .text(maxBytes: 64), required: true, "Which one."),
                Field("bytes", .count, required: true, "Bytes of the file."),
                Field("digest", .text(maxBytes: 64), required: true, "BLAKE2b-256 of the file, hexadecimal."),
                origin,
                Field("createdAt", .timestamp, required: true, "When it was begun."),
                Field("epoch", .text(maxBytes: 36), required: true, "Names the history that its revision belongs to."),
                Field("backupRev", .revision, required: true, "Everything in it is as of this revision."),
                Field("counts", .map(of: .count), required: true, "Items that are in it."),
                Field(
                    "leftOut", .list(of: .object(leftOut), maxItems: Int(Int32.max)), required: true,
                    "What is not in it, and why."),
                .nowRev,
            ], errors: [.notFound, .wrongKey, .integrity, .overloaded, .transferFailed],
            example: "{\"name\":\"before-upgrade\"}", outOfBand: true, apart: true),
        Method(
            "backups.compare", .backups, .read, needs: .whole(.backup),
            "Tells what a restore of a backup would change of the \(compared.listed()) that are there now.",
            parameters: [
                Field("name", .name(maxBytes: 64), "Which one of those in the data directory."),
                Field("fd", .boolean, "true: the backup is the file whose descriptor came with the request."),
                Field(
                    "passphrase", .text(maxBytes: WireLimits.passphraseBytes), secret: true,
                    "What opens it, when it is encrypted with one."),
                Field(
                    "include", .list(of: .text(maxBytes: 160), maxItems: 256),
                    "Only this: \(Store.all(.clear).quoted.joinedByCommas), or a scope such as `documents/notes`."),
                Field("examples", .integer(0...100), "Most differences that are named, a scope; 3 when absent."),
            ],
            result: [
                Field("epoch", .text(maxBytes: 36), required: true, "Names the history that its revision belongs to."),
                Field("backupRev", .revision, required: true, "Everything in it is as of this revision."),
                origin,
                Field("createdAt", .timestamp, required: true, "When it was begun."),
                Field(
                    "same", .count, required: true,
                    "Items that would be as they are; secrets are sealed, so they are neither compared nor counted."),
            ] + changes + [
                Field(
                    "differing", .count, required: true, "Domains and collections that would not be as they are."),
                Field(
                    "differences", .list(of: .object(difference), maxItems: 1000), required: true,
                    "The first 1,000 of them. 10,000 items are named at most."),
                .nowRev,
            ],
            errors: [
                .notFound, .wrongKey, .integrity, .overloaded, .noSpace, .descriptorMissing, .transferFailed,
                .cancelled,
            ], example: "{\"name\":\"before-upgrade\"}", outOfBand: true, apart: true),
        Method(
            "backups.prune", .backups, .write, needs: .whole(.backup),
            "Removes scheduled snapshots that are older than what is kept; those that somebody named stay unless they are named here.",
            parameters: [
                Field("hourly", .integer(0...10_000), "How many hours keep their newest; as configured when absent."),
                Field("daily", .integer(0...10_000), "The same of days."),
                Field("weekly", .integer(0...10_000), "The same of weeks."),
                Field(
                    "names", .list(of: .text(maxBytes: 64), maxItems: 1000),
                    "Remove exactly these, whatever is kept otherwise."),
                Field("dryRun", .boolean, "true: only tell."),
            ],
            result: [
                Field(
                    "removed", .list(of: .text(maxBytes: 64), maxItems: Int(Int32.max)), required: true,
                    "What was removed, or would be."),
                Field("bytes", .count, required: true, "Bytes of these."),
                Field("kept", .count, required: true, "Backups that stay."),
                .nowRev,
            ], errors: [.notFound, .transferFailed], example: "{\"daily\":7,\"dryRun\":true}", outOfBand: true,
            apart: true),
    ]

    private static let backupErrors: [ErrorKind] = [
        .noSpace, .overloaded, .sealed, .descriptorMissing, .transferFailed, .integrity, .cancelled,
    ]

    private static let leftOut: [Field] = [
        Field("store", .text(maxBytes: 16), required: true, "\(Store.durable.quoted.listed("or"))."),
        Field("scope", .text(maxBytes: 128), "Domain, collection or service."),
        Field("name", .text(maxBytes: 512), "Which item, where not the whole scope is meant."),
        Field("count", .count, required: true, "Items."),
        Field(
            "reason", .word(["marked", "deviceOnly", "damaged", "locked"]), required: true,
            "`marked`: configured with `backup: false`; `deviceOnly`: bound to this host; `damaged`: a content that is not what was stored, or secrets that are not, of which single ones go along as they are; `locked`: the secrets were."
        ),
    ]

    private static let origin = Field(
        "origin", .word(["ours", "otherHost", "unproved"]), required: true,
        "`ours`: a daemon with these keys made it, and it was not altered; `otherHost`: it says that one with others did; `unproved`: it has no proof, or the secrets are sealed."
    )

    private static let changes: [Field] = [
        Field("added", .count, required: true, "Items that only the backup has: they would come back."),
        Field("changed", .count, required: true, "Items that would have another value."),
        Field("removed", .count, required: true, "Items that the backup does not have: they would go."),
    ]

    /// What can be compared item by item.
    private static let compared = Store.all(.clear).words + ["attachments"]

    private static let difference: [Field] =
        [
            Field("store", .word(compared), required: true, "Where it is."),
            Field("scope", .text(maxBytes: 128), required: true, "Domain or collection."),
        ] + changes + [
            Field(
                "examples",
                .list(
                    of: .object([
                        Field("key", .text(maxBytes: 512), required: true, "Key, or the document's id."),
                        Field(
                            "change", .word(["added", "changed", "removed"]), required: true,
                            "What would become of it."),
                    ]), maxItems: 100), required: true, "The first of them.")
        ]

    private static let entry: [Field] = [
        Field("name", .text(maxBytes: 64), required: true, "What it is called."),
        Field("bytes", .count, required: true, "Bytes of the file."),
        Field("createdAt", .timestamp, required: true, "When it was finished."),
        Field("scheduled", .boolean, required: true, "Whether the daemon made it by itself."),
        Field("encrypted", .boolean, required: true, "Whether a key is needed to open it."),
        Field("epoch", .text(maxBytes: 36), "Names the history that its revision belongs to; not of encrypted ones."),
        Field("backupRev", .revision, "Everything in it is as of this revision; not of encrypted ones."),
    ]
}
