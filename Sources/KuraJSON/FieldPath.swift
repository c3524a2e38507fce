public import KuraBytes

/// Why a text is no path.
public enum FieldPathError: Error, Equatable {
    /// Nothing stands before, behind or between dots.
    case emptyComponent
    /// A backslash stands before something else than a dot, a dollar or a backslash.
    case escape
    /// It has more than `FieldPath.maximumDepth` components.
    case tooDeep

    public var message: String {
        switch self {
        case .emptyComponent: "a path is names with dots between them; a name is empty"
        case .escape: "in a path a backslash stands before a dot, a dollar or another backslash only"
        case .tooDeep: "a path has at most \(FieldPath.maximumDepth) names"
        }
    }
}

/// A place in a document: names of members, from the outermost to the innermost, written with dots between them.
///
/// `\.` is a dot of a name, `\\` a backslash and `\$` a dollar of one. A name that is a number (without leading zeros) finds an
/// array's element too, counted from 0.
///
/// Source: CouchDB, `find` API, "Subfields"; MongoDB, "Dot notation", for the elements of arrays.
public struct FieldPath: Sendable, Hashable {
    /// Most components that a path can have: documents are not nested deeper.
    public static let maximumDepth = 128

    private struct Component: Sendable, Hashable {
        var range: Range<Int>
        /// The element of an array that it stands for; -1 when it is no number.
        var position: Int
    }
    private var names: [UInt8] = []
    private var components: [Component] = []

    public var depth: Int { components.count }

    /// - Parameter text: the path as it is written, JSON's own escapes resolved.
    /// - Throws: for an empty name, a backslash before another character, and too many names.
    public init(_ text: Bytes) throws(FieldPathError) {
        guard text.contains(UInt8(ascii: ".")) || text.contains(UInt8(ascii: "\\")) else {
            names = Array(text)
            try close(from: 0)
            return
        }
        var start = 0
        var index = 0
        names.reserveCapacity(text.count)
        while index < text.count {
            switch text[index] {
            case UInt8(ascii: "."):
                try close(from: start)
                start = names.count
            case UInt8(ascii: "\\"):
                index += 1
                guard index < text.count, Self.isEscaped(text[index]) else { throw .escape }
                names.append(text[index])
            default:
                names.append(text[index])
            }
            index += 1
        }
        try close(from: start)
    }

    /// What a backslash may stand before.
    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ".") || byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "$")
    }

    /// A path of one name, whatever characters it has.
    public init(name: [UInt8]) throws(FieldPathError) {
        names = name
        try close(from: 0)
    }

    /// The place that `inner` has within what this finds.
    public func appending(_ inner: FieldPath) throws(FieldPathError) -> FieldPath {
        guard depth + inner.depth <= Self.maximumDepth else { throw .tooDeep }
        var path = self
        let shift = names.count
        path.names += inner.names
        path.components += inner.components.map {
            Component(range: $0.range.lowerBound + shift..<$0.range.upperBound + shift, position: $0.position)
        }
        return path
    }

    private mutating func close(from start: Int) throws(FieldPathError) {
        guard names.count > start else { throw .emptyComponent }
        guard components.count < Self.maximumDepth else { throw .tooDeep }
        components.append(Component(range: start..<names.count, position: Self.position(names[start...])))
    }

    private static func position(_ name: ArraySlice<UInt8>) -> Int {
        guard name.count <= 9, name.count == 1 || name.first != UInt8(ascii: "0") else { return -1 }
        var position = 0
        for byte in name {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return -1 }
            position = position * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return position
    }

    /// The names, outermost first.
    public var componentNames: [[UInt8]] { components.map { Array(names[$0.range]) } }

    /// Whether it is this name and nothing else.
    func isOneName(_ name: StaticString) -> Bool { components.count == 1 && names.withBytes { $0.equals(name) } }

    /// The path as it is written: two paths are equal when these are.
    public var text: [UInt8] {
        var text: [UInt8] = []
        for component in components {
            if !text.isEmpty { text.append(UInt8(ascii: ".")) }
            for byte in names[component.range] {
                if byte == UInt8(ascii: "$") ? text.isEmpty : Self.isEscaped(byte) { text.append(UInt8(ascii: "\\")) }
                text.append(byte)
            }
        }
        return text
    }

    // MARK: Finding

    /// What stands at this place of a document; nil when nothing does.
    public func find(in document: StoredValue) -> StoredValue? {
        names.withBytes { names in
            var value = document
            for component in components {
                guard let found = Self.step(into: value, names.extracting(component.range), component.position) else {
                    return nil
                }
                value = found
            }
            return value
        }
    }

    /// What a name alone finds.
    static func step(into value: StoredValue, _ name: [UInt8]) -> StoredValue? {
        name.withBytes { step(into: value, $0, position(name[...])) }
    }

    private static func step(into value: StoredValue, _ name: Bytes, _ position: Int) -> StoredValue? {
        switch value.text.first {
        case UInt8(ascii: "{"): return value.member(named: name)
        case UInt8(ascii: "["):
            guard position >= 0 else { return nil }
            var left = position
            for element in value.elements {
                if left == 0 { return element }
                left -= 1
            }
            return nil
        default: return nil
        }
    }
}

extension StoredValue {
    /// The member whose name stands for these bytes; nil when there is none.
    public func member(named name: Bytes) -> StoredValue? {
        var members = members
        while let member = members.next() {
            if ResolvedText.equals(member.name, name) { return member.value }
        }
        return nil
    }
}
