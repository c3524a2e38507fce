import KuraClient
import KuraProtocol

/// A scope that nothing was ever stored in is as empty as one whose last item is gone; its name may be misspelt, so it is told.
struct AbsentScope {
    private let name: String
    /// `collection`, `domain`, `namespace`, `service`
    private let field: String
    private let scopes: Method

    /// nil for methods that neither list nor count what one scope has.
    /// - Parameters:
    ///   - method: what was asked.
    ///   - parameters: of the request.
    init?(_ method: Method, _ parameters: Parameters) {
        let isCount = method.access == .read && method.result.first?.name == "count"
        // Only methods that read one scope: `secrets.audit` takes a service's name and reads the audit.
        guard Listing(method) != nil || isCount, let field = StoredNames.scopes[method.noun],
            case .scope(_, field, _) = method.need,
            let name = parameters[field].flatMap(JSONObject.string),
            let scopes = Method.all.first(where: { $0.name == "\(method.noun).scopes" })
        else { return nil }
        self.name = name
        self.field = field
        self.scopes = scopes
    }

    private init(_ name: String, field: String, scopes: Method) {
        (self.name, self.field, self.scopes) = (name, field, scopes)
    }

    /// The scopes that were asked for by name and are not in any page of the answer, which names them.
    static func missing(_ method: Method, _ parameters: Parameters, in pages: [JSONObject]) -> [AbsentScope] {
        guard case .scopes(_, let list) = method.need, let field = StoredNames.scopes[method.noun],
            let asked = parameters[list].flatMap(JSONElements.read)?.compactMap(JSONObject.string),
            let scopes = Method.all.first(where: { $0.name == "\(method.noun).scopes" })
        else { return [] }
        let found = Set(pages.flatMap { $0.object("values")?.names ?? [] })
        return asked.filter { !found.contains($0) }.map { AbsentScope($0, field: field, scopes: scopes) }
    }

    /// Whether an answer has nothing.
    static func isEmpty(_ result: [UInt8], of method: Method) -> Bool {
        guard let object = JSONObject(result) else { return false }
        if method.result.first?.name == "count" { return object.integer("count") == 0 }
        return Listing(method)?.items(of: object).isEmpty ?? false
    }

    /// Asks for the scopes that there are.
    /// - Returns: what to say when this is none of them; nil also when that cannot be told.
    func remark(_ session: inout Session) -> String? {
        guard let listing = Listing(scopes) else { return nil }
        let result: [UInt8]
        do throws(Failure) { result = try session.result(scopes) } catch { return nil }
        guard let object = JSONObject(result), object[listing.field.name] != nil else { return nil }
        let items = listing.items(of: object)
        if case .list(_, let maxItems) = listing.field.type, items.count >= maxItems { return nil }
        let names = items.compactMap { JSONObject($0)?.string(field) }
        guard !names.contains(name) else { return nil }
        let noun = Method.Store(rawValue: scopes.noun)?.shortName ?? scopes.noun
        let remark = "'kura \(noun) scopes' names no \(field) '\(name)'"
        return Suggestion.hint(for: name, among: names).map { "\(remark): \($0)" } ?? remark
    }
}
