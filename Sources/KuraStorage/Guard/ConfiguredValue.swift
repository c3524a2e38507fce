import JSONSchema
public import KuraBytes
import KuraJSON
import KuraProtocol

/// What may be configured for a scope, by the key of the item: the one place for who configures and for records of files.
public enum ConfiguredValue {
    /// Days that something is kept; nil when the text is no such number.
    public static func days(_ text: Bytes) -> Int64? {
        JSONNumber.integer(text).flatMap { WireLimits.days.contains($0) ? $0 : nil }
    }

    /// Seconds after which a relaxed change is synced; nil when the text is no such number.
    static func flushSeconds(_ text: Bytes) -> Int? {
        JSONNumber.integer(text).flatMap { WireLimits.flushSeconds.contains($0) ? Int($0) : nil }
    }

    /// The whole number that a text is, written as a daemon writes it.
    static func written(_ text: Bytes) -> Int64? {
        JSONNumber.integer(text).flatMap { text.elementsEqual(String($0).utf8) ? $0 : nil }
    }

    // MARK: Scopes

    /// The rooms that something is configured for.
    private static let rooms = Store.all(.configurable)

    /// Whether items can lie there: a room and the name of one of its scopes, or what is about the storage itself.
    static func isScope(_ scope: Bytes, isKnownOnly: Bool) -> Bool {
        guard let slash = scope.firstIndex(of: UInt8(ascii: "/")) else {
            return isKnownOnly
                ? scope.elementsEqual(RelaxedDurability.scopeName)
                : JSONWalk.isName(scope, limit: WireLimits.scopeBytes)
        }
        guard JSONWalk.isName(scope.extracting(slash + 1..<scope.count), limit: WireLimits.scopeBytes) else {
            return false
        }
        let room = scope.extracting(0..<slash)
        return rooms.contains { room.elementsEqual($0.roomName.utf8) }
            || !isKnownOnly && JSONWalk.isName(room, limit: WireLimits.scopeBytes)
    }

    private static func room(_ scope: Bytes) -> Store? {
        rooms.first { scope.starts(with: Array(($0.roomName + "/").utf8)) }
    }

    // MARK: Items

    /// Holds a value that is known to be one line of JSON against what its key wants.
    /// `isKnownOnly`: a key that this version does not know is refused; else nobody reads it.
    static func check(
        _ value: Bytes, of scope: Bytes, _ key: Bytes, isKnownOnly: Bool
    ) throws(RecordUnfit) {
        let name = String(key)
        let fits =
            if let room = room(scope) { room.parts.rules.isConfigured(name, value) } else {
                isFit(storage: name, value, scope)
            }
        guard let fits else {
            guard isKnownOnly else { return }
            throw RecordUnfit("nothing is configured under '\(ShownName.text(key))'")
        }
        guard fits else { throw RecordUnfit("its \(name) is not what can be configured") }
    }

    static func isFitAnywhere(_ key: String, _ value: Bytes) -> Bool? {
        switch key {
        case text(ConfigurationStore.mode): SchemaMode(value) != nil
        case text(ConfigurationStore.backup): value.equals("true") || value.equals("false")
        case text(ConfigurationStore.durability): written(value) != nil && flushSeconds(value) != nil
        default: nil
        }
    }

    private static func isFit(storage key: String, _ value: Bytes, _ scope: Bytes) -> Bool? {
        guard scope.elementsEqual(RelaxedDurability.scopeName), Array(key.utf8) == RelaxedDurability.key else {
            return nil
        }
        return written(value).map { 0...WireLimits.safeInteger ~= $0 } ?? false
    }

    static func text(_ key: StaticString) -> String { String(Bytes(key)) }

    static func isSchema(_ compile: () throws(SchemaError) -> JSONSchema) -> Bool {
        do throws(SchemaError) { _ = try compile() } catch { return false }
        return true
    }
}
