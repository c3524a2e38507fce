/// Faults on demand, for tests of applications.
extension Method {
    /// What can be injected. Its name stands in requests, and in `fault.list`.
    public enum FaultKind: String, Sendable, CaseIterable {
        case full, sync, slow, conflict, overloaded, gone, powerCut

        /// It strikes requests, which `method` and `count` choose.
        public var strikesRequests: Bool { self == .slow || self == .conflict || self == .overloaded }
        /// `millis` says how long.
        public var takesTime: Bool { self == .slow || self == .gone || self == .full }
    }

    static let faultMethods: [Method] = [
        Method(
            "fault.inject", .fault, .write, needs: .whole(.admin),
            "Has something go wrong on purpose, for a test of what an application does then; only on an ephemeral daemon.",
            parameters: [
                Field(
                    "kind", .word(FaultKind.allCases.map(\.rawValue)), required: true,
                    "`full`: the disk is. `sync`: the next sync fails, and the daemon starts anew. `slow`: requests are begun `millis` later. `conflict`: `ifRev` does not hold. `overloaded`: requests are refused. `gone`: nobody is there for `millis`. `powerCut`: what is not synced is lost, and the daemon starts anew."
                ),
                Field(
                    "method", .name(maxBytes: 64),
                    "With `slow`, `conflict` and `overloaded`: requests of this method alone; without it of all but `rpc`, `session` and `fault`."
                ),
                Field(
                    "count", .integer(1...1_000_000),
                    "With `slow`, `conflict` and `overloaded`: so many requests. Without it one, and with `slow` all until `fault.clear`."
                ),
                Field(
                    "millis", .integer(1...600_000),
                    "`slow` and `gone` need it; `full` without it lasts until `fault.clear`."),
            ],
            result: [Field("id", .count, required: true, "The fault's number, for `fault.clear`.")],
            errors: [.notSupported, .overloaded],
            example: "{\"kind\":\"conflict\",\"method\":\"settings.put\"}", outOfBand: true, apart: true),
        Method(
            "fault.list", .fault, .read, needs: .whole(.admin),
            "Lists the faults that have been injected and are not over.",
            result: [
                Field(
                    "faults",
                    .list(
                        of: .object([
                            Field("id", .count, required: true, "Its number."),
                            Field(
                                "kind", .word(FaultKind.allCases.map(\.rawValue)), required: true,
                                "As in `fault.inject`."),
                            Field("method", .text(maxBytes: 64), "Whose requests it strikes; left out: all."),
                            Field(
                                "left", .count, "How many requests it strikes yet; left out: as long as it is there."),
                            Field("millis", .count, "As it was injected."),
                        ]), maxItems: 1000), required: true, "In the order in which they came.")
            ],
            errors: [.notSupported], outOfBand: true),
        Method(
            "fault.clear", .fault, .write, needs: .whole(.admin),
            "Ends a fault before its time, or all of them.",
            parameters: [Field("id", .count, "Its number; without it all.")],
            result: [Field("cleared", .count, required: true, "How many have ended by it.")],
            errors: [.notSupported], example: "{\"id\":1}", outOfBand: true, apart: true),
    ]
}
