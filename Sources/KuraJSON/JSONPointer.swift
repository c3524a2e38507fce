import KuraBytes

/// Places in JSON texts as RFC 6901 writes them.
public enum JSONPointer {
    /// A name as one of a pointer's tokens: `~` and `/` are escaped.
    public static func token(_ name: [UInt8]) -> String {
        var token: [UInt8] = []
        for byte in name {
            switch byte {
            case UInt8(ascii: "~"): token += [UInt8(ascii: "~"), UInt8(ascii: "0")]
            case UInt8(ascii: "/"): token += [UInt8(ascii: "~"), UInt8(ascii: "1")]
            default: token.append(byte)
            }
        }
        return String(decoding: token, as: UTF8.self)
    }
}
