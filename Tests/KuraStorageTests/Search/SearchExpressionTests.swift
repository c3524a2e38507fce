import KuraBytes
import KuraJSON
import SQLite
import Testing

@testable import KuraStorage

/// The language of searches: what FTS5 is asked for each query, and where what is no query is wrong.
@Suite struct SearchExpressionTests {
    @Test(arguments: [
        ("one", "\"one\""), ("one two", "(\"one\" AND \"two\")"), ("one AND two", "(\"one\" AND \"two\")"),
        ("one OR two", "(\"one\" OR \"two\")"), ("a b OR c", "((\"a\" AND \"b\") OR \"c\")"),
        ("a (b OR c)", "(\"a\" AND (\"b\" OR \"c\"))"), ("one -two", "(\"one\" NOT (\"two\"))"),
        ("-one two", "(\"two\" NOT (\"one\"))"), ("a NOT b -c", "(\"a\" NOT (\"b\" OR \"c\"))"),
        ("a -(b c)", "(\"a\" NOT ((\"b\" AND \"c\")))"), ("a AND -b", "(\"a\" NOT (\"b\"))"),
        ("begin*", "\"begin\" *"), ("\"two words\"", "\"two words\""), ("\"two wor\"*", "\"two wor\" *"),
        ("well-known", "\"well-known\""), ("title:x", "\"title:x\""), ("^first", "\"^first\""),
        ("near(", ""), ("NEAR", "\"NEAR\""), ("a+b", "\"a+b\""), ("or and not", "(\"or\" AND \"and\" AND \"not\")"),
        ("  \u{3000}a\tb ", "(\"a\" AND \"b\")"), ("a\u{0}b", "(\"a\" AND \"b\")"), ("{c0}:x", "\"{c0}:x\""),
        ("'x'", "\"'x'\""),
    ])
    func `a query is made of strings and operators alone`(query: String, fts: String) throws {
        let expression = try? SearchExpression(query, .unicode61)
        #expect(expression?.fts ?? "" == fts)
    }

    @Test(arguments: [
        ("", 0), ("   ", 3), ("\"open", 0), ("a \"open", 2), ("a OR", 4), ("OR a", 0), ("a OR OR b", 5),
        ("AND a", 0), ("a AND", 2), ("a AND OR b", 2), ("NOT", 0), ("a NOT", 2), ("a NOT OR b", 2), ("a - b", 2),
        ("-", 0), ("--a", 0), ("-a", 0), ("-a OR b", 0), ("b OR -a", 5), ("(a", 0), ("a)", 1), (")", 0), ("()", 1),
        ("*", 0), ("a*b", 1), ("**", 0), ("\"\"", 0), ("\"-\"", 0), ("a \"b\"c", 5), ("a\"b\"", 1), ("f(x)", 1),
        ("é *", 3), ("a 💥", 2), ("((((((((((a))))))))))", 8),
    ])
    func `what is no query is told with its place`(query: String, offset: Int) throws {
        let fault = #expect(throws: SearchFault.self) { try SearchExpression(query, .unicode61) }
        #expect(fault?.offset == offset, "\(query): \(fault?.message ?? "")")
        #expect(fault?.message.isEmpty == false)
    }

    @Test func `the trigram tokenizer wants three characters, and a query has its bounds`() throws {
        #expect(try SearchExpression("abc \"a b\"", .trigram).fts == "(\"abc\" AND \"a b\")")
        #expect(try SearchExpression("...", .trigram).fts == "\"...\"")
        #expect(throws: SearchFault.self) { try SearchExpression("abc éa", .trigram) }
        let most = Array(repeating: "w", count: SearchExpression.termLimit).joined(separator: " ")
        #expect(throws: Never.self) { try SearchExpression(most, .unicode61) }
        #expect(throws: SearchFault.self) { try SearchExpression(most + " w", .unicode61) }
        #expect(throws: SearchFault.self) {
            try SearchExpression(String(repeating: "a", count: SearchExpression.byteLimit + 1), .unicode61)
        }
    }

    /// Whatever is taken for a query FTS5 understands; what only FTS5 would understand has no way to it.
    @Test(arguments: SearchDefinition.Tokenizer.allCases)
    func `FTS5 understands whatever is taken for a query`(tokenizer: SearchDefinition.Tokenizer) throws {
        let definition = try "[\"a\",\"b\"]".withBytes { try SearchDefinition(fields: $0, tokenizer: tokenizer) }
        let maker = try SnippetMaker(definition)
        var text = SearchText()
        "{\"a\":\"one two three\",\"b\":\"four\"}".withBytes { text.read(StoredValue($0), definition) }
        let pieces = [
            "\"", "(", ")", "-", "*", " ", " ", "AND", "OR", "NOT", "NEAR", "c0", ":", "{", "}", "^", "+", "one", "two",
            "thr", "'", ";", "\u{0}", "\u{1}", "é", "\u{301}", ",", "10", "\\", "`", "[", "]",
        ]
        var dice = Dice(state: 7)
        var taken = 0
        for _ in 0..<20_000 {
            let query = (0..<(1 + dice.roll(9))).map { _ in pieces[dice.roll(pieces.count)] }.joined()
            guard let expression = try? SearchExpression(query, tokenizer) else { continue }
            taken += 1
            #expect(throws: Never.self, "\(query)") { _ = try maker.snippets(of: text, expression, words: 8) }
        }
        #expect(taken > 1000)
    }

    private struct Dice {
        var state: UInt64

        mutating func roll(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(limit))
        }
    }
}
