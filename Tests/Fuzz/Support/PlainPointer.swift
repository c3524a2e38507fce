/// Whether a JSON pointer leads somewhere (RFC 6901), worked out scalar by scalar.
func resolve(_ pointer: String, _ value: PlainJSON) -> Bool {
    guard !pointer.isEmpty else { return true }
    guard pointer.utf8.first == UInt8(ascii: "/") else { return false }
    var at = value
    for token in pointer.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
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
            default: return false
            }
        }
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
