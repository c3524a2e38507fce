extension Method {
    /// Contents of any kind that may be lost: by value, by descriptor, in pieces.
    static let blobsMethods: [Method] = [
        Method(
            "blobs.get", .blobs, .read,
            needs: .scope(.read, "namespace", also: [.init([.create, .update], with: "claim")]),
            "Reads a blob: as base64, or as a descriptor open for reading, without a copy.",
            parameters: [
                .blobNamespace, .blobKey, .blobVariant,
                Field("orParent", .boolean, "When there is no such variant: the blob that it would be derived from."),
                Field(
                    "as", .word(["inline", "fd", "path"]),
                    """
                    `inline`: base64 in the reply, of at most 11 MiB. `fd`: a descriptor that nothing can be written through comes with the \
                    reply's first byte. `path`: the file's path, for the daemon's own user; a blob of at most 16 KiB has none and comes \
                    inline. `inline` when absent.
                    """),
                .blobRange,
                Field("verify", .boolean, "Hash all of it before anything of it is shown; damaged, it is not found."),
                Field(
                    "claim", .boolean,
                    "When it is not there: the first who asks so gets a `token`, makes it, and puts it; the others get none."
                ),
                Field(
                    "leaseSeconds", .integer(1...86_400),
                    "With `claim`: how long nobody else gets a token; it outlives the connection. Without: half a minute, or as long as the connection. `blobs.renew` prolongs either."
                ),
            ],
            result: [
                .blobFound, .blobBytes, .blobDigest, .blobType, .blobCreatedAt, .blobExpiresAt,
                Field("isParent", .boolean, "With `orParent`: true when this is not the variant."),
                Field(
                    "range", .object([.rangeOffset, .rangeLength]),
                    "With `range`: what of it is in `data`; a descriptor stands at its beginning."),
                Field(
                    "data", .text(maxBytes: WireLimits.inlineBlobBytes / 3 * 4 + 4),
                    "With `inline`: the content, or the part of it, as base64."),
                Field("path", .text(maxBytes: 4096), "With `path`: where it lies; it may be gone at any time."),
                Field("token", .name(maxBytes: 128), "With `claim`: the caller is to make it, and puts it with this."),
            ],
            errors: [.rangeNotSatisfiable, .valueTooLarge, .pathDenied, .overloaded, .shuttingDown],
            example: "{\"namespace\":\"thumbnails\",\"key\":\"https://example.org/a.png\"}", single: true),
        Method(
            "blobs.put", .blobs, .write, needs: .scope([.create, .update], "namespace"),
            "Stores a blob, in the place of one of the same name; equal contents are stored once.",
            parameters: [
                .blobNamespace, .blobKey, .blobVariant, .blobVariantOf, .blobContentType, .blobTTL,
                Field("fd", .boolean, "true: the next descriptor that was passed, of a regular file."),
                Field("path", .text(maxBytes: 4096), "In its place: a file beneath one of the `importRoots`."),
                Field(
                    "data", .text(maxBytes: WireLimits.inlineBlobBytes / 3 * 4 + 4),
                    "In its place: the content as base64, of at most 11 MiB."),
                .blobExpectedDigest, .blobIfAbsent,
                Field("token", .name(maxBytes: 128), "From a `get` with `claim`, which ends with this put."),
            ],
            result: Field.blobStored,
            errors: [
                .tokenInvalid, .digestMismatch, .descriptorMissing, .transferFailed, .pathDenied, .valueTooLarge,
                .quotaExceeded,
                .noSpace, .overloaded, .shuttingDown,
            ],
            example:
                """
                {"namespace":"thumbnails","key":"https://example.org/a.png","contentType":"image/png","fd":true}
                """, apart: true, single: true),
        Method(
            "blobs.renew", .blobs, .write, needs: .scope([.create, .update], "namespace"),
            "Has a token of a `get` with `claim` last longer: whoever is still making the blob says so, and nobody else begins.",
            parameters: [
                .blobNamespace, .blobKey,
                Field("token", .name(maxBytes: 128), required: true, "From a `get` with `claim`."),
                Field(
                    "leaseSeconds", .integer(1...86_400), required: true,
                    "How long it is good from now on, whatever was left; it ends with its connection if it did before."),
                .blobVariant,
            ],
            result: [
                Field("expiresAt", .timestamp, required: true, "When it ends, unless it is renewed again.")
            ],
            errors: [.tokenInvalid],
            example:
                "{\"namespace\":\"thumbnails\",\"key\":\"a\",\"variant\":\"small\",\"token\":\"\(String(repeating: "0", count: 64))\",\"leaseSeconds\":60}",
            apart: true),
        Method(
            "blobs.stat", .blobs, .read, needs: .scope(.read, "namespace"),
            "Tells what a blob is without reading it.",
            parameters: [.blobNamespace, .blobKey, .blobVariant],
            result: [.blobFound] + Field.blobFacts,
            example: "{\"namespace\":\"thumbnails\",\"key\":\"https://example.org/a.png\"}"),
        Method(
            "blobs.statMany", .blobs, .read, needs: .scope(.read, "namespace"),
            "Tells what several blobs of one namespace are.",
            parameters: [
                .blobNamespace,
                Field(
                    "keys", .list(of: .key, maxItems: WireLimits.getManyItems), required: true, "Keys, at most 1,000."),
            ],
            result: [
                Field(
                    "blobs", .list(of: .object([.blobKey] + Field.blobFacts), maxItems: WireLimits.getManyItems),
                    required: true,
                    "Those that are there, in the order asked for."),
                Field(
                    "missing", .list(of: .key, maxItems: WireLimits.getManyItems), required: true,
                    "Keys of those that are not."),
            ],
            example: "{\"namespace\":\"thumbnails\",\"keys\":[\"a\",\"b\"]}"),
        Method(
            "blobs.touch", .blobs, .write, needs: .scope(.update, "namespace"),
            "Says how long a blob lives from now on; its content stays as it is.",
            parameters: [.blobNamespace, .blobKey, .blobVariant, .blobTTL],
            result: [.blobFound, .blobExpiresAt],
            example: "{\"namespace\":\"thumbnails\",\"key\":\"a\",\"ttlSeconds\":86400}", apart: true),
        Method(
            "blobs.delete", .blobs, .write, needs: .scope(.delete, "namespace"),
            "Removes a blob with all its variants, or one variant.",
            parameters: [.blobNamespace, .blobKey, .blobVariant],
            result: [Field("deleted", .boolean, required: true, "Whether there was one.")],
            example: "{\"namespace\":\"thumbnails\",\"key\":\"a\"}", apart: true, single: true),
        Method(
            "blobs.deleteMany", .blobs, .write, needs: .scope(.delete, "namespace"),
            "Removes several blobs with all their variants.",
            parameters: [
                .blobNamespace,
                Field(
                    "keys", .list(of: .key, maxItems: WireLimits.getManyItems), required: true, "Keys, at most 1,000."),
            ],
            result: [Field("deleted", .count, required: true, "Blobs that were there, variants not counted.")],
            example: "{\"namespace\":\"thumbnails\",\"keys\":[\"a\",\"b\"]}", apart: true),
        Method(
            "blobs.list", .blobs, .read, needs: .scope(.list, "namespace"),
            "Lists a namespace's blobs in the order of their keys' bytes, each one's variants behind it.",
            parameters: [
                .blobNamespace, Field("prefix", .text(maxBytes: WireLimits.keyBytes), "Only keys that begin so."),
                .cursor, .limit(1000, default: 100),
            ],
            result: [
                Field(
                    "blobs", .list(of: .object([.blobKey, .blobVariant] + Field.blobFacts), maxItems: 1000),
                    required: true,
                    "The page; it ends early rather than grow over 1 MiB."),
                .nextCursor,
            ],
            example: "{\"namespace\":\"thumbnails\",\"limit\":20}"),
        Method(
            "blobs.findMissing", .blobs, .read, needs: .scope(.read, "namespace"),
            "Tells which contents no blob of a namespace has, so that only those need be sent.",
            parameters: [
                .blobNamespace,
                Field(
                    "digests", .list(of: .blobDigest, maxItems: WireLimits.getManyItems), required: true,
                    "BLAKE2b-256 in hexadecimal, at most 1,000."),
            ],
            result: [
                Field(
                    "missing", .list(of: .blobDigest, maxItems: WireLimits.getManyItems), required: true,
                    "Those that are not there, in the order asked for.")
            ],
            example:
                """
                {"namespace":"thumbnails","digests":\
                ["0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"]}
                """),
        Method(
            "blobs.scopes", .blobs, .read, needs: .anywhere(.list), "Lists the namespaces of blobs.",
            result: [
                Field(
                    "scopes",
                    .list(
                        of: .object([
                            Field("namespace", .scope, required: true, "Its name."),
                            Field("count", .count, required: true, "Its blobs, variants counted."),
                            Field("bytes", .count, required: true, "Their bytes, equal contents counted each time."),
                        ]), maxItems: 1000), required: true, "In the order of their names' bytes.")
            ]),
        Method(
            "blobs.describe", .blobs, .read, needs: .scope(.list, "namespace"),
            "Tells what a namespace is configured to be, and what it has seen since the daemon started.",
            parameters: [.blobNamespace],
            result: [
                Field("ttlSeconds", .count, required: true, "What a blob lives when its `put` does not say."),
                Field("maxBytes", .count, "Most bytes of its blobs; left out when only the room's bound holds."),
                Field("maxEntries", .count, "Most blobs; left out for any number."),
                Field("count", .count, required: true, "Its blobs, variants counted."),
                Field("bytes", .count, required: true, "Their bytes, equal contents counted each time."),
            ] + Field.blobCounts,
            example: "{\"namespace\":\"thumbnails\"}"),
        Method(
            "blobs.configure", .blobs, .write, needs: .scope(.admin, "namespace"),
            "Says what a namespace is: how long its blobs live, and how much of them there may be. What is absent stays; null is as at first.",
            parameters: [
                .blobNamespace,
                Field("ttlSeconds", .json, "What a blob lives when its `put` does not say. At first 604,800: 7 days."),
                Field("maxBytes", .json, "Most bytes of its blobs. Beyond them those go that were not read lately."),
                Field("maxEntries", .json, "Most blobs, variants counted."),
            ],
            result: [
                Field("ttlSeconds", .count, required: true, "As it is now."),
                Field("maxBytes", .count, "As it is now."),
                Field("maxEntries", .count, "As it is now."),
            ],
            errors: [.quotaExceeded],
            example: "{\"namespace\":\"thumbnails\",\"ttlSeconds\":86400,\"maxBytes\":104857600}", apart: true),
    ]
}
