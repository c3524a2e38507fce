import JSONSchema
import KuraBytes
import KuraProtocol
import KuraStorage

/// Holds all settings of a domain against a schema that is to be theirs, a slice of time after the other, so that a large
/// domain does not hold up the loop. It belongs to the connection that asks, between the turns in which its request is begun
/// again.
///
/// It walks in the order of keys. What changes meanwhile is walked over again, by revision, until a walk has gone through in
/// one turn: then nothing can have slipped in between, and the caller applies the schema in that very turn. After three
/// walks the next one goes through whatever it takes; it only looks at what has changed since the last began.
final class SchemaCheck {
    /// Nanoseconds of one slice.
    static let slice: UInt64 = 500_000
    /// Violations after which it looks no further.
    static let limit = 1000

    let domain: [UInt8]
    let text: [UInt8]
    let rules: DomainRules
    private var found: [[UInt8]: SettingViolation] = [:]
    private var isUnderWay = false
    private var cursor: [UInt8]?
    /// Up to this revision everything has been checked.
    private var checkedRev: UInt64 = 0
    private var nextCheckedRev: UInt64 = 0
    private var walks = 0

    /// `text`: of the schema.
    init(domain: Bytes, text: Bytes, mode: SchemaMode) throws(SchemaError) {
        self.domain = Array(domain)
        self.text = Array(text)
        rules = try DomainRules(text, mode: mode)
    }

    func isOf(_ domain: Bytes, _ text: Bytes, _ mode: SchemaMode) -> Bool {
        rules.mode == mode && self.domain.withBytes { $0.equals(domain) }
            && self.text.withBytes { $0.equals(text) }
    }

    /// Goes on for a slice, or to the end.
    /// - Returns: whether it is through, and holds for this very moment.
    func advance(_ storage: isolated Storage, toEnd: Bool) -> Bool {
        let deadline = storage.clock.deadline(after: Self.slice)
        while true {
            let beginsHere = !isUnderWay
            if beginsHere {
                isUnderWay = true
                cursor = nil
                walks += 1
                // Revisions above may be taken back with their turn, and given out again.
                nextCheckedRev = storage.committedRev
            }
            guard walk(storage, until: toEnd || walks > 3 ? nil : deadline) else { return false }
            isUnderWay = false
            checkedRev = nextCheckedRev
            if beginsHere || found.count >= Self.limit { return true }
        }
    }

    private func walk(_ storage: isolated Storage, until deadline: Deadline?) -> Bool {
        var isLate = false
        var work = 0
        _ = domain.withBytes { domain in
            storage.settings.list(domain, prefix: Bytes(), afterKey: cursor) { item in
                work += 64
                if item.rev > checkedRev {
                    check(item.key, item.value)
                    work += 512 + item.value.count
                }
                guard found.count < Self.limit else { return false }
                if work >= 16_384 {
                    work = 0
                    if deadline?.isOver == true {
                        cursor = Array(item.key)
                        isLate = true
                        return false
                    }
                }
                return true
            }
        }
        return !isLate
    }

    private func check(_ key: Bytes, _ value: Bytes) {
        let name = Array(key)
        if let violation = rules.violation(key, value) {
            found[name] = SettingViolation(key: String(decoding: key, as: UTF8.self), violation)
        } else if !found.isEmpty {
            found[name] = nil
        }
    }

    /// What breaks the schema, in the order of the keys' bytes, and what of the domain's defaults does.
    func violations(registered: LayerTable?, _ storage: isolated Storage) -> [SettingViolation] {
        var result: [SettingViolation] = []
        for key in found.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            // It may have been deleted since it was looked at.
            let isThere = domain.withBytes { domain in
                key.withBytes { storage.settings.get(domain, $0).item != nil }
            }
            if isThere, let violation = found[key] { result.append(violation) }
        }
        for (layer, table) in [(Layer.registered, registered), (Layer.schema, rules.defaults)] {
            guard let table else { continue }
            var text = ByteBuffer()
            table.appendObject(to: &text)
            for violation in rules.violations(of: text.bytes, upTo: Call.violationLimit) {
                result.append(SettingViolation(in: violation, layer: layer))
            }
        }
        return result
    }
}
