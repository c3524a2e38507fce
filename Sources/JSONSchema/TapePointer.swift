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
    /// `pointer`: bytes of UTF-8. By bytes, since a character may be a slash with what combines with it.
    func node(at pointer: [UInt8]) -> Int32? {
        guard let first = pointer.first else { return 0 }
        guard first == UInt8(ascii: "/") else { return nil }
        var at: Int32 = 0
        for token in pointer.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let name = Self.name(token) else { return nil }
            switch self[at].kind {
            case .object:
                guard let value = name.withBytes({ member($0, of: at) }) else { return nil }
                at = value
            case .array:
                guard let value = element(name, of: at) else { return nil }
                at = value
            default: return nil
            }
        }
        return at
    }

    private func element(_ index: [UInt8], of array: Int32) -> Int32? {
        let digits = String(decoding: index, as: UTF8.self)
        guard let wanted = Int32(digits), wanted >= 0, String(wanted) == digits, wanted < self[array].count else {
            return nil
        }
        var at = array + 1
        for _ in 0..<wanted { at = self[at].next }
        return at
    }

    private static func name(_ token: ArraySlice<UInt8>) -> [UInt8]? {
        var result: [UInt8] = []
        var bytes = token.makeIterator()
        while let byte = bytes.next() {
            guard byte == UInt8(ascii: "~") else {
                result.append(byte)
                continue
            }
            switch bytes.next() {
            case UInt8(ascii: "0")?: result.append(UInt8(ascii: "~"))
            case UInt8(ascii: "1")?: result.append(UInt8(ascii: "/"))
            default: return nil
            }
        }
        return result
    }
}
