import KuraBytes
import Testing

@testable import KuraServer

@Suite struct ScopePatternTests {
    private func matches(_ pattern: String, _ scope: String, uid: UInt32 = 7) throws -> Bool {
        let pattern = try ScopePattern(pattern)
        return Array(scope.utf8).withBytes { pattern.matches($0, uid: uid) }
    }

    @Test(arguments: [
        ("app", "app", true), ("app", "apps", false), ("app", "ap", false), ("*", "", true), ("*", "anything", true),
        ("app*", "app", true), ("app*", "application", true), ("app*", "ap", false), ("*app", "myapp", true),
        ("*app", "apps", false), ("a*b*c", "abc", true), ("a*b*c", "axxbyyc", true), ("a*b*c", "acb", false),
        ("a*a", "a", false), ("a*a", "aa", true), ("*ab*ab*", "abab", true), ("*ab*ab*", "aba", false),
        ("longer*", "long", false), ("*longer", "onger", false), ("ab*ba", "aba", false), ("a*bcd*e", "abce", false),
        ("a**b", "ab", true), ("*b*", "aab", true), ("x*yy", "xyxyy", true), ("?", "a", false), ("[a]", "a", false),
    ])
    func `a star stands for any bytes and everything else for itself`(_ pattern: String, _ scope: String, _ fits: Bool)
        throws
    {
        #expect(try matches(pattern, scope) == fits)
    }

    @Test func `the user's number stands in its usual spelling and nobody else's fits`() throws {
        #expect(try matches("u-{uid}-*", "u-7-notes"))
        #expect(try matches("u-{uid}", "u-7"))
        for scope in [
            "u-70-notes", "u-07-notes", "u-17-notes", "u--notes", "u-7", "u-+7-notes", "v-7-notes", "u-7notes",
        ] {
            #expect(try !matches("u-{uid}-*", scope), "\(scope)")
        }
        #expect(try !matches("u-{uid}", "u-4294967303"), "2^32 + 7")
        // Far more digits than any number holds.
        #expect(try !matches("u-{uid}", "u-18446744073709551623"), "2^64 + 7")
        #expect(try !matches("u-{uid}-*", "u-" + String(repeating: "9", count: 253) + "-"))
        #expect(try !matches("u-{uid}-*", "u-" + String(repeating: "0", count: 252) + "7-"))
        #expect(try matches("u-{uid}", "u-4294967294", uid: 4_294_967_294))
        let pattern = try ScopePattern("u-{uid}-*")
        func user(_ scope: String) -> UInt32? { Array(scope.utf8).withBytes { pattern.user(of: $0) } }
        #expect(user("u-1000-a-b") == 1000)
        #expect(user("u-0-") == 0)
        #expect(user("u-01-x") == nil)
        #expect(user("x") == nil)
        #expect(pattern.text(for: 12) == "u-12-*")
    }

    @Test(arguments: [
        "", String(repeating: "a", count: 257), "a\u{1}", "u-{gid}", "{uid", "uid}", "{uid}{uid}", "*{uid}", "{uid}*",
        "u1{uid}", "{uid}0", "*-{uid}",
    ])
    func `a pattern under which users could meet is refused`(_ pattern: String) {
        #expect(throws: Configuration.Refusal.self) { try ScopePattern(pattern) }
    }
}
