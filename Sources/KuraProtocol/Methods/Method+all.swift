extension Method {
    /// Every method of Kura, by room.
    public static let all = Store.allCases.flatMap(\.methods)
}

extension ValueType {
    static let scope = ValueType.name(maxBytes: WireLimits.scopeBytes)
    static let key = ValueType.name(maxBytes: WireLimits.keyBytes)
    static let revision = ValueType.integer(0...WireLimits.safeInteger)
    static let count = ValueType.integer(0...WireLimits.safeInteger)
    static let cursor = ValueType.text(maxBytes: 2048)
}

extension Field {
    static let ifRev = Field(
        "ifRev", .revision, "Write only when the item's revision is this one; 0: only when it is absent.")
    static let ifConfigurationRev = Field(
        "ifRev", .revision,
        "Change it only when the `rev` that `describe` tells is this one; 0: only when nothing was ever configured.")
    static let rev = Field("rev", .revision, required: true, "Revision of the item's last change; 0 when it is absent.")
    static let writtenRev = Field("rev", .revision, required: true, "Revision of this change.")
    static let durable = Field(
        "durable", .boolean, "False when the change is acknowledged before it is durable; left out otherwise.")
    static let nextCursor = Field("cursor", .cursor, "Where the next page starts; absent at the end.")
    static let cursor = Field("cursor", .cursor, "A cursor of the previous page.")
    static func limit(_ items: Int, default: Int) -> Field {
        Field("limit", .integer(1...Int64(items)), "Most items to return; \(`default`) when absent.")
    }
    static let nowRev = Field("rev", .revision, required: true, "Newest revision that the answer takes into account.")
}
