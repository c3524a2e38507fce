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
                """),
        Method(
            "transaction.undo", .transaction, .write, needs: .feed(stores: nil, scope: nil),
            "Brings back what a revision changed, as it was before: all of it or nothing, one revision.",
            parameters: [
                Field(
                    "rev", .revision, required: true,
                    "The revision to undo. Nothing that it changed may have been changed since, and all of it must be readable."
                ),
                Field(
                    "dryRun", .boolean, "true: tell what would be done, and what it would be refused for; do nothing."),
            ],
            result: [
                Field("undone", .count, required: true, "Settings and documents that are as they were."),
                Field(
                    "items",
                    .list(
                        of: .object([
                            Field(
                                "store", .word(Store.all(.clear).words), required: true,
                                "Where the item is."),
                            Field("scope", .scope, required: true, "Its domain or collection."),
                            Field("key", .key, required: true, "Its key or id."),
                            Field(
                                "done", .word(["deleted", "replaced", "restored"]), required: true,
                                """
                                `deleted`: the revision had created it; `replaced`: it has its value of before; `restored`: the revision \
                                had deleted it.
                                """),
                        ]), maxItems: WireLimits.undoneItems), required: true,
                    "Each of them, what was changed last first."),
                Field("changedAt", .timestamp, required: true, "When the revision was written."),
                Field(
                    "client", .text(maxBytes: WireLimits.clientBytes + 1 + WireLimits.versionBytes),
                    "What its writer called itself; left out when it did not."),
                Field("dryRun", .boolean, "true: nothing was changed."),
                Field(
                    "rev", .revision, required: true,
                    "Revision of this change; the newest one there is when nothing was changed."),
                .durable,
            ],
            errors: ofUndoing, example: "{\"rev\":417}"),
    ]

    private static let ofUndoing = {
        let names = ["settings.put", "settings.delete", "documents.put", "documents.delete", "documents.restore"]
        let kinds = Set((settingsMethods + documentsMethods).filter { names.contains($0.name) }.flatMap(\.errors))
        return ErrorKind.allCases.filter {
            $0 != .requestKeyReused && kinds.contains($0)
                || [.overloaded, .conflict, .notFound, .compacted, .notSupported, .tooManyDocuments].contains($0)
        }
    }()
}

extension Field {
    /// Every write takes it, as its last parameter.
    static let requestKey = Field(
        "requestKey", .name(maxBytes: WireLimits.requestKeyBytes),
        "Names this write: sent again within a day, it is answered with the first result and not done twice.")
}
