import KuraBytes
import KuraClient
import KuraProtocol

/// A result that is a list above all: pages, scopes, several items at once.
struct Listing {
    /// The result's member that holds the items.
    let field: KuraProtocol.Field

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

    /// Remarks beside the items, each under the name that the result gives it: `missing` names what the request asked for and the list does not
    /// have, `lost` tells what a recovery lost of these changes.
    func remarks(on result: JSONObject, method: Method, asked: Parameters) -> [String] {
        if case .map = field.type, let keys = asked["keys"].flatMap(JSONElements.read) {
            let found = result.object(field.name)?.names ?? []
            let missing = keys.compactMap { JSONObject.string($0) }.filter { !found.contains($0) }
            return missing.isEmpty ? [] : ["missing: \(missing.joined(separator: ", "))"]
        }
        return method.result.compactMap { other in
            if other.name == "lost", let value = result[other.name] {
                return "\(other.name): \(Table.cell(value))"
            }
            guard other.name != field.name, case .list = other.type, let elements = result[other.name] else {
                return nil
            }
            let names = (JSONElements.read(elements) ?? []).map(Table.cell)
            return names.isEmpty ? nil : "\(other.name): \(names.joined(separator: ", "))"
        }
    }

    // MARK: Columns

    /// What items can have; empty when anything.
    var declaredColumns: [String] {
        switch field.type {
        case .map: ["key", "value"]
        case .list(.object(let fields), _): fields.map(\.name)
        case .list(.json, _): []
        default: [field.name]
        }
    }

    /// A column of an item: its member, or what a path with dots leads to.
    static func cell(_ item: JSONObject, _ column: String) -> [UInt8]? {
        if let value = item[column] { return value }
        guard let dot = column.firstIndex(of: ".") else { return nil }
        guard let inner = item.object(String(column[..<dot])) else { return nil }
        return cell(inner, String(column[column.index(after: dot)...]))
    }

    /// The item with these columns alone; what it does not have is left out.
    static func picked(_ columns: [String], of item: [UInt8]) -> [UInt8] {
        guard let object = JSONObject(item) else { return item }
        return JSONParts.object(columns.compactMap { name in cell(object, name).map { (name: name, value: $0) } })
    }

    // MARK: A table

    func table(of items: [[UInt8]], columns wanted: [String] = []) -> Table {
        let objects = items.map { JSONObject($0) }
        if !wanted.isEmpty, objects.allSatisfy({ $0 != nil }) {
            var table = Table(columns: wanted)
            for object in objects.compactMap(\.self) { table.add(wanted.map { Self.cell(object, $0) }) }
            return table
        }
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
            whole = JSONParts.object(Self.merged(collections.flatMap { JSONObject($0)?.entries ?? [] }))
        } else {
            whole = JSONElements.array(collections.flatMap { JSONElements.read($0) ?? [] })
        }
        return JSONParts.object(
            (pages.last?.entries ?? []).filter { $0.name != "cursor" }.map { name, value in
                (name, name == field.name ? whole : value)
            })
    }

    /// What has gone on over a page's end comes twice: its objects are put together.
    private static func merged(_ entries: [(name: String, value: [UInt8])]) -> [(name: String, value: [UInt8])] {
        var merged: [(name: String, value: [UInt8])] = []
        for entry in entries {
            if let last = merged.last, last.name == entry.name, let first = JSONObject(last.value),
                let second = JSONObject(entry.value)
            {
                merged[merged.count - 1].value = JSONParts.object(first.entries + second.entries)
            } else {
                merged.append(entry)
            }
        }
        return merged
    }
}

extension JSONObject {
    /// Where the page behind this one begins; nil when this is the last.
    /// - Parameter last: what led to this page.
    /// - Returns: what leads to the next.
    /// - Throws: when that leads here again, without an end.
    func cursor(after last: [UInt8]?) throws(Failure) -> [UInt8]? {
        let next = self["cursor"]
        guard next == nil || next != last else {
            throw Failure(status: .noDaemon, message: "a page of the daemon's list leads to itself")
        }
        return next
    }
}
