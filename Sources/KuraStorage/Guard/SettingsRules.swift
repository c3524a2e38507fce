import JSONSchema
import KuraBytes
import KuraProtocol

extension RecordRules {
    static var ofSettings: RecordRules { RecordRules(isConfigured: ConfiguredValue.isFit(setting:_:)) }
}

extension ConfiguredValue {
    fileprivate static func isFit(setting key: String, _ value: Bytes) -> Bool? {
        switch key {
        case text(ConfigurationStore.defaults): isDefaults(value)
        case text(ConfigurationStore.schema): isSchema { () throws(SchemaError) in try StoredSchema.ofDomain(value) }
        default: isFitAnywhere(key, value)
        }
    }

    private static func isDefaults(_ value: Bytes) -> Bool {
        guard value.first == UInt8(ascii: "{") else { return false }
        var walk = JSONWalk(value, storage: WalkStorage())
        var count = 0
        while let (key, _) = walk.nextMember() {
            count += 1
            guard JSONWalk.isName(key, limit: WireLimits.keyBytes), count <= WireLimits.listItems else { return false }
        }
        return true
    }
}
