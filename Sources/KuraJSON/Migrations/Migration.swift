public import KuraBytes

/// What makes documents of one version into those of the next: a list of steps, taken in their order.
///
/// `{"to":2,"steps":[{"rename":{"from":"a","to":"b"}},{"move":{"from":"a.b","to":"c","ifExists":"replace"}},
/// {"setDefault":{"path":"n","value":0}},{"remove":"old"},{"convert":{"path":"n","to":"integer","onFailure":"null"}}]}`
public struct Migration: Sendable {
    /// The version that it leads to, from the one before.
    public let version: Int
    public let steps: [MigrationStep]
    /// The text of its steps, a list.
    public let stepsText: [UInt8]

    /// Versions of a collection.
    public static let versions = 1...0x7FFF_FFFF
    /// Most migrations of a list, and steps of one.
    public static let limit = 256
    public static let stepLimit = 256

    /// The migrations of a list's text: checked JSON without white space.
    /// - Throws: for what is no migration, and versions that do not rise.
    public static func list(_ text: Bytes) throws(MigrationError) -> [Migration] {
        guard text.first == UInt8(ascii: "[") else { throw MigrationError("", "migrations are a list") }
        var list: [Migration] = []
        for element in StoredValue(text).elements {
            let place = "/\(list.count)"
            guard list.count < limit else { throw MigrationError(place, "at most \(limit) migrations at a time") }
            let migration = try Migration(element, at: place)
            if let last = list.last, migration.version <= last.version {
                throw MigrationError(
                    place + "/to",
                    migration.version == last.version
                        ? "two migrations lead to version \(last.version)" : "migrations stand in the order of versions"
                )
            }
            list.append(migration)
        }
        return list
    }

    /// `place`: where it stands, as a JSON pointer.
    public init(_ value: StoredValue, at place: String) throws(MigrationError) {
        guard value.kind == .object else { throw MigrationError(place, "a migration is an object with to and steps") }
        var version: Int?
        var list: StoredValue?
        for member in value.members {
            switch ResolvedText.bytes(member.name).withBytes({ String($0) }) {
            case "to":
                guard member.value.kind == .number, let number = Int(String(member.value.text)), number > 1,
                    Self.versions.contains(number)
                else {
                    throw MigrationError(place + "/to", "a version to migrate to is a whole number of 2 to 2^31 - 1")
                }
                version = number
            case "steps":
                guard member.value.kind == .array else { throw MigrationError(place + "/steps", "steps are a list") }
                list = member.value
            // With what is kept: the revision that began it.
            case "rev": break
            default: throw MigrationError(place, "members of a migration are to and steps")
            }
        }
        guard let version else { throw MigrationError(place, "a migration has a version that it leads to, to") }
        guard let list else { throw MigrationError(place, "a migration has steps") }
        var steps: [MigrationStep] = []
        for element in list.elements {
            let place = "\(place)/steps/\(steps.count)"
            guard steps.count < Self.stepLimit else {
                throw MigrationError(place, "a migration has at most \(Self.stepLimit) steps")
            }
            steps.append(try MigrationStep(element, at: place))
        }
        self.version = version
        self.steps = steps
        stepsText = Array(list.text)
    }
}
