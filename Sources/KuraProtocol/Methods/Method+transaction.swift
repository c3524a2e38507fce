extension Method {
    static let transactionMethods: [Method] = [
        Method(
            "transaction.apply", .transaction, .write, needs: .operations,
            "Makes several changes, in all durable stores: all or nothing, one revision.",
            parameters: [
                Field(
                    "operations",
                    .list(
                        of: .object([
                            Field("method", .name(maxBytes: 128), required: true, "A write, such as `settings.put`."),
                            Field("params", .map(of: .json), "Its parameters; `ifRev` included."),
                        ]), maxItems: WireLimits.transactionItems), required: true,
                    "Carried out in this order. An item can be changed once."
                )
            ],
            result: [
                Field(
                    "results", .list(of: .map(of: .json), maxItems: WireLimits.transactionItems), required: true,
                    "What each operation answers, in their order."),
                Field(
                    "rev", .revision, required: true,
                    "Revision of all changes; the newest one there is when nothing was changed."),
                .durable,
            ],
            errors: [
                .conflict, .locked, .schemaViolation, .valueTooLarge, .quotaExceeded, .typeMismatch, .outOfRange,
                .noSpace,
                .outcomeUnknown,
            ],
            example: """
                {"operations":[{"method":"settings.put","params":{"domain":"app","key":"theme","value":"dark"}},\
                {"method":"documents.put","params":{"collection":"notes","id":"1","value":{"text":"milk"}}}]}
                """)
    ]
}

extension Field {
    /// Every write takes it, as its last parameter.
    static let requestKey = Field(
        "requestKey", .name(maxBytes: WireLimits.requestKeyBytes),
        "Names this write: sent again within a day, it is answered with the first result and not done twice.")
}
