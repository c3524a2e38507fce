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
        default: throw Refusal(description: "unknown key \"\(name)\" in backups; known are every, keep")
        }
    }

    /// Takes in a member of `checks`.
    mutating func takeChecks(_ name: String, _ value: Bytes) throws(Refusal) {
        guard name == "every" else { throw Refusal(description: "unknown key \"\(name)\" in checks; known is every") }
        let isNever = try Self.text("checks.every", value) == "never"
        checkEvery = try isNever ? 0 : Self.interval("checks.every", value)
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
