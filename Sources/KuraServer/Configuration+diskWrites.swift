import KuraBytes
import KuraProtocol
import KuraStorage

/// `diskWrites` of the configuration file: what rooms and programs may have written to the disk in a day.
///
///     "diskWrites": {
///         "stores": {"models": {"diskWriteBudget": 1073741824}},
///         "clients": {"mail": {"diskWriteBudget": 104857600, "throttle": true}}
///     }
extension Configuration {
    private static let budgetRange = 4096...(1 << 50)
    private static let budgetLimit = 64

    static func writeBudgets(_ text: Bytes) throws(Refusal) -> [WriteBudget] {
        var budgets: [WriteBudget] = []
        try forEachMember(of: text, "diskWrites") { (group, value) throws(Refusal) in
            guard group == "stores" || group == "clients" else {
                throw Refusal(description: "unknown key \"\(group)\" in diskWrites; known are stores, clients")
            }
            try forEachMember(of: value, "diskWrites.\(group)") { (name, value) throws(Refusal) in
                let place = "diskWrites.\(group).\(name)"
                budgets.append(try budget(target(name, isStore: group == "stores", place), value, place))
            }
        }
        guard budgets.count <= budgetLimit else {
            throw Refusal(description: "diskWrites: more than \(budgetLimit) budgets")
        }
        return budgets
    }

    private static func target(_ name: String, isStore: Bool, _ place: String) throws(Refusal) -> WriteBudget.Target {
        guard isStore else {
            guard (1...WireLimits.clientBytes + 1 + WireLimits.versionBytes).contains(name.utf8.count) else {
                throw Refusal(description: "\(place): a client's name has 1 to \(WireLimits.clientBytes) bytes")
            }
            return .client(Array(name.utf8))
        }
        guard let store = BilledStore.allCases.first(where: { "\($0)" == name }) else {
            throw Refusal(
                description: "\(place): no store; these are \(BilledStore.allCases.map(\.description).joinedByCommas)")
        }
        return .store(store)
    }

    private static func budget(_ target: WriteBudget.Target, _ text: Bytes, _ place: String) throws(Refusal)
        -> WriteBudget
    {
        var bytes: Int?
        var throttles = false
        try forEachMember(of: text, place) { (name, value) throws(Refusal) in
            switch name {
            case "diskWriteBudget": bytes = try number("\(place).diskWriteBudget", value, budgetRange)
            case "throttle":
                guard value.equals("true") || value.equals("false") else {
                    throw Refusal(description: "\(place).throttle is true or false")
                }
                throttles = value.equals("true")
            default:
                throw Refusal(
                    description: "unknown key \"\(name)\" in \(place); known are diskWriteBudget, throttle")
            }
        }
        guard let bytes else { throw Refusal(description: "\(place): diskWriteBudget is missing") }
        if throttles, case .store = target {
            throw Refusal(description: "\(place).throttle: clients are throttled, and no stores")
        }
        return WriteBudget(target, bytesPerDay: bytes, throttles: throttles)
    }

    private static func forEachMember(
        of text: Bytes, _ place: String, _ body: (String, Bytes) throws(Refusal) -> Void
    ) throws(Refusal) {
        guard text.first == UInt8(ascii: "{") else { throw Refusal(description: "\(place) is an object") }
        var walk = JSONWalk(text, storage: WalkStorage())
        while let (name, value) = walk.nextMember() { try body(String(decoding: name, as: UTF8.self), value) }
    }
}
