import KuraBytes
import KuraProtocol

/// Findings in plain words. They are made of the schema and of places, never of the value.
extension JSONSchema {
    func violation(_ finding: Finding, in value: TapeView) -> Violation {
        Violation(
            instancePointer: value.pointer(to: finding.instance), keyword: finding.place.keyword.rawValue,
            schemaPointer: tape.pointer(to: finding.place.node), message: message(finding))
    }

    func violation(_ stop: Stop, in value: TapeView) -> Violation {
        let message =
            switch stop.reason {
            case .steps: "checking this takes more steps than one validation may"
            case .depth: "checking this goes through more than \(limits.evaluationDepth) schemas within schemas"
            case .pattern: "holding this against the pattern takes more steps than one validation may"
            case .subject: "a string of more than \(limits.subjectBytes) bytes is not held against a pattern"
            }
        return Violation(
            cause: .tooComplex, instancePointer: value.pointer(to: stop.instance), keyword: stop.place.keyword.rawValue,
            schemaPointer: tape.pointer(to: stop.place.node), message: message)
    }

    private func message(_ finding: Finding) -> String {
        let text = { self.short(finding.place.node) }
        switch finding.place.keyword {
        case .type:
            guard case .types(let types) = finding.detail else { return "is of the wrong type" }
            return "must be of type " + Self.list(types.words, last: "or")
        case .const: return "must be \(text())"
        case .enum: return "must be one of \(options(finding.place.node))"
        case .minimum: return "must be at least \(text())"
        case .maximum: return "must be at most \(text())"
        case .exclusiveMinimum: return "must be more than \(text())"
        case .exclusiveMaximum: return "must be less than \(text())"
        case .multipleOf: return "must be a multiple of \(text())"
        case .minLength: return "must have at least \(text()) characters"
        case .maxLength: return "must have at most \(text()) characters"
        case .pattern: return "must match the pattern \(text())"
        case .minItems: return "must have at least \(text()) items"
        case .maxItems: return "must have at most \(text()) items"
        case .uniqueItems:
            guard case .equal(let first, let second) = finding.detail else { return "must have no equal items" }
            return "must have no equal items; \(first) and \(second) are equal, counted from 0"
        case .contains: return "must have an item that contains asks for"
        case .minProperties: return "must have at least \(text()) members"
        case .maxProperties: return "must have at most \(text()) members"
        case .required, .dependencies:
            guard case .missing(let name) = finding.detail else { return "must not be here" }
            let reason = finding.place.keyword == .required ? "" : ", because of another that it has"
            return "must have the member \(short(name))" + reason
        case .anyOf: return "must match at least one of the schemas"
        case .oneOf:
            guard case .matches(let count, let all) = finding.detail, count > 0 else {
                return "must match one of the schemas, and matches none"
            }
            return "must match exactly one of the \(all) schemas, and matches \(count)"
        case .not: return "must not match this schema"
        case .additionalProperties: return "is no member that the schema knows"
        case .additionalItems: return "is an item too many"
        case .propertyNames: return "no member may have this name"
        default: return "must not be here"
        }
    }

    /// A part of the schema, cut when it is long.
    private func short(_ node: Int32) -> String {
        let source = tape.source(node)
        guard source.count > 80 else { return String(decoding: source, as: UTF8.self) }
        // Cut between characters: a continuation byte never comes first.
        var end = 77
        while end > 0, source[end] & 0xC0 == 0x80 { end -= 1 }
        return String(decoding: source[..<end], as: UTF8.self) + "…"
    }

    private func options(_ node: Int32) -> String {
        let count = Int(tape[node].count)
        guard count <= 8 else { return "\(count) listed values" }
        var values: [String] = []
        var at = node + 1
        while at < tape[node].next {
            values.append(short(at))
            at = tape[at].next
        }
        return Self.list(values, last: "or")
    }

    private static func list(_ words: [String], last: String) -> String {
        guard words.count > 1 else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " \(last) " + words[words.count - 1]
    }
}
