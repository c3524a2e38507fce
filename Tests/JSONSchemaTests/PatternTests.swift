@testable import JSONSchema
import KuraBytes
import Testing

/// ECMA-262, 22.2, with the `u` flag.
@Suite struct PatternTests {
    /// Pattern, subjects that match, subjects that do not.
    static let matching: [(String, [String], [String])] = [
        ("b", ["abc"], ["aBc", ""]),
        ("^$", [""], ["\n", "a"]),
        ("^a.c$", ["abc", "a😀c", "a\u{b}c", "a\u{85}c"], ["a\nc", "a\rc", "a\u{2028}c", "ac", "a\u{2029}c"]),
        (#"^\d+$"#, ["0189"], ["٣", "", "1a"]),
        (#"^\w$"#, ["a", "_", "9"], ["é", "-"]),
        (#"^\W$"#, ["é", "-", "😀"], ["a"]),
        (#"^\s$"#, [" ", "\t", "\u{b}", "\u{a0}", "\u{feff}", "\u{2029}", "\u{3000}"], ["a", "\u{200b}", "\u{85}"]),
        (#"^\S$"#, ["a", "😀", "\u{200b}", "\u{85}"], [" ", "\u{a0}", "\u{2003}"]),
        (#"^[\s\d]+$"#, ["1 \u{a0}2"], ["a"]),
        (#"^[^\s]$"#, ["a"], ["\u{feff}"]),
        (#"^[\Sx]$"#, ["a", "é"], ["\u{a0}"]),
        (#"\bcat\b"#, ["a cat!"], ["concat", "cats"]),
        (#"^\cJ\t\v\f\r\0$"#, ["\n\t\u{b}\u{c}\r\0"], ["J"]),
        (#"^\x41\u0042\u{43}\u{1F600}\ud83d\ude00$"#, ["ABC😀😀"], ["ABC"]),
        (#"^[\b\-\]x]+$"#, ["\u{8}-]x"], ["b"]),
        (#"^[a\-z]$"#, ["-", "a"], ["m"]),
        (#"^[\w-]+$"#, ["a-b"], ["a.b"]),
        (#"^[\w-.]+$"#, ["a-.b"], ["a/b"]),
        (#"^[a-f]+$"#, ["face"], ["g"]),
        ("^[é-ü]$", ["ê"], ["a"]),
        ("^[^]$", ["\n", "😀"], [""]),
        ("[]", [], ["", "a"]),
        ("^[[:alpha:]]$", ["[]", ":]", "a]"], ["a", "b]"]),
        ("^(?:a|bc)+?d$", ["abcad"], ["bd"]),
        ("^a{2}b{1,}c{0,2}$", ["aab", "aabbcc"], ["ab", "aabccc"]),
        ("^a{,2}$", ["a{,2}"], ["aa", ""]),
        ("^x{a}]}$", ["x{a}]}"], ["x"]),
        ("^(a)|b$", ["ax", "xb"], ["xa"]),
        ("^(?=.*[0-9])(?!.* ).{3,}$", ["ab1"], ["abc", "a 1"]),
        ("(?<=\\$)5(?<!x)", ["$5"], ["5"]),
        (#"^(.)\1$"#, ["aa", "😀😀"], ["ab"]),
        (#"^(?<q>['"]).*\k<q>$"#, [#"'x'"#, #""x""#], [#"'x""#]),
        (#"^(?:(a)|b)\1$"#, ["aa", "b"], ["ab"]),
        (#"^\p{L}+$"#, ["éłĠ"], ["a1"]),
        (#"^\p{Letter}\p{Lu}\P{Lu}$"#, ["xXx"], ["xxx"]),
        (#"^\p{Script=Greek}+$"#, ["αβγ"], ["abc"]),
        (#"^[\p{Nd}]+$"#, ["1٣"], ["a"]),
        (##"^\/\.\*\#$"##, ["/.*#"], ["/"]),
        ("^# a$", ["# a"], ["a"]),
        ("$", ["anything"], []),
    ]

    @Test(arguments: matching.indices) func `a pattern means what ECMA 262 says`(_ index: Int) throws {
        let (text, matching, differing) = Self.matching[index]
        let pattern = try Self.pattern(text)
        for subject in matching { #expect(Self.match(pattern, subject) == .matches, "\(text) on \(subject)") }
        for subject in differing { #expect(Self.match(pattern, subject) == .differs, "\(text) on \(subject)") }
    }

    /// What ECMA 262 does not have, with the offset of the fault.
    static let refused: [(String, Int)] = [
        ("(", 0), ("a)", 1), ("a(b(c)", 1), ("[a", 0), ("*a", 0), ("a**", 2), ("a+++", 2), ("a|?", 2), ("a{1}{2}", 4),
        ("(?i)a", 0), ("(?>a)", 0), ("(?#x)", 0), ("(?R)", 0), ("(*UTF)", 1), ("(?P<n>a)", 0), ("(?<1>a)", 0),
        ("(?<>a)", 0),
        (#"\A"#, 0), (#"a\Z"#, 1), (#"\Q*\E"#, 0), (#"\R"#, 0), (#"\K"#, 0), (#"\C"#, 0), (#"\a"#, 0), (#"\h"#, 0),
        (#"\N"#, 0),
        (#"\u12"#, 0), (#"\ud800"#, 0), (#"\ud800\u0041"#, 0), (#"\u{110000}"#, 0), (#"\u{d800}"#, 0), (#"\x4"#, 0),
        (#"\c1"#, 0),
        (#"\01"#, 0), (#"\1"#, 0), (#"(a)\2"#, 3), (#"\p"#, 0), (#"\p{}"#, 0), (#"\"#, 0), ("[z-a]", 1),
        (#"[a-\d]"#, 1),
        ("^*", 1), (#"\b+"#, 2), ("(?=a)*", 5), ("a{3,1}", 1), (#"\k<a>"#, 0),
    ]

    @Test(arguments: refused) func `what is not ECMA 262 is refused at its offset`(_ text: String, _ offset: Int) {
        let error = #expect(throws: PatternError.self) { try Self.pattern(text) }
        #expect(error?.offset == offset, "\(text): \(error.map { "\($0)" } ?? "")")
    }

    @Test func `what PCRE2 cannot do is refused at compile time`() {
        for text in [#"\p{Nonsense}"#, "(?<=a+)b", "((a{1000}){1000}){1000}", "a{70000}"] {
            #expect(throws: PatternError.self, "\(text)") { try Self.pattern(text) }
        }
        let deep = String(repeating: "(", count: 80) + String(repeating: ")", count: 80)
        #expect(throws: PatternError.self) { try Self.pattern(deep) }
    }

    /// The last item is a class where it can be: PCRE2 looks for a needed letter first, and is done when there is none.
    static let bombs: [(String, String)] = [
        ("^(a+)+$", String(repeating: "a", count: 40) + "b"),
        ("^(a|aa)+$", String(repeating: "a", count: 60) + "b"),
        ("^(([a-z])+.)+[A-Z]([a-z])+$", String(repeating: "a", count: 60)),
        ("(x+x+)+[yz]", String(repeating: "x", count: 60)),
        ("(.*)*(.*)*(.*)*[yz]", String(repeating: "a", count: 5000)),
        (".*.*.*.*[=!]", String(repeating: "a", count: 3000)),
        // No backtracking that PCRE2 would count: each start runs to the end.
        ("a*[bc]", String(repeating: "a", count: 65_536)),
        ("(?:a|b)*[cd]", String(repeating: "ab", count: 32_768)),
        (#"^(a*)*\1*$"#, String(repeating: "a", count: 2000) + "b"),
        (#"(a*)(\1|x)*[yz]"#, String(repeating: "a", count: 20_000)),
        ("(?=(a+))a*[bc]\\1", String(repeating: "a", count: 65_000)),
        ("(a?){30}a{30}[bc]", String(repeating: "a", count: 40)),
        (#"(a*)\1[bc]"#, String(repeating: "a", count: 60_000)),
    ]

    @Test(arguments: bombs.indices) func `a bomb ends by its steps, not by the clock`(_ index: Int) throws {
        let (text, subject) = Self.bombs[index]
        let pattern = try Self.pattern(text)
        let matcher = PatternMatcher(limits: SchemaLimits())
        matcher.steps = SchemaLimits().patternSteps
        let clock = ContinuousClock()
        var outcome = Pattern.Outcome.matches
        let time = clock.measure {
            outcome = Array(subject.utf8).withBytes { pattern.match($0, with: matcher) }
        }
        #expect(outcome == .tooComplex)
        // Far above what was measured (below a millisecond in a release build), so that a busy machine does not fail it; without the meter
        // these take minutes.
        #expect(time < .seconds(60), "\(text): \(time)")
    }

    @Test func `the steps of all patterns of a validation are one budget`() throws {
        let schema = try JSONSchema.compile(#"{"items":{"pattern":"^(a|aa)+$"}}"#)
        let item = #""\#(String(repeating: "a", count: 12))b""#
        #expect(schema.validate("[\(item)]")?.cause == .value)
        #expect(
            schema.violations(of: "[" + Array(repeating: item, count: 40).joined(separator: ",") + "]", upTo: 100).last?
                .cause == .tooComplex)
        // The next validation begins with a full one.
        #expect(schema.validate("[\(item)]")?.cause == .value)
    }

    @Test func `a subject over the bound is not held against a pattern`() throws {
        let schema = try JSONSchema.compile(#"{"pattern":"^a*$"}"#)
        #expect(schema.validate(#""\#(String(repeating: "a", count: 65_536))""#) == nil)
        let violation = try #require(schema.validate(#""\#(String(repeating: "a", count: 65_537))""#))
        #expect(violation.cause == .tooComplex)
        #expect(violation.message.contains("65536 bytes"))
    }

    @Test func `a match that needs much memory for going back ends`() throws {
        let schema = try JSONSchema.compile(#"{"pattern":"^(?:a|b)*$"}"#)
        #expect(schema.validate(#""\#(String(repeating: "ab", count: 500))""#) == nil)
        #expect(schema.validate(#""\#(String(repeating: "ab", count: 30_000))""#)?.cause == .tooComplex)
    }

    private static func pattern(_ text: String) throws(PatternError) -> Pattern {
        let result: Result<Pattern, PatternError> = Array(text.utf8).withBytes { bytes in
            do throws(PatternError) { return .success(try Pattern(bytes)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    private static func match(_ pattern: Pattern, _ subject: String) -> Pattern.Outcome {
        let matcher = PatternMatcher(limits: SchemaLimits())
        matcher.steps = 10_000
        return Array(subject.utf8).withBytes { pattern.match($0, with: matcher) }
    }
}
