/// Why a search's text is refused, and where.
public struct SearchFault: Error, Equatable {
    /// Bytes before the place in the query's UTF-8.
    public var offset: Int
    public var message: String
}

/// What is searched for, as a client writes it:
///
///     query = any *("OR" any)                       one of them
///     any   = [no] item *(["AND"] [no] item)        all of them, and none of those behind `no`
///     no    = "NOT" / "-"
///     item  = word ["*"] / DQUOTE words DQUOTE ["*"] / "(" query ")"
///
/// A word is anything without white space, quotes and parentheses; `*` behind it finds what begins so. AND, OR and NOT are
/// operators in capitals alone.
///
/// `fts` is what FTS5 is asked: every word of the client's stands in it as a string in quotes, so nothing of FTS5's own language (columns,
/// NEAR, ^, +) can be said, and operators and parentheses are written here.
public struct SearchExpression: Sendable {
    /// The expression in FTS5's language.
    let fts: String
    /// Many terms may begin so: finding them all takes its time.
    let hasShortPrefix: Bool

    /// Bytes of a query, words and phrases in it, and parentheses in parentheses.
    public static let byteLimit = 4096
    public static let termLimit = 64
    static let depthLimit = 8

    /// Throws: where and why it is no query.
    public init(_ query: String, _ tokenizer: SearchDefinition.Tokenizer) throws(SearchFault) {
        guard query.utf8.count <= Self.byteLimit else {
            throw SearchFault(offset: Self.byteLimit, message: "a query has at most \(Self.byteLimit) bytes")
        }
        var parser = try SearchParser(query, tokenizer)
        let node = try parser.query(depth: 0)
        if let rest = parser.next {
            throw SearchFault(offset: rest.offset, message: "this parenthesis closes nothing")
        }
        fts = node
        hasShortPrefix = parser.hasShortPrefix
    }
}

/// A part of a query that means something by itself.
private struct SearchToken {
    enum Kind: Equatable {
        case term(String, isPrefix: Bool)
        case minus, not, and, or, open, close
    }
    var kind: Kind
    var offset: Int
}

private struct SearchParser {
    private var scalars: ArraySlice<(scalar: Unicode.Scalar, offset: Int)>
    private let end: Int
    private let tokenizer: SearchDefinition.Tokenizer
    private var terms = 0
    private(set) var hasShortPrefix = false
    /// The token that comes next; nil at the end.
    private(set) var next: SearchToken?

    init(_ query: String, _ tokenizer: SearchDefinition.Tokenizer) throws(SearchFault) {
        var all: [(scalar: Unicode.Scalar, offset: Int)] = []
        var offset = 0
        for scalar in query.unicodeScalars {
            // FTS5 would take a text to end at a 0.
            all.append((scalar.value < 0x20 ? " " : scalar, offset))
            offset += UTF8.width(scalar)
        }
        scalars = all[...]
        end = offset
        self.tokenizer = tokenizer
        try advance()
    }

    // MARK: Tokens

    private mutating func advance() throws(SearchFault) {
        while let first = scalars.first, first.scalar.properties.isWhitespace { scalars.removeFirst() }
        next = nil
        guard let (first, offset) = scalars.first else { return }
        switch first {
        case "(", ")":
            scalars.removeFirst()
            next = SearchToken(kind: first == "(" ? .open : .close, offset: offset)
        case "-":
            scalars.removeFirst()
            guard let following = scalars.first, !following.scalar.properties.isWhitespace, following.scalar != ")"
            else {
                throw SearchFault(offset: offset, message: "a minus stands right before what is left out")
            }
            next = SearchToken(kind: .minus, offset: offset)
        case "\"": next = try phrase(offset)
        default: next = try word(offset)
        }
    }

    private mutating func phrase(_ offset: Int) throws(SearchFault) -> SearchToken {
        scalars.removeFirst()
        guard let close = scalars.firstIndex(where: { $0.scalar == "\"" }) else {
            throw SearchFault(offset: offset, message: "this quotation mark is not closed")
        }
        let text = Self.string(scalars[..<close])
        scalars = scalars[(close + 1)...]
        let isPrefix = scalars.first?.scalar == "*"
        if isPrefix { scalars.removeFirst() }
        if let (following, offset) = scalars.first, !following.properties.isWhitespace, following != ")" {
            throw SearchFault(offset: offset, message: "a phrase ends with white space")
        }
        return try term(text, isPrefix: isPrefix, offset)
    }

