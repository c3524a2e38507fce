import KuraBytes
import Glibc
import KuraStorage

/// Which scopes a grant is about: `*` stands for any bytes, also none; `{uid}` for the user's number in decimal; everything else
/// for itself.
///
/// `{uid}` comes at most once, before any `*`, and is the whole of a run of digits: beside it stands no digit and no `*`. So what
/// one user's pattern admits, no other user's does, and the user is told from the scope's name.
struct ScopePattern: Sendable, Hashable {
    /// What stands before `{uid}`; nil without one.
    private let beforeUser: [UInt8]?
    /// What stands between the stars of the rest.
    private let literals: [[UInt8]]
    /// As it was written.
    let text: String

    static let byteLimit = 256

    /// - Throws: what is wrong with the pattern, in words.
    init(_ text: String) throws(Configuration.Refusal) {
        self.text = text
        let bytes = Array(text.utf8)
        guard (1...Self.byteLimit).contains(bytes.count), !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw Configuration.Refusal(
                description: "a scope is a pattern of 1 to \(Self.byteLimit) bytes without control characters")
        }
        let parts = text.split(separator: "{uid}", omittingEmptySubsequences: false).map { Array($0.utf8) }
        guard parts.count <= 2,
            !parts.contains(where: { $0.contains(UInt8(ascii: "{")) || $0.contains(UInt8(ascii: "}")) })
        else {
            throw Configuration.Refusal(description: "\(text): braces are only for {uid}, which comes once")
        }
        if parts.count == 2 {
            let isApart = !Self.touches(parts[0].last) && !Self.touches(parts[1].first)
            guard isApart, !parts[0].contains(UInt8(ascii: "*")) else {
                throw Configuration.Refusal(
                    description: "\(text): {uid} comes before any star, with no digit and no star beside it")
            }
        }
        beforeUser = parts.count == 2 ? parts[0] : nil
        literals = parts.last!.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map(Array.init)
    }

    /// One user's number could go on, or be hidden, there.
    private static func touches(_ byte: UInt8?) -> Bool {
        byte.map { $0 == UInt8(ascii: "*") || (0x30...0x39).contains($0) } ?? false
    }

    var namesUser: Bool { beforeUser != nil }

    /// The pattern as it is for one user.
    func text(for uid: UInt32) -> String { text.replacing("{uid}", with: String(uid)) }

    /// Whether the scope is one of `uid`'s.
    func matches(_ scope: Bytes, uid: UInt32) -> Bool {
        guard let beforeUser else { return Self.matches(scope, literals) }
        guard let found = split(scope, beforeUser) else { return false }
        return found.uid == uid && Self.matches(found.rest, literals)
    }

    /// Whose scope it is; nil when it is none of the pattern's, or the pattern's scopes are nobody's in particular.
    func user(of scope: Bytes) -> UInt32? {
        guard let beforeUser, let found = split(scope, beforeUser), Self.matches(found.rest, literals) else {
            return nil
        }
        return found.uid
    }

    /// Whether the scope is one of some user's.
    func matchesAnyUser(_ scope: Bytes) -> Bool { namesUser ? user(of: scope) != nil : Self.matches(scope, literals) }

    /// The number behind `prefix` and what follows it. Only the usual spelling counts: no leading zeros.
    private func split(_ scope: Bytes, _ prefix: [UInt8]) -> (uid: UInt32, rest: Bytes)? {
        guard scope.starts(with: prefix) else { return nil }
        var position = prefix.count
        var number: UInt64 = 0
        while position < scope.count, (0x30...0x39).contains(scope[position]), number <= UInt64(UInt32.max) {
            number = number * 10 + UInt64(scope[position] - 0x30)
            position += 1
        }
        let digits = position - prefix.count
        guard digits > 0, number <= UInt64(UInt32.max), digits == 1 || scope[prefix.count] != 0x30 else { return nil }
        return (UInt32(number), Bytes(rebasing: scope[position...]))
    }

    /// The first literal stands at the beginning, the last at the end, the others between them, each as early as it can.
    private static func matches(_ scope: Bytes, _ literals: [[UInt8]]) -> Bool {
        let first = literals[0]
        guard scope.count >= first.count, equal(scope, 0, first) else { return false }
        guard literals.count > 1 else { return scope.count == first.count }
        let last = literals[literals.count - 1]
        let end = scope.count - last.count
        var position = first.count
        guard end >= position, equal(scope, end, last) else { return false }
        for literal in literals[1..<(literals.count - 1)] where !literal.isEmpty {
            while position + literal.count <= end, !equal(scope, position, literal) { position += 1 }
            guard position + literal.count <= end else { return false }
            position += literal.count
        }
        return true
    }

    private static func equal(_ scope: Bytes, _ position: Int, _ literal: [UInt8]) -> Bool {
        for (offset, byte) in literal.enumerated() where scope[position + offset] != byte { return false }
        return true
    }
}
