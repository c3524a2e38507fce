import KuraClient
import KuraProtocol

/// Secrets within arguments that are JSON: everybody on the host can read arguments.
enum SecretArguments {
    /// - Parameter operations: those of a transaction, as an argument has them: a list, or one.
    /// - Returns: the name of the first parameter among them that is a secret.
    static func found(inOperations operations: [UInt8]) -> String? {
        for operation in JSONElements.read(operations) ?? [operations] {
            guard let object = JSONObject(operation), let name = object.string("method"),
                let method = MethodTable.standard.methods.first(where: { $0.name == name }),
                let params = object["params"]
            else { continue }
            if let named = JSONObject(params) {
                if let secret = method.parameters.first(where: { $0.isSecret && named[$0.name] != nil }) {
                    return secret.name
                }
            } else {
                // By position.
                let given = JSONElements.read(params)?.count ?? 0
                if let secret = method.parameters.prefix(given).first(where: \.isSecret) { return secret.name }
            }
        }
        return nil
    }

    /// The same of a parameter that has whole requests in it: operations, or the parameters that `session.can` asks about.
    /// `others`: what else the request has, by name.
    static func found(
        in parameter: String, _ value: [UInt8], besides others: [(name: String, value: [UInt8])]
    ) -> String? {
        switch parameter {
        case "operations": return found(inOperations: value)
        case "params":
            guard let method = others.first(where: { $0.name == "method" }) else { return nil }
            return found(inOperations: JSONParts.object([("method", method.value), ("params", value)]))
        default: return nil
        }
    }

    static func advice(_ name: String) -> String {
        "\(name) is a secret, and no argument: everybody on the host can read those"
    }
}