    private mutating func word(_ offset: Int) throws(SearchFault) -> SearchToken {
        let close = scalars.firstIndex {
            ($0.scalar.properties.isWhitespace || "()\"".unicodeScalars.contains($0.scalar))
        }
        var word = scalars[..<(close ?? scalars.endIndex)]
        scalars = scalars[word.endIndex...]
        if let (following, offset) = scalars.first, following == "\"" || following == "(" {
            throw SearchFault(offset: offset, message: "white space stands before a phrase and a parenthesis")
        }
        switch Self.string(word) {
        case "AND": return SearchToken(kind: .and, offset: offset)
        case "OR": return SearchToken(kind: .or, offset: offset)
        case "NOT": return SearchToken(kind: .not, offset: offset)
        default: break
        }
        let isPrefix = word.last?.scalar == "*"
        if isPrefix { word.removeLast() }
        if let star = word.first(where: { $0.scalar == "*" }) {
            throw SearchFault(offset: star.offset, message: "an asterisk stands at the end of a word or phrase")
        }
        return try term(Self.string(word), isPrefix: isPrefix, offset)
    }

    /// A word or a phrase in which there is something to find.
    private mutating func term(
        _ text: String, isPrefix: Bool, _ offset: Int
    ) throws(SearchFault) -> SearchToken {
        terms += 1
        guard terms <= SearchExpression.termLimit else {
            throw SearchFault(
                offset: offset, message: "a query has at most \(SearchExpression.termLimit) words and phrases")
        }
        switch tokenizer {
        case .unicode61:
            guard text.unicodeScalars.contains(where: Self.isOfWord) else {
                throw SearchFault(offset: offset, message: "there is no letter or digit to find here")
            }
        case .trigram:
            guard text.unicodeScalars.count >= 3 else {
                throw SearchFault(offset: offset, message: "the trigram tokenizer finds three characters or more")
            }
        }
        if isPrefix, tokenizer == .unicode61, text.unicodeScalars.count(where: Self.isOfWord) < 3 {
            hasShortPrefix = true
        }
        return SearchToken(kind: .term(text, isPrefix: isPrefix), offset: offset)
    }

    private static func string(_ part: ArraySlice<(scalar: Unicode.Scalar, offset: Int)>) -> String {
        var text = String.UnicodeScalarView()
        for (scalar, _) in part { text.append(scalar) }
        return String(text)
    }

    /// Source: https://sqlite.org/fts5.html#unicode61_tokenizer
    private static func isOfWord(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
            .letterNumber, .otherNumber, .privateUse:
            true
        default: false
        }
    }

    // MARK: Grammar

    mutating func query(depth: Int) throws(SearchFault) -> String {
        var parts = [try all(depth)]
        while next?.kind == .or {
            try advance()
            parts.append(try all(depth))
        }
        return parts.count == 1 ? parts[0] : "(" + parts.joined(separator: " OR ") + ")"
    }

    private mutating func all(_ depth: Int) throws(SearchFault) -> String {
        var wanted: [String] = []
        var unwanted: [String] = []
        let start = next?.offset ?? end
        loop: while let token = next {
            switch token.kind {
            case .or, .close: break loop
            case .and:
                guard !(wanted.isEmpty && unwanted.isEmpty) else { throw operand(of: "AND", token.offset) }
                try advance()
                switch next?.kind {
                case nil, .and, .or, .close: throw operand(of: "AND", token.offset)
                default: continue loop
                }
            case .not, .minus:
                try advance()
                switch next?.kind {
                case .open, .term: break
                default: throw operand(of: token.kind == .not ? "NOT" : "-", token.offset)
                }
                unwanted.append(try item(depth))
            case .open, .term: wanted.append(try item(depth))
            }
        }
        guard !wanted.isEmpty else {
            throw SearchFault(
                offset: start,
                message: unwanted.isEmpty
                    ? "a word or a phrase is missing here" : "beside what is left out stands what is to be found")
        }
        let found = wanted.count == 1 ? wanted[0] : "(" + wanted.joined(separator: " AND ") + ")"
        return unwanted.isEmpty ? found : "(\(found) NOT (\(unwanted.joined(separator: " OR "))))"
    }

    private func operand(of word: String, _ offset: Int) -> SearchFault {
        SearchFault(offset: offset, message: "\(word) stands before a word, a phrase or a parenthesis")
    }

    private mutating func item(_ depth: Int) throws(SearchFault) -> String {
        guard let token = next else { throw SearchFault(offset: end, message: "a word or a phrase is missing here") }
        guard case .term(let text, let isPrefix) = token.kind else {
            guard depth < SearchExpression.depthLimit else {
                throw SearchFault(
                    offset: token.offset,
                    message: "there are at most \(SearchExpression.depthLimit) parentheses in one another")
            }
            try advance()
            let inner = try query(depth: depth + 1)
            guard next?.kind == .close else {
                throw SearchFault(offset: token.offset, message: "this parenthesis is not closed")
            }
            try advance()
            return inner
        }
        try advance()
        // Neither words nor phrases have quotes in them.
        return "\"\(text)\"" + (isPrefix ? " *" : "")
    }
}
