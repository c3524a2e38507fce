/// RFC 7396 and RFC 6902 by the book, on trees: the second opinion that the patches are held against. Members keep their order, new
/// ones come at the end.
enum PatchModel {
    /// RFC 7396, 2, as its pseudocode has it.
    static func merge(_ patch: PlainJSON, into target: PlainJSON?) -> PlainJSON {
        guard case .object(let changes) = patch else { return patch }
        var members: [PlainJSON.Member] = []
        if case .object(let old)? = target { members = old }
        for change in changes {
            let place = members.firstIndex { $0.name == change.name }
            if change.value == .null {
                if let place { members.remove(at: place) }
            } else if let place {
                members[place].value = merge(change.value, into: members[place].value)
            } else {
                members.append(PlainJSON.Member(name: change.name, value: merge(change.value, into: nil)))
            }
        }
        return .object(members)
    }

    /// What RFC 6902 makes of a document; nil when it refuses.
    static func apply(_ patch: PlainJSON, to document: PlainJSON) -> PlainJSON? {
        guard case .array(let operations) = patch else { return nil }
        var document = document
        for operation in operations {
            guard let next = perform(operation, document) else { return nil }
            document = next
        }
        return document
    }

    private static func perform(_ operation: PlainJSON, _ document: PlainJSON) -> PlainJSON? {
        guard case .object(let members) = operation else { return nil }
        func member(_ name: String) -> PlainJSON? { members.first { $0.name == Array(name.utf8) }?.value }
        guard case .string(let word)? = member("op"), let path = names(member("path")) else { return nil }
        let value = member("value")
        switch String(decoding: word, as: UTF8.self) {
        case "add": return value.flatMap { put($0, path[...], into: document) }
        case "remove": return take(path[...], outOf: document)
        case "replace":
            guard let value, find(path[...], in: document) != nil else { return nil }
            return change(path[...], in: document) { _ in value }
        case "move":
            guard let from = names(member("from")), !from.isEmpty, let moved = find(from[...], in: document) else {
                return nil
            }
            if path.starts(with: from) { return from.count == path.count ? document : nil }
            return take(from[...], outOf: document).flatMap { put(moved, path[...], into: $0) }
        case "copy":
            return names(member("from")).flatMap { find($0[...], in: document) }.flatMap {
                put($0, path[...], into: document)
            }
        case "test":
            guard let value, let found = find(path[...], in: document) else { return nil }
            return PlainJSON.order(found, value) == 0 ? document : nil
        default: return nil
        }
    }

    private static func names(_ pointer: PlainJSON?) -> [[UInt8]]? {
        guard case .string(let text)? = pointer else { return nil }
        return pointerNames(text)
    }

    /// A position below `count`; no leading zeros, no signs.
    private static func position(_ name: [UInt8], below count: Int) -> Int? {
        guard name.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }),
            name.count == 1 || name.first != UInt8(ascii: "0"),
            let position = Int(String(decoding: name, as: UTF8.self)), position < count
        else { return nil }
        return position
    }

    private static func find(_ path: ArraySlice<[UInt8]>, in value: PlainJSON) -> PlainJSON? {
        guard let name = path.first else { return value }
        switch value {
        case .object(let members):
            return members.first { $0.name == name }.flatMap { find(path.dropFirst(), in: $0.value) }
        case .array(let elements):
            return position(name, below: elements.count).flatMap { find(path.dropFirst(), in: elements[$0]) }
        default: return nil
        }
    }

    /// The value with what is at the path changed; nil when nothing is there or the change refuses.
    private static func change(
        _ path: ArraySlice<[UInt8]>, in value: PlainJSON, _ body: (PlainJSON) -> PlainJSON?
    ) -> PlainJSON? {
        guard let name = path.first else { return body(value) }
        switch value {
        case .object(var members):
            guard let place = members.firstIndex(where: { $0.name == name }),
                let inner = change(path.dropFirst(), in: members[place].value, body)
            else { return nil }
            members[place].value = inner
            return .object(members)
        case .array(var elements):
            guard let place = position(name, below: elements.count),
                let inner = change(path.dropFirst(), in: elements[place], body)
            else { return nil }
            elements[place] = inner
            return .array(elements)
        default: return nil
        }
    }

    private static func put(_ value: PlainJSON, _ path: ArraySlice<[UInt8]>, into document: PlainJSON) -> PlainJSON? {
        guard let name = path.last else { return value }
        return change(path.dropLast(), in: document) { container in
            switch container {
            case .object(var members):
                if let place = members.firstIndex(where: { $0.name == name }) {
                    members[place].value = value
                } else {
                    members.append(PlainJSON.Member(name: name, value: value))
                }
                return .object(members)
            case .array(var elements):
                guard
                    let place = name == [UInt8(ascii: "-")] ? elements.count : position(name, below: elements.count + 1)
                else {
                    return nil
                }
                elements.insert(value, at: place)
                return .array(elements)
            default: return nil
            }
        }
    }

    private static func take(_ path: ArraySlice<[UInt8]>, outOf document: PlainJSON) -> PlainJSON? {
        guard let name = path.last else { return nil }
        return change(path.dropLast(), in: document) { container in
            switch container {
            case .object(var members):
                guard let place = members.firstIndex(where: { $0.name == name }) else { return nil }
                members.remove(at: place)
                return .object(members)
            case .array(var elements):
                guard let place = position(name, below: elements.count) else { return nil }
                elements.remove(at: place)
                return .array(elements)
            default: return nil
            }
        }
    }
}
