import KuraBytes
import KuraJSON
import KuraProtocol

extension RecordRules {
    static var ofRequests: RecordRules {
        RecordRules(
            isScope: { (user, _) in UInt32(String(user)) != nil },
            isKey: { key in
                // A role stands behind a control character.
                let parts = key.split(separator: 0x1F, maxSplits: 1, omittingEmptySubsequences: false)
                return !parts.isEmpty
                    && parts.allSatisfy { JSONWalk.isName(Bytes(rebasing: $0), limit: WireLimits.keyBytes) }
                    && parts[0].count <= RequestKeys.keyLimit
            },
            check: { (record, _) throws(RecordUnfit) in
                // `["digest","method",result]`, or without the digest.
                let elements = Array(StoredValue(record.value).elements)
                guard 2...3 ~= elements.count, elements.dropLast().allSatisfy({ $0.kind == .string }) else {
                    throw RecordUnfit("it is no result of a request")
                }
            })
    }
}
