import KuraBytes

/// A namespace's configuration as its file has it: numbers with a letter before each, such as `t60s604800e0p1`.
extension ModelConfiguration {
    var text: [UInt8] {
        var text = "s\(stale)e\(staleIfError)"
        if let ttl { text += "t\(ttl)" }
        if let maxEntries { text += "n\(maxEntries)" }
        if let maxBytes { text += "b\(maxBytes)" }
        text += isPartition ? "f1" : "f0"
        text += persists ? "p1" : "p0"
        return Array(text.utf8)
    }

    /// What is not understood is left as it is at first.
    init(text: Bytes) {
        self.init()
        var letter: UInt8 = 0
        var number = 0
        func take(_ configuration: inout ModelConfiguration) {
            switch letter {
            case UInt8(ascii: "s"): configuration.stale = Int64(number)
            case UInt8(ascii: "e"): configuration.staleIfError = Int64(number)
            case UInt8(ascii: "t"): configuration.ttl = Int64(number)
            case UInt8(ascii: "n"): configuration.maxEntries = number
            case UInt8(ascii: "b"): configuration.maxBytes = number
            case UInt8(ascii: "f"): configuration.isPartition = number == 1
            case UInt8(ascii: "p"): configuration.persists = number == 1
            default: break
            }
        }
        for byte in text {
            if byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
                number = number &* 10 &+ Int(byte - UInt8(ascii: "0"))
                continue
            }
            take(&self)
            (letter, number) = (byte, 0)
        }
        take(&self)
    }
}
