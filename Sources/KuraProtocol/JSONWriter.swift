public import KuraBytes

/// JSON text into a byte buffer. Each function appends one token; commas and brackets are the caller's.
extension ByteBuffer {
    /// An integer in decimal.
    public mutating func append(integer value: Int64) {
        if value < 0 { append(UInt8(ascii: "-")) }
        append(unsigned: value.magnitude)
    }

    /// An unsigned integer in decimal.
    public mutating func append(unsigned value: UInt64) {
        reserve(20)
        var digits = 1
        var bound: UInt64 = 10
        while value >= bound {
            digits += 1
            guard digits < 20 else { break }
            bound *= 10
        }
        var rest = value
        var position = digits
        // Safety: `reserve` has made room for 20 digits at least, and `position` runs from their number down to 0.
        let place = unsafe spare
        repeat {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            position -= 1
            unsafe place[position] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit)
            rest = quotient
        } while rest > 0
        commit(digits)
    }

    /// A string with its quotes; `utf8` is well-formed UTF-8, not yet escaped.
    public mutating func append(quoted utf8: Bytes) {
        reserve(utf8.count + 2)
        append(UInt8(ascii: "\""))
        var start = 0
        var position = 0
        while position < utf8.count {
            let byte = utf8[position]
            if byte < 0x20 || byte == 0x22 || byte == 0x5C {
                append(Bytes(rebasing: utf8[start..<position]))
                appendEscape(of: byte)
                start = position + 1
            }
            position += 1
        }
        append(Bytes(rebasing: utf8[start...]))
        append(UInt8(ascii: "\""))
    }

    public mutating func append(quoted text: String) {
        text.withBytes { append(quoted: $0) }
    }

    private mutating func appendEscape(of byte: UInt8) {
        append(UInt8(ascii: "\\"))
        switch byte {
        case 0x22, 0x5C: append(byte)
        case 0x08: append(UInt8(ascii: "b"))
        case 0x09: append(UInt8(ascii: "t"))
        case 0x0A: append(UInt8(ascii: "n"))
        case 0x0C: append(UInt8(ascii: "f"))
        case 0x0D: append(UInt8(ascii: "r"))
        default:
            append("u00")
            append(hexDigit: byte >> 4)
            append(hexDigit: byte & 15)
        }
    }

    private mutating func append(hexDigit value: UInt8) {
        append(value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10)
    }

    /// A moment as RFC 3339 UTC with milliseconds, quoted.
    /// - Parameter milliseconds: since 1970-01-01T00:00:00Z; what is beyond the years 0000 to 9999 is written as the first or last moment of these.
    public mutating func append(timestamp milliseconds: Int64) {
        let written = min(max(milliseconds, Timestamp.range.lowerBound), Timestamp.range.upperBound)
        let (days, time) = Calendar.split(written)
        let (year, month, day) = Calendar.civil(fromDays: days)
        reserve(26)
        // Safety: there is room for 26 bytes at least, and the last place written is 25.
        let place = unsafe spare
        unsafe place[0] = UInt8(ascii: "\"")
        let seconds = UInt32(truncatingIfNeeded: time / 1000)
        unsafe Self.write(UInt32(truncatingIfNeeded: year) / 100, to: place, at: 1)
        unsafe Self.write(UInt32(truncatingIfNeeded: year) % 100, to: place, at: 3)
        unsafe place[5] = UInt8(ascii: "-")
        unsafe Self.write(UInt32(truncatingIfNeeded: month), to: place, at: 6)
        unsafe place[8] = UInt8(ascii: "-")
        unsafe Self.write(UInt32(truncatingIfNeeded: day), to: place, at: 9)
        unsafe place[11] = UInt8(ascii: "T")
        unsafe Self.write(seconds / 3600, to: place, at: 12)
        unsafe place[14] = UInt8(ascii: ":")
        unsafe Self.write(seconds / 60 % 60, to: place, at: 15)
        unsafe place[17] = UInt8(ascii: ":")
        unsafe Self.write(seconds % 60, to: place, at: 18)
        unsafe place[20] = UInt8(ascii: ".")
        let thousandths = UInt32(truncatingIfNeeded: time % 1000)
        unsafe place[21] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: thousandths / 100)
        unsafe Self.write(thousandths % 100, to: place, at: 22)
        unsafe place[24] = UInt8(ascii: "Z")
        unsafe place[25] = UInt8(ascii: "\"")
        commit(26)
    }

    /// Two digits of a number below 100.
    ///
    /// Safety: the caller has room at `offset` and behind it.
    @inline(__always)
    private static func write(_ number: UInt32, to place: UnsafeMutableRawBufferPointer, at offset: Int) {
        unsafe place[offset] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / 10)
        unsafe place[offset + 1] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10)
    }
}

/// Days and dates of the proleptic Gregorian calendar, without a time zone.
enum Calendar {
    static func days(ofMonth month: Int64, _ year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days from 1970-01-01 to a date.
    ///
    /// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil.
    static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    static func split(_ milliseconds: Int64) -> (days: Int64, millisecondsOfDay: Int64) {
        let day: Int64 = 86_400_000
        var (days, rest) = milliseconds.quotientAndRemainder(dividingBy: day)
        if rest < 0 {
            days -= 1
            rest += day
        }
        return (days, rest)
    }

    /// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
    static func civil(fromDays days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}
