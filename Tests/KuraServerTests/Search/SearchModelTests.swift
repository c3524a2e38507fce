import Testing

/// Random documents, edits and searches: what is found is what a naive look at every document finds, on pages, best first, and the
/// index is the one that would be made anew.
@Suite struct SearchModelTests {
    private struct Dice {
        var state: UInt64

        mutating func roll(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(limit))
        }

        mutating func word() -> String {
            ["one", "two", "three", "onto", "twofold", "thr", "éclair", "x1", "über"][roll(9)]
        }

        mutating func text() -> String {
            (0..<roll(6)).map { _ in word() }.joined(separator: [" ", ", ", "-"][roll(3)])
        }
    }

    /// A document: the text of each of three fields; nil where there is none. The third is not searched.
    private typealias Document = [String?]

    /// What a query asks, evaluated by the book.
    private indirect enum Query {
        case phrase([String], isPrefix: Bool)
        case all([Query], without: [Query])
        case any([Query])

        func matches(_ fields: [[String]]) -> Bool {
            switch self {
            case .phrase(let words, let isPrefix):
                fields.contains { tokens in
                    tokens.indices.contains { start in
                        guard start + words.count <= tokens.count else { return false }
                        return words.indices.allSatisfy { place in
                            isPrefix && place == words.count - 1
                                ? tokens[start + place].hasPrefix(words[place]) : tokens[start + place] == words[place]
                        }
                    }
                }
            case .all(let wanted, let unwanted):
                wanted.allSatisfy { $0.matches(fields) } && !unwanted.contains { $0.matches(fields) }
            case .any(let queries): queries.contains { $0.matches(fields) }
            }
        }
    }

    /// What tokens a text has, apart from SQLite: the words of the documents here have accents on single letters alone.
    private static func tokens(_ text: String, _ tokenizer: String) -> [String] {
        let plain = text.lowercased()
        guard tokenizer == "unicode61" else {
            let characters = Array(plain.unicodeScalars)
            guard characters.count >= 3 else { return [] }
            return (0...characters.count - 3).map { start in
                String(String.UnicodeScalarView(characters[start..<start + 3]))
            }
        }
        let letters = plain.map { ["é": "e", "ü": "u"][$0] ?? $0 }
        return letters.split { !($0.isLetter || $0.isNumber) }.map { String($0) }
    }

    /// - Returns: the query as it is sent, and what it means.
    private static func query(_ dice: inout Dice, _ depth: Int, _ tokenizer: String) -> (String, Query) {
        func term(_ dice: inout Dice) -> (String, Query) {
            let word = dice.word()
            switch dice.roll(4) {
            case 0:
                let text = word + " " + dice.word()
                return ("\"\(text)\"", .phrase(tokens(text, tokenizer), isPrefix: false))
            case 1 where tokenizer == "unicode61":
                let start = String(word.prefix(1 + dice.roll(3)))
                return (start + "*", .phrase(tokens(start, tokenizer), isPrefix: true))
            default:
                return word.count < 3 && tokenizer == "trigram"
                    ? ("three", .phrase(tokens("three", tokenizer), isPrefix: false))
                    : (word, .phrase(tokens(word, tokenizer), isPrefix: false))
            }
        }
        guard depth > 0 else { return term(&dice) }
        switch dice.roll(4) {
        case 0:
            let (first, one) = query(&dice, depth - 1, tokenizer)
            let (second, other) = query(&dice, depth - 1, tokenizer)
            return ("(\(first) OR \(second))", .any([one, other]))
        case 1:
            let (first, one) = query(&dice, depth - 1, tokenizer)
            let (second, other) = term(&dice)
            return ("(\(first) -\(second))", .all([one], without: [other]))
        case 2:
            let (first, one) = query(&dice, depth - 1, tokenizer)
            let (second, other) = query(&dice, depth - 1, tokenizer)
            return ("(\(first) \(second))", .all([one, other], without: []))
        default: return term(&dice)
        }
    }

    @Test(arguments: [(1, "unicode61"), (2, "unicode61"), (3, "trigram")])
    func `a search finds what a look at every document finds`(_ seed: Int, tokenizer: String) throws {
        let daemon = try TemporaryDaemon()
        var client = try daemon.connect()
        var dice = Dice(state: UInt64(seed))
        var model: [String: Document] = [:]
        var found = 0
        for round in 0..<5 {
            // Twice it is configured over what is there, and once it is killed.
            if round == 1 || round == 3 {
                let other = round == 1 ? "\"a\",\"b\"" : "\"b\",{\"path\":\"a\",\"weight\":3}"
                try client.result(
                    "documents.configure",
                    "{\"collection\":\"c\",\"searchFields\":[\(other)],\"searchTokenizer\":\"\(tokenizer)\"}")
            }
            if round == 4 {
                daemon.kill()
                try daemon.start()
                client = try daemon.connect()
            }
            for _ in 0..<60 {
                let id = "d\(dice.roll(50))"
                if dice.roll(5) == 0 {
                    model[id] = nil
                    try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"\(id)\"}")
                } else {
                    let texts: Document = (0..<3).map { _ in dice.roll(4) == 0 ? nil : dice.text() }
                    model[id] = texts
                    let members = zip(["a", "b", "other"], texts).compactMap { name, text in
                        text.map { "\"\(name)\":\(JSON.quoted($0))" }
                    }
                    try client.result(
                        "documents.put",
                        "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":{\(members.joined(separator: ","))}}")
                }
                if dice.roll(20) == 0 { try daemon.waitUntilFolded() }
            }
            guard round > 0 else { continue }
            try client.result("documents.describe", "{\"collection\":\"c\",\"waitMs\":600000}")
            for _ in 0..<40 { found += try check(&dice, model, tokenizer, client) }
        }
        #expect(found > 500)
        #expect(daemon.terminate() == 0)
        #expect(try TablesRecount.searchDifference(daemon.data) == nil)
    }

    private func check(_ dice: inout Dice, _ model: [String: Document], _ tokenizer: String, _ client: Client) throws
        -> Int
    {
        let (text, query) = Self.query(&dice, 2, tokenizer)
        let expected = model.filter { _, document in
            query.matches(document.prefix(2).map { Self.tokens($0 ?? "", tokenizer) })
        }
        let limit = [3, 7, 100][dice.roll(3)]
        var found: [String] = []
        var ranks: [Double] = []
        var cursor: String?
        repeat {
            let more = cursor.map { ",\"cursor\":\(JSON.quoted($0))" } ?? ""
            let page = try client.result(
                "documents.search", "{\"collection\":\"c\",\"query\":\(JSON.quoted(text)),\"limit\":\(limit)\(more)}")
            for document in page["documents"]?.elements ?? [] {
                found.append(document["id"]?.text ?? "")
                if case .number(let digits)? = document["rank"] { ranks.append(Double(digits) ?? 0) }
                #expect(document["snippets"]?.members.isEmpty == false, "\(text)")
                #expect(document["snippets"]?.members.values.allSatisfy { $0.text?.contains("[") == true } == true)
            }
            cursor = page["cursor"]?.text
        } while cursor != nil && found.count <= model.count
        #expect(found.sorted() == expected.keys.sorted(), "\(text)")
        #expect(ranks.count == found.count && zip(ranks, ranks.dropFirst()).allSatisfy { $0 >= $1 }, "\(text) \(ranks)")
        return found.count
    }
}
