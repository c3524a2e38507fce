extension Method {
    /// What one of its operations may be refused for.
    private static let ofOperations = {
        let kinds = Set(
            Store.allCases.filter { $0 != .transaction }.flatMap(\.methods).filter(\.isOperation).flatMap(\.errors))
        return ErrorKind.allCases.filter { kinds.contains($0) && $0 != .requestKeyReused }
    }()

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
            errors: ofOperations,
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
