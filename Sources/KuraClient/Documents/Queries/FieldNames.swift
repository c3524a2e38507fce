import Synchronization

/// What the properties of a model are called in its documents, found out without anything on the model.
///
/// Key paths have no names that could be relied on (coding keys may be others), but they read values. So the model is decoded
/// some times from a decoder that gives every field a value of its own (`FieldProbe`), and a key path leads to the field whose
/// values it reads, each time. What reads none of them (a computed property), or those of two, is refused, never guessed.
final class FieldNames: Sendable {
    private let typeName: String
    private let make: (@Sendable () -> FieldProbe)?
    private let probe: Mutex<FieldProbe?> = Mutex(nil)

    private init(typeName: String, make: (@Sendable () -> FieldProbe)?) {
        self.typeName = typeName
        self.make = make
    }

    private static let known: Mutex<[ObjectIdentifier: FieldNames]> = Mutex([:])

    /// Nothing is known: for fields whose names were given.
    static let none = FieldNames(typeName: "", make: nil)

    /// Those of a type; found out when they are first asked for, once a process unless there is an `example`.
    /// `example`: where a field cannot be made up (an enum of texts that does not list its cases), its value is taken from there.
    static func of<Model: Codable & Sendable>(_ type: Model.Type, example: Model?) -> FieldNames {
        let make: @Sendable () -> FieldProbe = { FieldProbe(type, example: example) }
        if example != nil { return FieldNames(typeName: "\(type)", make: make) }
        return known.withLock { known in
            if let names = known[ObjectIdentifier(type)] { return names }
            let names = FieldNames(typeName: "\(type)", make: make)
            known[ObjectIdentifier(type)] = names
            return names
        }
    }

    /// Where a key path leads.
    /// - Parameters:
    ///   - member: a key path from the model, or from the value of `prefix`.
    ///   - prefix: the field whose value the key path starts from, in the daemon's notation; nil for the whole model.
    /// - Returns: the field in the daemon's notation.
    func path(of member: AnyKeyPath, under prefix: Result<String, KuraError>?) -> Result<String, KuraError> {
        let start: String
        switch prefix {
        case nil: start = ""
        case .failure(let error): return .failure(error)
        case .success(let path): start = path
        }
        let found = find { $0.path(of: member, under: start) }
        switch found {
        case .success(let path): return .success(path)
        case .failure(let fault):
            let name = Self.spelled(member)
            // Of a text or a list only its contents are stored.
            let told =
                type(of: member).rootType is any Collection.Type && fault.isNoField
                ? FieldProbe.Fault(
                    reason: "no query can ask for what is worked out from a text or a list (count, isEmpty, first)",
                    advice: "store it in a property of its own")
                : fault
            let place = start.isEmpty ? typeName : "\(start) of \(typeName)"
            return .failure(.unknownField("\(name) of \(place): \(told.reason); \(told.advice)"))
        }
    }

    /// A key path without the address that its description has for what is computed.
    private static func spelled(_ member: AnyKeyPath) -> String {
        var text = "\(member)"
        while let start = text.firstRange(of: " 0x")?.lowerBound {
            let end = text[start...].dropFirst(3).firstIndex { !$0.isHexDigit } ?? text.endIndex
            text.removeSubrange(start..<end)
        }
        return text
    }

    /// Whether a field is the model's id.
    func isID(_ path: Result<String, KuraError>) -> Bool {
        guard case .success(let path) = path else { return false }
        return look { $0.idPath } == path
    }

    /// Whether the model's id is encoded as a text, so that the daemon's ids have its order.
    var idIsText: Bool { look { $0.idIsText } ?? false }

    /// - Returns: nil when names are given by hand only.
    private func look<Found: Sendable>(_ body: (FieldProbe) -> Found?) -> Found? {
        guard let make else { return nil }
        return probe.withLock { probe in
            let known = probe ?? make()
            probe = known
            return body(known)
        }
    }

    private func find(_ body: (FieldProbe) -> Result<String, FieldProbe.Fault>) -> Result<String, FieldProbe.Fault> {
        look(body)
            ?? .failure(.init(reason: "its name was given by hand", advice: "give the whole path by hand: \"a.b\""))
    }

    /// A path with one more name.
    static func path(_ prefix: String, _ name: String) -> String {
        var escaped = name.replacing("\\", with: "\\\\").replacing(".", with: "\\.")
        if prefix.isEmpty, escaped.hasPrefix("$") { escaped = "\\" + escaped }
        return prefix.isEmpty ? escaped : prefix + "." + escaped
    }
}
