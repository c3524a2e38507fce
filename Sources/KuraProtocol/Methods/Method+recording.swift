extension Method {
    static let recordTraffic = Method(
        "storage.record", .storage, .read, needs: .whole(.admin),
        "Writes what the daemon is asked to a descriptor, a line of JSON each, until `rpc.cancel` ends it; secrets are replaced.",
        parameters: [
            Field(
                "fd", .boolean, required: true,
                "true: it goes to the descriptor that came with the request, such as a pipe's or a file's."),
            Field("seconds", .integer(1...604_800), "How long; until `rpc.cancel` when absent."),
        ],
        result: [
            Field("requests", .count, required: true, "Requests that were written, each of a batch counted."),
            Field("replies", .count, required: true, "Replies that were written."),
            Field(
                "dropped", .count, required: true,
                "Requests and replies that are left out, since what reads the descriptor was too slow."),
            Field("bytes", .count, required: true, "Bytes that were written."),
            .nowRev,
        ], errors: [.overloaded, .descriptorMissing, .transferFailed],
        example: "{\"fd\":true,\"seconds\":60}", outOfBand: true, apart: true)
}
