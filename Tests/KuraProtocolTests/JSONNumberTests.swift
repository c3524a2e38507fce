import KuraProtocol
import Testing

@Suite struct JSONNumberTests {
    private func integer(_ text: String) -> Int64? {
        GuardedBytes.with(text.utf8) { JSONNumber.integer($0) }
    }

    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("7", 7), ("-42", -42), ("999999999999999999", 999_999_999_999_999_999),
            ("9223372036854775807", .max),
            ("-9223372036854775808", .min), ("9007199254740991", 9_007_199_254_740_991),
            ("-9007199254740993", -9_007_199_254_740_993),
            ("1.0", 1), ("-1.000000000000000000000000", -1), ("1e3", 1000), ("1E+3", 1000), ("1.5e1", 15), ("10e-1", 1),
            ("1200e-2", 12),
            ("0.5e1", 5), ("0.0000001e7", 1), ("0e999999999999999999999999", 0), ("-0.0e-5", 0),
            ("9223372036854775807.0", .max),
            ("922337203685477580.7e1", .max), ("10000000000000000000000000e-25", 1),
            ("1e18", 1_000_000_000_000_000_000),
        ] as [(String, Int64)])
    func `a number without a fraction is a whole number, however it is written`(_ text: String, _ expected: Int64) {
        #expect(integer(text) == expected)
    }

    @Test(arguments: [
        "0.5", "-1.5", "1e-1", "15e-2", "9007199254740991.4", "0.99999999999999999999999999",
        "1.0000000000000000000000001", "1e-400",
        "9223372036854775808", "-9223372036854775809", "1e19", "1e400", "100000000000000000000",
        "123456789012345678901.0",
        "1e999999999999999999999999", "1e-999999999999999999999999", "18446744073709551616", "36893488147419103232",
        "1.5e0",
    ])
    func `a fraction is never rounded away and what does not fit is not wrapped`(_ text: String) {
        #expect(integer(text) == nil)
    }

    @Test func `every way to write an integer gives it back`() {
        var random = SeededGenerator()
        for round in 0..<2000 {
            let value = Int64.random(in: .min ... .max, using: &random) >> Int64.random(in: 0..<64, using: &random)
            let digits = String(value.magnitude)
            let sign = value < 0 ? "-" : ""
            let shift = Int.random(in: 0...25, using: &random)
            // Shifted left: a point somewhere and an exponent that makes up for it.
            let padded = String(repeating: "0", count: shift) + digits
            let point = padded.index(padded.endIndex, offsetBy: -shift)
            let whole = padded[..<point].drop { $0 == "0" }
            let ways = [
                "\(sign)\(digits)", "\(sign)\(digits).0",
                "\(sign)\(digits)\(String(repeating: "0", count: shift))e-\(shift)",
                shift == 0
                    ? "\(sign)\(digits)e0" : "\(sign)\(whole.isEmpty ? "0" : whole).\(padded[point...])E+\(shift)",
            ]
            for way in ways { #expect(integer(way) == value, "seed \(random.seed), round \(round): \(way)") }
        }
    }

    // What fuzzing found: these stopped the program, or came out as numbers.
    @Test(arguments: [
        "\"7\"", "\"\"", "\"small\"", "\"e\"", "true", "false", "null", "{}", "[]", "[1]", "{\"a\":1}", "-", "",
    ])
    func `a value that is no number is no whole number`(_ text: String) {
        #expect(integer(text) == nil)
    }
}
