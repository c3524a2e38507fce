import KuraBytes
import KuraProtocol

/// What a store's records have to be where that is more, or less, than names and one line of JSON: its part in what `RecordGuard` judges.
struct RecordRules: Sendable {
    /// `isKnownOnly`: what this version does not know is refused.
    var isScope: @Sendable (_ scope: Bytes, _ isKnownOnly: Bool) -> Bool = { (scope, _) in
        JSONWalk.isName(scope, limit: WireLimits.scopeBytes)
    }
    var isKey: @Sendable (_ key: Bytes) -> Bool = { JSONWalk.isName($0, limit: WireLimits.keyBytes) }
    /// Of a value that is not sealed.
    var check: @Sendable (_ record: BackupRecord, _ isKnownOnly: Bool) throws(RecordUnfit) -> Void = {
        (_, _) throws(RecordUnfit) in
    }
    /// Whether something may be configured under a key for its scopes; nil for a key that it does not know.
    var isConfigured: @Sendable (_ key: String, _ value: Bytes) -> Bool? = ConfiguredValue.isFitAnywhere
}
