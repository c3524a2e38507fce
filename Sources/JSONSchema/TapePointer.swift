import KuraBytes
import KuraProtocol

/// JSON pointers (RFC 6901) of nodes, both ways.
extension TapeView {
    /// The pointer of `target`; of a member's name, that of the member.
    func pointer(to target: Int32) -> String {
        var result = ""
        var at: Int32 = 0
        while at < target {
            let container = self[at]
            let isObject = container.kind == .object
            var child = at + 1
            var position = 0
            while true {
                let value = isObject ? child + 1 : child
                let next = self[value].next
                if target < next || next >= container.next {
                    result += "/" + (isObject ? Self.token(string(child)) : String(position))
                    // A name stands for its member.
                    if target == child && isObject { return result }
                    at = value
                    break
                }
                child = next
                position += 1
            }
        }
        return result
    }

    static func token(_ name: String) -> String {
        var result = ""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "~": result += "~0"
            case "/": result += "~1"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// The node that a pointer leads to; nil when it leads nowhere.
    func node(at pointer: some StringProtocol) -> Int32? {
        guard !pointer.isEmpty else { return 0 }
        guard pointer.utf8.first == UInt8(ascii: "/") else { return nil }
        var at: Int32 = 0
        for token in pointer.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            guard let name = Self.name(token) else { return nil }
            switch self[at].kind {
            case .object:
                guard let value = Array(name.utf8).withBytes({ member($0, of: at) }) else { return nil }
                at = value
            case .array:
                guard let value = element(name, of: at) else { return nil }
                at = value
            default: return nil
            }
        }
        return at
    }

    private func element(_ index: String, of array: Int32) -> Int32? {
        guard let wanted = Int32(index), wanted >= 0, String(wanted) == index, wanted < self[array].count else {
            return nil
        }
        var at = array + 1
        for _ in 0..<wanted { at = self[at].next }
        return at
    }

    private static func name(_ token: some StringProtocol) -> String? {
        var result = ""
        var scalars = token.unicodeScalars.makeIterator()
        while let scalar = scalars.next() {
            guard scalar == "~" else {
                result.unicodeScalars.append(scalar)
                continue
            }
            switch scalars.next() {
            case "0": result += "~"
            case "1": result += "/"
            default: return nil
            }
        }
        return result
    }
}
