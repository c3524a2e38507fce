import Glibc
import KuraBytes
import KuraProtocol
import KuraStorage

/// Settings that the host's administrator has fixed, as a file tells them:
///
///     {"domain": {"key": {"value": …, "reason": "…"}}}
///
/// Every lock has a reason, which is shown to whoever tries to write. Read whole, never changed.
struct SettingsLocks: Sendable {
    /// By domain; the reason is the table's.
    private(set) var domains: [[UInt8]: LayerTable] = [:]

    /// Bytes of the file.
    static let fileLimit = 1 << 20
    /// Bytes of a reason.
    static let reasonLimit = 1024

    init() {}

    /// - Throws: what is wrong with the file, for the operator; names of settings are told, values never.
    init(file path: String) throws(Configuration.Refusal) {
        do throws(Configuration.Refusal) {
            let text = try Configuration.trustedContents(of: path)
            try text.withBytes { (text) throws(Configuration.Refusal) in
                try read(text)
            }
        } catch { throw Configuration.Refusal(error, of: "settingsLocks: \(path)") }
    }

    init(text: [UInt8]) throws(Configuration.Refusal) {
        try text.withBytes { (text) throws(Configuration.Refusal) in
            try read(text)
        }
    }

    subscript(domain: Bytes) -> LayerTable? { domains.isEmpty ? nil : domains[Array(domain)] }

    /// How many settings are locked.
    var count: Int { domains.values.reduce(0) { $0 + $1.count } }

    private mutating func read(_ text: Bytes) throws(Configuration.Refusal) {
        guard text.count <= Self.fileLimit else {
            throw Configuration.Refusal(description: "more than \(Self.fileLimit) bytes")
        }
        let compact = try Configuration.checkedObject(text)
        try compact.withBytes { (text) throws(Configuration.Refusal) in
            try Self.forEachMember(text, "the file") { (domain, keys) throws(Configuration.Refusal) in
                let name = try Self.name(domain, limit: WireLimits.scopeBytes, "a domain")
                var items: [LayerTable.Item] = []
                try Self.forEachMember(keys, name) { (key, lock) throws(Configuration.Refusal) in
                    items.append(try Self.item(key, lock, of: name))
                }
                domains[Array(domain)] = LayerTable(items)
            }
        }
    }

    private static func item(
        _ key: Bytes, _ lock: Bytes, of domain: String
    ) throws(Configuration.Refusal) -> LayerTable.Item {
        let place = domain + "/" + (try name(key, limit: WireLimits.keyBytes, "a key of \(domain)"))
        var value: [UInt8]?
        var reason: [UInt8]?
        try forEachMember(lock, place) { (member, text) throws(Configuration.Refusal) in
            switch String(decoding: member, as: UTF8.self) {
            case "value": value = Array(text)
            case "reason":
                let storage = WalkStorage()
                // The bytes may lie in the storage.
                reason = withExtendedLifetime(storage) { JSONWalk.string(text, storage: storage).map(Array.init) }
                guard let reason, !reason.isEmpty, reason.count <= Self.reasonLimit else {
                    throw Configuration.Refusal(
                        description: "\(place): reason is a string of 1 to \(Self.reasonLimit) bytes")
                }
            default:
                throw Configuration.Refusal(description: "\(place): a lock has value and reason, and nothing else")
            }
        }
        guard let value, value.count <= WireLimits.settingsValueBytes else {
            throw Configuration.Refusal(description: "\(place): value is missing or too large")
        }
        guard let reason else { throw Configuration.Refusal(description: "\(place): reason is missing") }
        return LayerTable.Item(key: Array(key), value: value, reason: reason)
    }

    private static func name(
        _ bytes: Bytes, limit: Int, _ what: String
    ) throws(Configuration.Refusal) -> String {
        guard JSONWalk.isName(bytes, limit: limit) else {
            throw Configuration.Refusal(
                description: "\(what) has a name of 1 to \(limit) bytes without control characters")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func forEachMember(
        _ object: Bytes, _ place: String,
        _ body: (Bytes, Bytes) throws(Configuration.Refusal) -> Void
    ) throws(Configuration.Refusal) {
        guard object.first == UInt8(ascii: "{") else {
            throw Configuration.Refusal(description: "\(place) is not a JSON object")
        }
        let storage = WalkStorage()
        var walk = JSONWalk(object, storage: storage)
        while let (name, value) = walk.nextMember() { try body(name, value) }
    }
}
