import KuraBytes
import KuraProtocol

/// The elements of one JSON array, each as its text.
public enum JSONElements {
    /// - Returns: nil when `text` is not one JSON array.
    public static func read(_ text: [UInt8]) -> [[UInt8]]? {
        guard text.count <= JSONDocument.maximumBytes else { return nil }
        return text.withBytes { bytes in
            do throws(JSONFault) { return try elements(bytes) } catch { return nil }
        }
    }

    private static func elements(_ bytes: Bytes) throws(JSONFault) -> [[UInt8]] {
        var reader = JSONReader(
            bytes, grammar: .rfc8259, maximumDepth: JSONDocument.maximumDepth, names: NameStack())
        var elements: [[UInt8]] = []
        try reader.expect(UInt8(ascii: "["))
        if !reader.take(UInt8(ascii: "]")) {
            while true {
                let value = try reader.value()
                elements.append(Array(bytes[Int(value.start)..<Int(value.end)]))
                if reader.take(UInt8(ascii: ",")) { continue }
                try reader.expect(UInt8(ascii: "]"))
                break
            }
        }
        try reader.expectEnd()
        return elements
    }

    /// The array of these elements.
    public static func array(_ elements: [[UInt8]]) -> [UInt8] {
        [UInt8(ascii: "[")] + elements.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "]")]
    }
}
