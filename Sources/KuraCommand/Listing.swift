import KuraBytes
import KuraClient
import KuraProtocol

/// A result that is a list above all: pages, scopes, several items at once.
struct Listing {
    /// The result's member that holds the items.
    let field: Field

    /// - Returns: nil when the method's result is no list.
    init?(_ method: Method) {
        let isListing =
            ["list", "scopes", "getMany"].contains(String(method.name.drop { $0 != "." }.dropFirst()))
            || method.result.contains { $0.name == "cursor" }
        guard isListing, method.access == .read else { return nil }
        let collection = method.result.first { field in
            switch field.type {
            case .list, .map: true
            default: false
            }
        }
        guard let collection else { return nil }
        field = collection
    }

    /// Each item as one JSON text; a map's are objects with `key` and `value`.
    func items(of result: JSONObject) -> [[UInt8]] {
        guard let collection = result[field.name] else { return [] }
        if case .map = field.type {
            return (JSONObject(collection)?.entries ?? []).map { name, value in
                JSONParts.object([("key", JSONParts.string(name)), ("value", value)])
            }
        }
        return JSONElements.read(collection) ?? []
    }

    /// What was asked for and is not among the items, by the name that the result gives it: `missing`.
    func remarks(on result: JSONObject, method: Method) -> [String] {
        method.result.compactMap { other in
            guard other.name != field.name, case .list = other.type, let elements = result[other.name] else {
                return nil
            }
            let names = (JSONElements.read(elements) ?? []).map(Table.cell)
            return names.isEmpty ? nil : "\(other.name): \(names.joined(separator: ", "))"
        }
    }

    // MARK: A table

    func table(of items: [[UInt8]]) -> Table {
        let objects = items.map { JSONObject($0) }
        let columns = columns(of: objects)
        var table = Table(columns: columns)
        for (item, object) in zip(items, objects) {
            if let object, columns != [field.name] {
                let members = object.entries
                table.add(columns.map { name in members.first { $0.name == name }?.value })
            } else {
                table.add([item] + columns.dropFirst().map { _ in nil })
            }
        }
        return table
    }

    /// As declared, those left out that no item has; else as the items have them.
    private func columns(of objects: [JSONObject?]) -> [String] {
        var found: [String] = []
        for name in objects.flatMap({ $0?.names ?? [] }) where !found.contains(name) { found.append(name) }
        if case .list(.object(let fields), _) = field.type {
            let declared = fields.map(\.name).filter { found.contains($0) }
            found = declared + found.filter { !declared.contains($0) }
        }
        return found.isEmpty ? [field.name] : found
    }

    /// Several pages as one result: the items together, the rest from the last one, which has no cursor.
    func joined(_ pages: [JSONObject]) -> [UInt8] {
        let collections = pages.compactMap { $0[field.name] }
        let whole: [UInt8]
        if case .map = field.type {
            whole = JSONParts.object(collections.flatMap { JSONObject($0)?.entries ?? [] })
        } else {
            whole = JSONElements.array(collections.flatMap { JSONElements.read($0) ?? [] })
        }
        return JSONParts.object(
            (pages.last?.entries ?? []).filter { $0.name != "cursor" }.map { name, value in
                (name, name == field.name ? whole : value)
            })
    }
}
