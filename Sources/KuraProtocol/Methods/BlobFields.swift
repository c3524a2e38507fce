extension ValueType {
    static let blobDigest = ValueType.name(maxBytes: 64)
    static let blobUpload = ValueType.name(maxBytes: 64)
}

/// What methods of blobs take and return.
extension Field {
    static let blobNamespace = Field("namespace", .scope, required: true, "Which kind of blob.")
    static let blobKey = Field("key", .key, required: true, "The blob's name.")
    static let blobVariant = Field(
        "variant", .name(maxBytes: WireLimits.scopeBytes), "Which of the blobs derived from it; it goes with the blob.")
    static let blobContentType = Field(
        "contentType", .name(maxBytes: WireLimits.contentTypeBytes), "Its media type; kept and returned as it is.")
    static let blobTTL = Field(
        "ttlSeconds", .integer(1...315_360_000), "How long it lives; as its namespace says when absent.")
    static let blobFound = Field(
        "found", .boolean, required: true, "Whether there is such a blob; the rest is left out when not.")
    static let rangeOffset = Field("offset", .count, "Bytes before it; 0 when absent.")
    static let rangeLength = Field("length", .count, "Its bytes.")
    static let blobBytes = Field("bytes", .count, "Its bytes.")
    static let blobDigest = Field("digest", .blobDigest, "BLAKE2b-256 of its content in hexadecimal.")
    static let blobType = Field(
        "contentType", .name(maxBytes: WireLimits.contentTypeBytes), "Its media type, when it was given one.")
    static let blobCreatedAt = Field("createdAt", .timestamp, "When it was stored.")
    static let blobExpiresAt = Field("expiresAt", .timestamp, "When it goes by itself; it may go earlier.")
    static let blobFacts = [blobBytes, blobDigest, blobType, blobCreatedAt, blobExpiresAt]
    static let blobVariantOf = Field(
        "variantOf", .blobDigest,
        "With `variant`: the parent's digest that it was made from; it is stored only when the parent is still that.")
    static let blobExpectedDigest = Field(
        "digest", .blobDigest, "BLAKE2b-256 that the content has to have, in hexadecimal.")
    static let blobIfAbsent = Field("ifAbsent", .boolean, "Store nothing when there is a blob of this name.")
    static let blobUpload = Field("upload", .blobUpload, required: true, "From `blobs.beginUpload`.")
    static let blobRange = Field(
        "range", .object([.rangeOffset, .rangeLength]),
        "Only a part: so many bytes from there on, or all from there on when the length is left out.")
    static let blobReason = Field(
        "reason",
        .word([
            "present", "parentMissing", "parentChanged", "overBudget", "busy", "lowStorage", "late",
        ]),
        """
        When it is not: there is one and `ifAbsent` was asked for; the parent is not there, or not what `variantOf` says; it is \
        larger than all may be; too much waits to be written; the disk is nearly full; the \
        claim of its `token` has ended.
        """)
    static let blobStored: [Field] =
        [Field("stored", .boolean, required: true, "Whether it is stored; a cache may decline."), blobReason]
        + blobFacts
    static let blobCounts: [Field] = [
        ("hits", "Reads that found a blob."), ("misses", "Reads that found none."),
        ("stored", "Blobs that were stored."),
        ("declined", "Blobs that were not."), ("evicted", "Blobs that went for others."),
        ("expired", "Blobs whose time was over."), ("damaged", "Blobs whose content was found damaged or gone."),
    ].map { Field($0.0, .count, required: true, $0.1) }
}
