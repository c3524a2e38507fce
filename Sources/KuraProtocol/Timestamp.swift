public import KuraBytes

/// Moments as RFC 3339 has them, as far as the wire takes them: UTC, with a `Z`.
public enum Timestamp {
    /// What can be written: milliseconds since 1970 in the years 0000 to 9999.
    public static let range: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

    /// The milliseconds since 1970 of `2030-01-31T12:00:00Z`, with a fraction of up to nine digits or without; nil for anything else. What
    /// is below a millisecond is cut off. A leap second counts as the next.
    public static func milliseconds(_ text: Bytes) -> Int64? {
        guard text.count >= 20, text.count <= 30, text[text.count - 1] == UInt8(ascii: "Z") else { return nil }
        func number(_ range: Range<Int>) -> Int64? {
            var value: Int64 = 0
            for byte in text[range] {
                guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
                value = value * 10 + Int64(byte - UInt8(ascii: "0"))
            }
            return value
        }
        for (position, mark) in [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":")] as [(Int, Unicode.Scalar)] {
            guard text[position] == UInt8(ascii: mark) else { return nil }
        }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
            let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
            (1...12).contains(month), (1...Calendar.days(ofMonth: month, year)).contains(day), hour < 24, minute < 60,
            second <= 60
        else { return nil }
        var fraction: Int64 = 0
        if text.count > 20 {
            guard text[19] == UInt8(ascii: "."), text.count > 21, number(20..<text.count - 1) != nil else { return nil }
            for position in 20..<23 {
                let digit = position < text.count - 1 ? Int64(text[position] - UInt8(ascii: "0")) : 0
                fraction = fraction * 10 + digit
            }
        }
        let seconds = ((Calendar.days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second
        let moment = Int64.milliseconds(seconds: seconds).later(by: fraction)
        // The last leap second of all would be in a year of five digits.
        return range.contains(moment) ? moment : nil
    }
}
