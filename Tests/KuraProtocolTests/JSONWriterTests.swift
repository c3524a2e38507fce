import KuraProtocol
import Testing

@Suite struct JSONWriterTests {
    @Test(arguments: [
        0, 1, -1, 9, 10, -10, 99, 100, 9_007_199_254_740_991, -9_007_199_254_740_991, .max, .min, .max - 1, .min + 1,
    ])
    func `integers are written in full`(_ value: Int64) {
        #expect(written { $0.append(integer: value) } == String(value))
    }

    @Test func `unsigned integers are written in full`() {
        for value in [UInt64(0), 7, .max, .max - 1, 10_000_000_000_000_000_000] {
            #expect(written { $0.append(unsigned: value) } == String(value))
        }
        var power: UInt64 = 1
        for _ in 0..<19 {
            #expect(written { $0.append(unsigned: power) } == String(power))
            #expect(written { $0.append(unsigned: power - 1) } == String(power - 1))
            power *= 10
        }
    }

    @Test(arguments: [
        ("", "\"\""), ("plain", "\"plain\""), ("\"", #""\"""#), ("\\", #""\\""#), ("/", "\"/\""),
        ("\u{8}\t\n\u{C}\r", #""\b\t\n\f\r""#),
        ("\0\u{1}\u{B}\u{1F}", #""\u0000\u0001\u000b\u001f""#), ("\u{7F}", "\"\u{7F}\""),
        ("é蔵𝄞\u{2028}", "\"é蔵𝄞\u{2028}\""),
        ("a\"b\\c\nd", #""a\"b\\c\nd""#), ("\"\"", #""\"\"""#),
    ])
    func `strings are quoted with as few escapes as JSON allows`(_ text: String, _ expected: String) {
        #expect(written { $0.append(quoted: text) } == expected)
    }

    @Test func `what was quoted is accepted and stands for the same bytes`() {
        var random = SeededGenerator()
        for round in 0..<500 {
            let scalars = (0..<Int.random(in: 0...40, using: &random)).compactMap { _ in
                Unicode.Scalar(UInt32.random(in: 0...(Bool.random(using: &random) ? 0x7F : 0x10FFFF), using: &random))
            }
            let text = scalars.reduce(into: "") { $0.unicodeScalars.append($1) }
            let quoted = written { $0.append(quoted: text) }
            #expect(fault(in: quoted) == nil, "seed \(random.seed), round \(round)")
            #expect(
                Array(unescaped(String(decoding: quoted.utf8.dropFirst().dropLast(), as: UTF8.self)).utf8)
                    == Array(text.utf8), "seed \(random.seed), round \(round)")
        }
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (1, "1970-01-01T00:00:00.001Z"), (-1, "1969-12-31T23:59:59.999Z"),
        (-86_400_000, "1969-12-31T00:00:00.000Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (951_868_799_999, "2000-02-29T23:59:59.999Z"), (951_868_800_000, "2000-03-01T00:00:00.000Z"),
        (1_709_210_096_007, "2024-02-29T12:34:56.007Z"), (1_709_251_200_000, "2024-03-01T00:00:00.000Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
        (-2_203_891_200_000, "1900-03-01T00:00:00.000Z"), (-2_203_891_200_001, "1900-02-28T23:59:59.999Z"),
        (1_735_689_599_999, "2024-12-31T23:59:59.999Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"), (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
    ])
    func `moments are RFC 3339 in UTC with milliseconds`(_ milliseconds: Int64, _ expected: String) {
        #expect(written { $0.append(timestamp: milliseconds) } == "\"\(expected)\"")
    }

    @Test func `every day of 800 years follows the one before it`() {
        var (year, month, day) = (1600, 1, 1)
        var date = Int64(-135_140) * 86_400_000
        while year < 2400 {
            let text = written { $0.append(timestamp: date) }
            func pad(_ number: Int, _ width: Int) -> String {
                String(repeating: "0", count: width - String(number).count) + String(number)
            }
            if text != "\"\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))T00:00:00.000Z\"" {
                Issue.record("\(text) is not \(year)-\(month)-\(day)")
                return
            }
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
            day += 1
            if day > days { (month, day) = (month + 1, 1) }
            if month > 12 { (year, month) = (year + 1, 1) }
            date += 86_400_000
        }
    }
}
