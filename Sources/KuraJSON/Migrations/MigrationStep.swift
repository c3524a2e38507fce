import KuraBytes

/// One step of a migration. What it does not find, it leaves alone.
public struct MigrationStep: Sendable {
    /// What becomes of a document where something stands already that a value would be moved to.
    enum IfExists: String, CaseIterable {
        /// It stays as it is and is told of.
        case fail
        /// Both stay where they are.
        case keep
        /// What was there goes.
        case replace
    }
    /// What becomes of a value that cannot be converted.
    enum OnFailure: String, CaseIterable {
        /// The document stays as it is and is told of.
        case fail
        case keep, null, remove
    }
    enum Action {
        /// A member gets another name, in its place.
        case rename(FieldPath, to: FieldPath, IfExists)
        /// A value goes somewhere else, as a last member.
        case move(FieldPath, to: FieldPath, IfExists)
        /// What is missing gets a value, JSON text.
        case setDefault(FieldPath, [UInt8])
        case remove(FieldPath)
        case convert(FieldPath, ValueConversion, OnFailure)
    }
    let action: Action

    /// Bytes of a path.
    static let pathBytes = 1024
    private static let words = "a step is one of rename, move, setDefault, remove and convert"

    init(_ value: StoredValue, at place: String) throws(MigrationError) {
        var members = value.members
        guard value.kind == .object, let member = members.next(), members.next() == nil else {
            throw MigrationError(place, Self.words)
        }
        let name = ResolvedText.bytes(member.name).withBytes { String($0) }
        let inner = "\(place)/\(name)"
        switch name {
        case "rename", "move":
            let parts = try Self.parts(member.value, ["from", "to", "ifExists"], needs: 2, at: inner)
            let (from, to) = (
                try Self.path(parts[0]!, at: inner + "/from"), try Self.path(parts[1]!, at: inner + "/to")
            )
            let ifExists = try Self.word(parts[2], IfExists.self, at: inner + "/ifExists") ?? .fail
            guard from != to else { throw MigrationError(inner + "/to", "it is there already") }
            let (old, new) = (from.componentNames, to.componentNames)
            if name == "rename" {
                guard old.dropLast() == new.dropLast() else {
                    throw MigrationError(
                        inner + "/to", "a member is renamed within its object; move takes it elsewhere")
                }
                action = .rename(from, to: to, ifExists)
            } else {
                guard !new.starts(with: old) else {
                    throw MigrationError(inner + "/to", "a value cannot be moved into itself")
                }
                action = .move(from, to: to, ifExists)
            }
        case "setDefault":
            let parts = try Self.parts(member.value, ["path", "value"], needs: 2, at: inner)
            action = .setDefault(try Self.path(parts[0]!, at: inner + "/path"), Array(parts[1]!.text))
        case "remove": action = .remove(try Self.path(member.value, at: inner))
        case "convert":
            let parts = try Self.parts(member.value, ["path", "to", "onFailure"], needs: 2, at: inner)
            guard let type = try Self.word(parts[1], ValueConversion.self, at: inner + "/to") else {
                throw MigrationError(inner, Self.words)
            }
            action = .convert(
                try Self.path(parts[0]!, at: inner + "/path"), type,
                try Self.word(parts[2], OnFailure.self, at: inner + "/onFailure") ?? .fail)
        default: throw MigrationError(place, Self.words)
        }
    }

    /// The members of a step's object by the places of their names; the first `needs` are there.
    private static func parts(
        _ value: StoredValue, _ names: [String], needs: Int, at place: String
    ) throws(MigrationError) -> [StoredValue?] {
        let message = "it has the members \(names.joined(separator: ", "))"
        guard value.kind == .object else { throw MigrationError(place, message) }
        var parts = [StoredValue?](repeating: nil, count: names.count)
        for member in value.members {
            let name = ResolvedText.bytes(member.name).withBytes { String($0) }
            guard let position = names.firstIndex(of: name) else { throw MigrationError(place, message) }
            parts[position] = member.value
        }
        for position in 0..<needs where parts[position] == nil {
            throw MigrationError(place, "\(names[position]) is missing")
        }
        return parts
    }

    private static func path(_ value: StoredValue, at place: String) throws(MigrationError) -> FieldPath {
        guard value.kind == .string else { throw MigrationError(place, "a path is a string") }
        let text = ResolvedText.bytes(value.quoted)
        guard text.count <= pathBytes else { throw MigrationError(place, "a path has at most \(pathBytes) bytes") }
        do throws(FieldPathError) {
            return try text.withBytes { (text) throws(FieldPathError) in try FieldPath(text) }
        } catch { throw MigrationError(place, error.message) }
    }

    private static func word<Word: RawRepresentable<String> & CaseIterable>(
        _ value: StoredValue?, _: Word.Type, at place: String
    ) throws(MigrationError) -> Word? {
        guard let value else { return nil }
        let text = value.kind == .string ? ResolvedText.bytes(value.quoted).withBytes { String($0) } : ""
        guard let word = Word(rawValue: text) else {
            throw MigrationError(place, "one of \(Word.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return word
    }
}
