import JSONSchema
import KuraBytes
import KuraProtocol
import KuraStorage

/// The schema of a domain: what its settings may be, and their last defaults.
///
/// It is a JSON Schema of the domain as an object whose members are the settings: `properties` describe them by key,
/// `patternProperties` by pattern, `additionalProperties` those that neither names. Settings are written one by one, so only
/// what speaks of single settings may stand at the top (`StoredSchema`): `required`, `minProperties`, `allOf` and the like are refused there.
final class DomainRules {
    let mode: SchemaMode
    let schema: JSONSchema
    /// The defaults of the top-level properties.
    let defaults: LayerTable
    /// All top-level properties; the values are empty.
    let names: LayerTable
    private var instance = ByteBuffer()

    /// `text`: the schema's JSON text.
    init(_ text: Bytes, mode: SchemaMode) throws(SchemaError) {
        schema = try StoredSchema.ofDomain(text)
        self.mode = mode
        let properties = schema.properties
        defaults = LayerTable(
            properties.compactMap { property in
                property.defaultText.map { text in
                    // As it stands in the schema, which may have white space.
                    var compact = ByteBuffer()
                    text.withBytes { JSONText.compact($0, into: &compact) }
                    return LayerTable.Item(key: Array(property.name.utf8), value: Array(compact.bytes))
                }
            })
        names = LayerTable(properties.map { LayerTable.Item(key: Array($0.name.utf8), value: []) })
    }

    /// How one setting breaks the schema; `instancePointer` is the place in its value.
    func violation(_ key: Bytes, _ value: Bytes) -> Violation? {
        instance.removeAll()
        instance.openObject()
        instance.append(key: key, json: value)
        instance.closeObject()
        defer { if instance.capacity > 65_536 { instance.releaseMemory() } }
        guard var violation = schema.validate(instance.bytes) else { return nil }
        violation.instancePointer = Self.split(violation.instancePointer).inside
        return violation
    }

    /// How the members of an object's text break the schema, as settings; at most `count`.
    func violations(of object: Bytes, upTo count: Int) -> [Violation] { schema.violations(of: object, upTo: count) }

    /// The key that a pointer into the domain names, and the pointer within its value.
    static func split(_ pointer: String) -> (key: String, inside: String) {
        let tail = pointer.dropFirst()
        guard let slash = tail.firstIndex(of: "/") else { return (unescaped(tail), "") }
        return (unescaped(tail[..<slash]), String(tail[slash...]))
    }

    private static func unescaped(_ token: Substring) -> String {
        String(token).replacing("~1", with: "/").replacing("~0", with: "~")
    }
}

/// A violation, and whose it is.
struct SettingViolation {
    var key: String
    var path: String
    var message: String
    /// Where the value stands, when it is not the application's own.
    var layer: Layer?

    init(key: String, _ violation: Violation, layer: Layer? = nil) {
        self.key = key
        path = violation.instancePointer
        message = violation.message
        self.layer = layer
    }

    /// Of a violation in a whole domain.
    init(in domain: Violation, layer: Layer? = nil) {
        let (key, inside) = DomainRules.split(domain.instancePointer)
        self.key = key
        path = inside
        message = domain.message
        self.layer = layer
    }
}

extension Call {
    /// Violations that a reply tells of at most.
    static let violationLimit = 100

    /// Holds a value that is to be written against the domain's schema.
    /// - Returns: what the reply warns of.
    /// - Throws: `schemaViolation`, when the schema is enforced.
    func check(_ layers: DomainLayers?, _ key: Bytes, _ value: Bytes) throws(Refusal) -> Violation? {
        // One that is too large is refused by the store, and costs nothing here.
        guard let rules = layers?.rules, rules.mode != .off, value.count <= SettingsStore.valueLimit,
            let violation = rules.violation(key, value)
        else { return nil }
        if rules.mode == .enforce { throw violates(violation) }
        return violation
    }

    /// Holds several values, an object's text, against the domain's schema.
    func check(_ layers: DomainLayers?, all object: Bytes) throws(Refusal) -> [SettingViolation] {
        guard let rules = layers?.rules, rules.mode != .off else { return [] }
        let violations = rules.violations(of: object, upTo: rules.mode == .enforce ? 1 : Self.violationLimit)
        if rules.mode == .enforce, let first = violations.first { throw violates(first) }
        return violations.map { SettingViolation(in: $0) }
    }

    func violates(_ violation: Violation, beneath prefix: String = "") -> Refusal {
        .error(errorTexts.fault(.schemaViolation, path: prefix + violation.instancePointer, violation.message))
    }

    /// The member `warning` when there is one.
    func append(warning: Violation?, to out: inout ByteBuffer) {
        guard let warning else { return }
        out.openObject(.warning)
        out.append(.path, warning.instancePointer)
        out.append(.message, warning.message)
        out.closeObject()
    }

    /// The member `warnings` when there are any.
    func append(warnings: [SettingViolation], to out: inout ByteBuffer) {
        if !warnings.isEmpty { append(violations: warnings, named: .warnings, to: &out) }
    }

    func append(violations: [SettingViolation], named name: ListMember, to out: inout ByteBuffer) {
        out.openList(name)
        for violation in violations.prefix(Self.violationLimit) {
            out.openObject()
            out.append(.key, violation.key)
            out.append(.path, violation.path)
            out.append(.message, violation.message)
            if let layer = violation.layer { out.append(.layer, word: layer.word) }
            out.closeObject()
        }
        out.closeList()
    }
}
