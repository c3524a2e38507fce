import KuraBytes
import KuraProtocol

extension RecordRules {
    static var ofSecretHeads: RecordRules {
        RecordRules(isKey: { key in
            for prefix in [SecretRecords.inboxPrefix, SecretRecords.lockPrefix] where key.starts(with: Bytes(prefix)) {
                return SecretRecords.number(key, behind: prefix).map { $0 <= RecordGuard.revs.upperBound } ?? false
            }
            return JSONWalk.isName(key, limit: WireLimits.keyBytes)
        })
    }
}
