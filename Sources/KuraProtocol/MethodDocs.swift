/// The method table and the kinds of error as Markdown, for the pages of proto-docs.
///
/// In a page the rendered part stands between `<!-- methods:NAME -->` and `<!-- /methods -->`, where NAME is a store or
/// `errors`; what is written by hand around it stays.
public enum MethodDocs {
    /// A store's methods: what each takes, returns, and can refuse.
    public static func render(store: Method.Store, _ table: MethodTable = .standard) -> String {
        let methods = table.methods.filter { $0.store == store }
        let index =
            ["| method | access | |", "|---|---|---|"]
            + methods.map { method in
                "| [`\(method.name)`](#\(anchor(method.name))) | \(method.access.rawValue) | \(method.summary) |"
            }
        return ([index.joined(separator: "\n")] + methods.map(section)).joined(separator: "\n\n")
    }

    /// Every kind of error: its code, when it comes, whether the same request may succeed later, what to do.
    public static func errors() -> String {
        let index =
            ["| kind | code | message | retryable |", "|---|---|---|---|"]
            + ErrorKind.allCases.map { kind in
                let facts = kind.facts
                return
                    "| [`\(facts.name)`](#\(anchor("\(facts.name)"))) | \(facts.code) | \(facts.message) | \(yesNo(facts.retryable)) |"
            }
        let sections = ErrorKind.allCases.map { kind in
            let facts = kind.facts
            return """
                ### \(facts.name)

                Code \(facts.code), "\(facts.message)". Retryable: \(yesNo(facts.retryable)).

                When: \(facts.when)

                What to do: \(facts.remedy)
                """
        }
        let anywhere = ErrorKind.allCases.filter(\.isAnywhere).map { "`\($0.facts.name)`" }.joined(separator: ", ")
        return
            ([
                index.joined(separator: "\n"),
                "Any request may meet these, also when its method does not list them: \(anywhere).",
            ]
            + sections).joined(separator: "\n\n")
    }

    /// What belongs between the markers that carry `name`; nil when no store is called so, nor is it `errors`.
    public static func render(named name: String) -> String? {
        if name == "errors" { return errors() }
        return Method.Store(rawValue: name).map { render(store: $0) }
    }

    /// The page with everything between its markers rendered anew.
    /// - Returns: nil when a marker is unknown or is not closed.
    public static func refresh(page: String) -> String? {
        var lines: [Substring] = []
        var rest = page.split(separator: "\n", omittingEmptySubsequences: false)[...]
        while let line = rest.popFirst() {
            lines.append(line)
            guard line.hasPrefix(opening), line.hasSuffix(" -->") else { continue }
            guard let rendered = render(named: String(line.dropFirst(opening.count).dropLast(4))),
                let end = rest.firstIndex(of: closing)
            else { return nil }
            lines += [""] + rendered.split(separator: "\n", omittingEmptySubsequences: false) + ["", closing]
            rest = rest[(end + 1)...]
        }
        return lines.joined(separator: "\n")
    }

    private static let opening = "<!-- methods:"
    private static let closing: Substring = "<!-- /methods -->"

    // MARK: Pieces

    private static func section(_ method: Method) -> String {
        var parts = [
            "### \(method.name)", "\(method.summary) Access: \(method.access.rawValue). Needs: \(method.need).",
        ]
        if method.isOutOfBand { parts[1] += " May be answered ahead of requests that came before and wait." }
        if !method.parameters.isEmpty {
            parts.append(fields(method.parameters, headed: "parameter", presence: "required"))
        } else {
            parts.append("No parameters.")
        }
        parts.append(fields(method.result, headed: "result", presence: "always"))
        if !method.errors.isEmpty {
            let links = method.errors.map { "[`\($0.facts.name)`](errors.md#\(anchor("\($0.facts.name)")))" }
            parts.append("Errors: \(links.joined(separator: ", ")).")
        }
        return parts.joined(separator: "\n\n")
    }

    private static func fields(_ fields: [Field], headed: String, presence: String) -> String {
        let lines = fields.flatMap { rows($0, path: $0.name, presence: presence) }
        return (["| \(headed) | type | | |", "|---|---|---|---|"] + lines).joined(separator: "\n")
    }

    /// One row for the field and one for each field inside of it.
    private static func rows(_ field: Field, path: String, presence: String) -> [String] {
        let row = "| `\(path)` | \(describe(field.type)) | \(field.isRequired ? presence : "") | \(field.summary) |"
        return [row]
            + inner(field.type, path: path).flatMap {
                rows($0.field, path: $0.path, presence: field.isRequired ? presence : "")
            }
    }

    private static func inner(_ type: ValueType, path: String) -> [(field: Field, path: String)] {
        switch type {
        case .object(let fields): fields.map { ($0, "\(path).\($0.name)") }
        case .list(let element, _): inner(element, path: path + "[]")
        default: []
        }
    }

    /// A type in words.
    private static func describe(_ type: ValueType) -> String {
        switch type {
        case .name(let maxBytes): "name of 1 to \(grouped(maxBytes)) bytes"
        case .text(let maxBytes): "text of at most \(grouped(maxBytes)) bytes"
        case .json: "any JSON"
        case .integer(let range): "integer, \(bound(range.lowerBound)) to \(bound(range.upperBound))"
        case .boolean: "true or false"
        case .timestamp: "time"
        case .map(let element): "object, each value: \(describe(element))"
        case .list(let element, let maxItems):
            (maxItems < Int32.max ? "array of at most \(grouped(maxItems)), each: " : "array, each: ")
                + describe(element)
        case .object: "object"
        case .word(let words): words.map { "`\($0)`" }.joined(separator: ", ")
        }
    }

    private static func bound(_ value: Int64) -> String {
        if value == WireLimits.safeInteger { return "2^53 − 1" }
        if value == -WireLimits.safeInteger { return "−(2^53 − 1)" }
        return value < 0 ? "−" + grouped(Int(-value)) : grouped(Int(value))
    }

    /// 10000 as 10,000.
    private static func grouped(_ value: Int) -> String {
        let digits = Array(String(value))
        return String(
            digits.enumerated().flatMap { index, digit in
                index > 0 && (digits.count - index) % 3 == 0 ? [",", digit] : [digit]
            })
    }

    private static func yesNo(_ value: Bool) -> String { value ? "yes" : "no" }

    /// As Markdown renderers make them from headings: lower case, without dots.
    private static func anchor(_ heading: String) -> String {
        heading.lowercased().filter { $0 != "." }
    }
}
