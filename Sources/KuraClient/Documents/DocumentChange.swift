import KuraProtocol

/// How one JSON object becomes another: which of its members get other values, and which go.
///
/// Two changes that name different members do not disturb each other. What neither object has (a member that only another
/// version of the application knows) stays as it is in the daemon's document.
struct DocumentChange: Sendable {
    /// Past this many members the document is sent whole.
    static let mostMembers = 500

    private(set) var changed: [(name: String, value: [UInt8])] = []
    private(set) var removed: [String] = []

    /// - Returns: nil when one of the texts is no object, so that the other takes its place whole.
    init?(from old: [UInt8], to new: [UInt8]) {
        guard let old = JSONObject(old), let new = JSONObject(new) else { return nil }
        let before = Dictionary(old.entries.map { ($0.name, $0.value) }, uniquingKeysWith: { _, last in last })
        var kept: Set<String> = []
        for (name, value) in new.entries {
            kept.insert(name)
            if before[name] != value { changed.append((name, value)) }
        }
        removed = old.names.filter { !kept.contains($0) }
    }

    var isEmpty: Bool { changed.isEmpty && removed.isEmpty }

    /// The members that it is about.
    var names: Set<String> { Set(changed.map(\.name)).union(removed) }

    /// Whether both can be made, in any order, with the same outcome.
    func isDisjoint(from other: DocumentChange) -> Bool { names.isDisjoint(with: other.names) }

    /// Members that both make the same of.
    func agreeing(with other: DocumentChange) -> Set<String> {
        let theirs = Dictionary(other.changed.map { ($0.name, $0.value) }, uniquingKeysWith: { _, last in last })
        return Set(changed.filter { theirs[$0.name] == $0.value }.map(\.name))
            .union(Set(removed).intersection(other.removed))
    }

    /// The same but for these members.
    func without(_ names: Set<String>) -> DocumentChange {
        var rest = self
        rest.changed.removeAll { names.contains($0.name) }
        rest.removed.removeAll { names.contains($0) }
        return rest
    }

    /// The operations of a JSON Patch (RFC 6902). `present`: what of `removed` is there, when that is known: removing what is not
    /// there would fail the patch.
    func jsonPatch(present: Set<String>) -> [UInt8] {
        var operations: [[UInt8]] = []
        for name in removed where present.contains(name) {
            var operation = ParameterText()
            operation.add("op", "remove")
            operation.add("path", Self.pointer(name))
            operations.append(operation.object)
        }
        for (name, value) in changed {
            var operation = ParameterText()
            operation.add("op", "add")
            operation.add("path", Self.pointer(name))
            operation.add("value", json: value)
            operations.append(operation.object)
        }
        return JSONElements.array(operations)
    }

    /// The object with this change made; nil when `text` is no object.
    func applied(to text: [UInt8]) -> [UInt8]? {
        guard let object = JSONObject(text) else { return nil }
        var result = ParameterText()
        let gone = Set(removed)
        var new = Dictionary(changed.map { ($0.name, $0.value) }, uniquingKeysWith: { _, last in last })
        for (name, value) in object.entries where !gone.contains(name) {
            result.add(name, json: new.removeValue(forKey: name) ?? value)
        }
        for (name, value) in changed where new[name] != nil { result.add(name, json: value) }
        return result.object
    }

    /// One name as a JSON pointer (RFC 6901).
    static func pointer(_ name: String) -> String {
        "/" + name.replacing("~", with: "~0").replacing("/", with: "~1")
    }
}
