import Glibc

// Safety: `write` gets a buffer with the length that is left in it.

/// Lines on standard output and standard error.
enum Output {
    static func line(_ text: String) { put(text, to: 1) }
    static func error(_ text: String) { put(text, to: 2) }

    private static func put(_ text: String, to descriptor: Int32) {
        var bytes = Array((text + "\n").utf8)
        var done = 0
        let count = bytes.count
        unsafe bytes.withUnsafeMutableBytes { buffer in
            while done < count {
                let written = unsafe write(descriptor, buffer.baseAddress! + done, count - done)
                if written < 0 {
                    if errno == EINTR { continue }
                    return
                }
                done += written
            }
        }
    }
}

/// Numbers and JSON as text, without Foundation.
enum Format {
    /// `value` rounded to `places` decimals.
    static func fixed(_ value: Double, _ places: Int) -> String {
        guard value.isFinite else { return "0" }
        var scale = 1.0
        for _ in 0..<places { scale *= 10 }
        let scaled = Int((value.magnitude * scale).rounded())
        let sign = value < 0 && scaled != 0 ? "-" : ""
        if places == 0 { return "\(sign)\(scaled)" }
        let whole = scaled / Int(scale)
        let rest = "\(scaled % Int(scale))"
        return "\(sign)\(whole)." + String(repeating: "0", count: places - rest.count) + rest
    }

    /// Nanoseconds as microseconds with one decimal.
    static func microseconds(_ nanoseconds: Double) -> String {
        fixed(nanoseconds / 1000, 1)
    }

    /// A JSON object from members that are JSON already.
    static func object(_ members: [(String, String)]) -> String {
        "{" + members.map { "\(string($0.0)):\($0.1)" }.joined(separator: ",") + "}"
    }

    static func array(_ elements: [String]) -> String {
        "[" + elements.joined(separator: ",") + "]"
    }

    static func string(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            default:
                if scalar.value < 0x20 { result += " " } else { result.unicodeScalars.append(scalar) }
            }
        }
        return result + "\""
    }
}
