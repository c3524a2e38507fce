extension Method {
    /// What of its content comes in several requests, for those that pass no descriptors.
    static let blobUploadMethods: [Method] = [
        Method(
            "blobs.beginUpload", .blobs, .write, needs: .scope([.create, .update], "namespace"),
            "Begins a blob that comes in pieces. Nothing of it is seen before it is committed.",
            parameters: [
                .blobNamespace, .blobKey, .blobVariant, .blobVariantOf, .blobContentType, .blobTTL,
                Field("bytes", .integer(0...4_294_967_296), "How many it is going to have; more are refused."),
                .blobExpectedDigest, .blobIfAbsent,
                Field(
                    "leaseSeconds", .integer(1...86_400),
                    "It outlives its connection, so long after each piece. Without, it ends with the connection."),
            ],
            result: [
                Field("upload", .blobUpload, "What names it in the requests that follow; whoever knows it may go on."),
                Field("stored", .boolean, "False when it is declined at once; left out otherwise."), .blobReason,
            ],
            errors: [.valueTooLarge, .quotaExceeded, .overloaded],
            example: "{\"namespace\":\"thumbnails\",\"key\":\"b\",\"bytes\":300000,\"leaseSeconds\":60}", apart: true),
        Method(
            "blobs.appendUpload", .blobs, .write, needs: .anywhere([.create, .update]),
            "Adds the next piece to an upload.",
            parameters: [
                .blobUpload,
                Field("offset", .count, required: true, "Where the piece belongs: how many bytes came before."),
                Field(
                    "data", .text(maxBytes: WireLimits.inlineBlobBytes / 3 * 4 + 4), required: true,
                    "The piece as base64, of at most 11 MiB."),
            ],
            result: [Field("received", .count, required: true, "Bytes that have come, this piece counted.")],
            errors: [.uploadNotFound, .valueTooLarge, .quotaExceeded, .noSpace, .overloaded, .shuttingDown],
            example:
                "{\"upload\":\"0123456789abcdef0123456789abcdef\",\"offset\":0,\"data\":\"aGVsbG8=\"}", apart: true),
        Method(
            "blobs.commitUpload", .blobs, .write, needs: .anywhere([.create, .update]),
            "Ends an upload: what has come becomes the blob. It ends the upload also when it is declined or refused for its digest.",
            parameters: [.blobUpload, .blobExpectedDigest], result: Field.blobStored,
            errors: [.uploadNotFound, .digestMismatch, .quotaExceeded, .noSpace, .overloaded, .shuttingDown],
            example: "{\"upload\":\"0123456789abcdef0123456789abcdef\"}", apart: true),
        Method(
            "blobs.abortUpload", .blobs, .write, needs: .anywhere([.create, .update]),
            "Ends an upload, and forgets what has come.",
            parameters: [.blobUpload],
            result: [Field("aborted", .boolean, required: true, "Whether there was one.")],
            example: "{\"upload\":\"0123456789abcdef0123456789abcdef\"}", apart: true),
    ]
}
