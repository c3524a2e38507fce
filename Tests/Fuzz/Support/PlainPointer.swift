/// Whether a JSON pointer leads somewhere (RFC 6901), worked out scalar by scalar.
func resolve(_ pointer: String, _ value: PlainJSON) -> Bool {
    var at = value
    guard let names = pointerNames(Array(pointer.utf8)) else { return false }
    for name in names {
        switch at {
        case .object(let members):
            guard let member = members.first(where: { $0.name == name }) else { return false }
            at = member.value
        case .array(let elements):
            guard let index = Int(String(decoding: name, as: UTF8.self)), elements.indices.contains(index) else {
                return false
            }
            at = elements[index]
        default: return false
        }
    }
    return true
}

/// A pointer's names; nil when it is none (RFC 6901, 3).
func pointerNames(_ text: [UInt8]) -> [[UInt8]]? {
    guard let first = text.first else { return [] }
    guard first == UInt8(ascii: "/") else { return nil }
    var names: [[UInt8]] = []
    for token in text.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
        var name: [UInt8] = []
        var bytes = token.makeIterator()
        while let byte = bytes.next() {
            guard byte == UInt8(ascii: "~") else {
                name.append(byte)
                continue
            }
            switch bytes.next() {
            case UInt8(ascii: "0")?: name.append(UInt8(ascii: "~"))
            case UInt8(ascii: "1")?: name.append(UInt8(ascii: "/"))
            default: return nil
            }
        }
        names.append(name)
    }
    return names
}
