/// The method table as an OpenRPC document, which `rpc.discover` answers.
///
/// Source: OpenRPC specification 1.3.2. Extensions: `x-access` (`read`, `write`), `x-needs` (what a role must have been
/// granted, in words), `x-outOfBand` (may be answered ahead of
/// requests that came before and wait), `x-maxBytes` (a string's bound in bytes of UTF-8), `components.x-errors` (every
/// kind of error; `anywhere`: any request may meet it).
public enum OpenRPC {
    public static let specificationVersion = "1.3.2"

    /// The document for reading: two spaces a level, a final newline, the same bytes for the same table. `version` is the
    /// daemon's.
    public static func document(_ table: MethodTable = .standard, version: String) -> [UInt8] {
        tree(table, version: version).pretty()
    }

    /// The same on one line, as the wire needs it.
    public static func compactDocument(_ table: MethodTable = .standard, version: String) -> [UInt8] {
        tree(table, version: version).compact()
    }

    private static func tree(_ table: MethodTable, version: String) -> JSONTree {
        .object([
            ("openrpc", .string(specificationVersion)),
            (
                "info",
                .object([
                    ("title", "Kura"), ("version", .string(version)),
                    (
                        "description",
                        "The storage service of one host. JSON-RPC 2.0 over a Unix domain socket, one compact JSON object a line."
                    ),
                ])
            ),
            ("methods", .array(table.methods.map(method))),
            (
                "components",
                .object([
                    ("errors", .object(ErrorKind.allCases.map { ("\($0.facts.name)", error($0)) })),
                    ("x-errors", .object(ErrorKind.allCases.map { ("\($0.facts.name)", facts($0)) })),
                ])
            ),
        ])
    }

    private static func method(_ method: Method) -> JSONTree {
        let store = method.store
        var members: [(name: String, value: JSONTree)] = [
            ("name", .string(method.name)), ("summary", .string(method.summary)),
            (
                "tags",
                .array([.object([("name", .string(store.rawValue)), ("description", .string(store.facts.summary))])])
            ),
            ("paramStructure", "either"), ("params", .array(method.parameters.map(parameter))),
            ("result", .object([("name", "result"), ("schema", JSONSchema.object(method.result))])),
        ]
        if !method.errors.isEmpty {
            members.append(
                (
                    "errors",
                    .array(method.errors.map { .object([("$ref", .string("#/components/errors/\($0.facts.name)"))]) })
                ))
        }
        members.append(("examples", .array([example(method)])))
        members.append(("x-access", .string(method.access.rawValue)))
        members.append(("x-needs", .string(method.need.description)))
        if method.isOutOfBand { members.append(("x-outOfBand", .boolean(true))) }
        return .object(members)
    }

    private static func parameter(_ field: Field) -> JSONTree {
        .object([
            ("name", .string(field.name)), ("description", .string(field.summary)),
            ("required", .boolean(field.isRequired)),
            ("schema", JSONSchema.schema(field.type)),
        ])
    }

    private static func example(_ method: Method) -> JSONTree {
        guard case .object(let given) = JSONTree(checked: method.example) else {
            preconditionFailure("the example of \(method.name) is no object")
        }
        let parameters = given.map { JSONTree.object([("name", .string($0.name)), ("value", $0.value)]) }
        return .object([("name", .string("\(method.name) example")), ("params", .array(parameters))])
    }

    private static func error(_ kind: ErrorKind) -> JSONTree {
        .object([
            ("code", .integer(Int64(kind.facts.code))), ("message", .string("\(kind.facts.message)")),
            (
                "data",
                .object([("kind", .string("\(kind.facts.name)")), ("retryable", .boolean(kind.facts.retryable))])
            ),
        ])
    }

    private static func facts(_ kind: ErrorKind) -> JSONTree {
        .object([
            ("code", .integer(Int64(kind.facts.code))), ("message", .string("\(kind.facts.message)")),
            ("retryable", .boolean(kind.facts.retryable)), ("when", .string("\(kind.facts.when)")),
            ("remedy", .string("\(kind.facts.remedy)")), ("anywhere", .boolean(kind.isAnywhere)),
        ])
    }
}
