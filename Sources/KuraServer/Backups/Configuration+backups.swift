import KuraBytes
import KuraProtocol
import KuraStorage

extension Configuration {
    /// Takes in a member of `backups`.
    mutating func takeBackups(_ name: String, _ value: Bytes) throws(Refusal) {
        switch name {
        case "every": backupsEvery = try Self.interval("backups.every", value)
        case "keep":
            guard value.first == UInt8(ascii: "{") else { throw Refusal(description: "backups.keep is an object") }
            var walk = JSONWalk(value, storage: WalkStorage())
            while let (name, value) = walk.nextMember() {
                let name = String(decoding: name, as: UTF8.self)
                let count = try Self.number("backups.keep.\(name)", value, 0...10_000)
                switch name {
                case "hourly": backupsKeep.hourly = count
                case "daily": backupsKeep.daily = count
                case "weekly": backupsKeep.weekly = count
                default:
                    throw Refusal(
                        description: "unknown key \"\(name)\" in backups.keep; known are hourly, daily, weekly")
                }
            }
        case "recipients": backupsRecipients = try Self.recipients(value)
        default:
            throw Refusal(description: "unknown key \"\(name)\" in backups; known are every, keep, recipients")
        }
    }

    /// Takes in a member of `checks`.
    mutating func takeChecks(_ name: String, _ value: Bytes) throws(Refusal) {
        guard name == "every" else { throw Refusal(description: "unknown key \"\(name)\" in checks; known is every") }
        let isNever = try Self.text("checks.every", value) == "never"
        checkEvery = try isNever ? 0 : Self.interval("checks.every", value)
    }

    /// X25519 public keys, base64.
    private static func recipients(_ value: Bytes) throws(Refusal) -> [[UInt8]] {
        guard value.first == UInt8(ascii: "[") else { throw Refusal(description: "backups.recipients is an array") }
        var walk = JSONWalk(value, storage: WalkStorage())
        var keys: [[UInt8]] = []
        while let element = walk.nextElement() {
            let text = Array(try text("backups.recipients", element).utf8)
            var key = ByteBuffer()
            let isKey = text.withBytes { Base64.decode($0, into: &key) }
            guard isKey, key.count == 32, BackupLocks.isUsable(Array(key.bytes)) else {
                throw Refusal(description: "backups.recipients are X25519 public keys: 32 bytes as base64 each")
            }
            keys.append(Array(key.bytes))
        }
        guard 1...32 ~= keys.count else {
            throw Refusal(description: "backups.recipients: 1 to 32 of them; leave the key out to encrypt nothing")
        }
        return keys
    }

    /// Seconds of a time such as `90s`, `15m`, `6h`, `1d`: a second to a year.
    static func interval(_ name: String, _ value: Bytes) throws(Refusal) -> Int {
        let text = try text(name, value)
        let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        guard let unit = text.last.flatMap({ units[$0] }), let count = Int(text.dropLast()), count > 0,
            count <= 366 * 86_400 / unit
        else { throw Refusal(description: "\(name) is a time such as \"15m\", \"6h\" or \"1d\"") }
        return count * unit
    }
}
