import KuraBytes
import KuraProtocol

/// A value in the order in which the daemon sorts: nothing, null, false, true, numbers, texts by their code points, the rest.
enum SortValue: Comparable, Sendable {
    case nothing
    case null
    case boolean(Bool)
    case number(Double)
    case text([UInt8])
    case other([UInt8])

    /// - Parameter json: nil where nothing is.
    init(_ json: [UInt8]?) {
        guard let json, let first = json.first else {
            self = .nothing
            return
        }
        switch first {
        case UInt8(ascii: "n"): self = .null
        case UInt8(ascii: "t"): self = .boolean(true)
        case UInt8(ascii: "f"): self = .boolean(false)
        case UInt8(ascii: "\""): self = .text(Array((JSONObject.string(json) ?? "").utf8))
        case UInt8(ascii: "-"), 0x30...0x39: self = .number(Double(String(decoding: json, as: UTF8.self)) ?? 0)
        default: self = .other(json)
        }
    }

    private var rank: Int {
        switch self {
        case .nothing: 0
        case .null: 1
        case .boolean: 2
        case .number: 3
        case .text: 4
        case .other: 5
        }
    }

    static func < (left: SortValue, right: SortValue) -> Bool {
        switch (left, right) {
        case (.boolean(let left), .boolean(let right)): !left && right
        case (.number(let left), .number(let right)): left < right
        case (.text(let left), .text(let right)), (.other(let left), .other(let right)):
            left.lexicographicallyPrecedes(right)
        default: left.rank < right.rank
        }
    }
}

/// Where a live collection's values are put.
struct LiveOrder: Sendable {
    private struct Part: Sendable {
        /// Names from the outside in; nil for the document's id.
        let names: [String]?
        let isDescending: Bool
    }
    private let parts: [Part]

    init<Model>(_ keys: [SortKey<Model>]) throws(KuraError) {
        var parts: [Part] = []
        for key in keys {
            let path = try key.path.get()
            parts.append(Part(names: path == "_id" ? nil : Self.names(path), isDescending: key.isDescending))
        }
        self.parts = parts
    }

    /// The names of a path in the daemon's notation.
    static func names(_ path: String) -> [String] {
        var names = [""]
        var isEscaped = false
        for character in path {
            if isEscaped {
                names[names.count - 1].append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "." {
                names.append("")
            } else {
                names[names.count - 1].append(character)
            }
        }
        return names
    }

    /// What a document is sorted by.
    func values(key: String, text: [UInt8]) -> [SortValue] {
        parts.map { part in
            guard let names = part.names else { return .text(Array(key.utf8)) }
            var value: [UInt8]? = text
            for name in names { value = value.flatMap { JSONObject($0)?[name] } }
            return SortValue(value)
        }
    }

    /// Equal ones are in the order of their ids' bytes.
    func precedes(_ left: (key: String, values: [SortValue]), _ right: (key: String, values: [SortValue])) -> Bool {
        for (index, part) in parts.enumerated() {
            let (one, other) = (left.values[index], right.values[index])
            if one == other { continue }
            return part.isDescending ? other < one : one < other
        }
        return left.key.utf8.lexicographicallyPrecedes(right.key.utf8)
    }
}
