import Foundation
import KuraBytes
import KuraProtocol
import Testing

/// The reader against another one: Foundation's JSONSerialization, on random and on broken texts.
@Suite struct JSONFoundationTests {
    @Test func `what is generated as JSON is accepted, and Foundation sees the same value`() throws {
        var generator = JSONGenerator(SeededGenerator())
        let seed = generator.random.seed
        for round in 0..<SeededGenerator.rounds(500) {
            let text = generator.value(depth: 3)
            let found = fault(in: text)
            try #require(found == nil, "seed \(seed), round \(round): \(String(decoding: text, as: UTF8.self))")
            let comparison = compare(text)
            try #require(comparison == .same, "seed \(seed), round \(round): \(String(decoding: text, as: UTF8.self))")
            // Without white space it is the same value, and no shorter text says it.
            let short = compacted(text)
            try #require(compare(short) == .same && Tree(short) == Tree(text) && compacted(short) == short)
        }
    }

    @Test func `what is accepted after random damage, Foundation accepts with the same value`() throws {
        var generator = JSONGenerator(SeededGenerator())
        let seed = generator.random.seed
        var counts: [Comparison: Int] = [:]
        for round in 0..<SeededGenerator.rounds(5000) {
            var text = generator.value(depth: 2)
            for _ in 0...generator.number(below: 3) { generator.damage(&text) }
            let accepted = fault(in: text) == nil
            let comparison = compare(text)
            counts[comparison, default: 0] += 1
            let shown = "seed \(seed), round \(round): \(String(decoding: text, as: UTF8.self))"
            switch comparison {
            case .same: #expect(accepted)
            case .different, .refusedByFoundation: Issue.record("\(comparison) \(shown)")
            case .numberOutOfRange: break
            case .refusedByBoth: #expect(!accepted)
            case .acceptedByFoundation:
                let found = try #require(fault(in: text))
                #expect(Self.isLeniency(found, text), "\(found) \(shown)")
            }
        }
        // Damage must leave enough on either side for this to mean something.
        #expect(counts[.same, default: 0] > 200 && counts[.refusedByBoth, default: 0] > 1000, "\(counts)")
    }

    /// What Foundation accepts against RFC 8259 or RFC 7493, by name.
    private static func isLeniency(_ fault: JSONFault, _ text: [UInt8]) -> Bool {
        // The last one of repeated names counts.
        if fault.reason == .duplicateName { return true }
        // A byte order mark is stepped over; UTF-16 and UTF-32 are guessed from zeros among the first bytes.
        if text.starts(with: [0xEF, 0xBB, 0xBF]) || text.prefix(4).contains(0) { return true }
        // A comma may stand before a closing bracket.
        let before = text[..<fault.offset].last { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        let next = text[fault.offset...].first
        return before == UInt8(ascii: ",") && (next == UInt8(ascii: "}") || next == UInt8(ascii: "]"))
    }

    private enum Comparison: Hashable {
        case same, different, refusedByFoundation, refusedByBoth, acceptedByFoundation
        /// Foundation has no value for a number beyond Double's range.
        case numberOutOfRange
    }

    private func compare(_ text: [UInt8]) -> Comparison {
        let theirs = try? JSONSerialization.jsonObject(with: Data(text), options: .fragmentsAllowed)
        guard fault(in: text) == nil, let ours = Tree(text) else {
            return theirs == nil ? .refusedByBoth : .acceptedByFoundation
        }
        guard let theirs else { return ours.hasUnrepresentableNumber ? .numberOutOfRange : .refusedByFoundation }
        return ours.equals(theirs) ? .same : .different
    }
}

/// A value read through the reader's public functions; numbers as their text.
private indirect enum Tree: Equatable {
    case object([[UInt8]: Tree])
    case array([Tree])
    case string([UInt8])
    case number(String)
    case bool(Bool)
    case null

    init?(_ text: [UInt8]) {
        guard let tree = GuardedBytes.with(text, { Tree($0) }) else { return nil }
        self = tree
    }

    private init?(_ text: Bytes) {
        let storage = WalkStorage()
        var reader = JSONReader(text, names: NameStack())
        guard let value = try? reader.value() else { return nil }
        let bytes = Bytes(rebasing: text[Int(value.start)..<Int(value.end)])
        switch value.kind {
        case .object:
            var members: [[UInt8]: Tree] = [:]
            var walk = JSONWalk(bytes, storage: storage)
            while let (name, value) = walk.nextMember() {
                let name = Array(name)
                guard let tree = Tree(value) else { return nil }
                members[name] = tree
            }
            self = .object(members)
        case .array:
            var elements: [Tree] = []
            var walk = JSONWalk(bytes, storage: storage)
            while let element = walk.nextElement() {
                guard let tree = Tree(element) else { return nil }
                elements.append(tree)
            }
            self = .array(elements)
        case .string: self = .string(JSONWalk.string(bytes, storage: storage).map(Array.init) ?? [])
        case .number: self = .number(String(decoding: bytes, as: UTF8.self))
        case .true, .false: self = .bool(value.kind == .true)
        case .null: self = .null
        }
    }

    var hasUnrepresentableNumber: Bool {
        switch self {
        case .object(let members): members.values.contains { $0.hasUnrepresentableNumber }
        case .array(let elements): elements.contains { $0.hasUnrepresentableNumber }
        case .number(let text): !(Double(text) ?? .infinity).isFinite || Double(text) == 0
        default: false
        }
    }

    func equals(_ other: Any) -> Bool {
        switch self {
        case .object(let members):
            guard let other = other as? [String: Any] else { return false }
            // Swift's strings are equal when canonically equivalent, so Foundation may have merged names that differ.
            let distinct = Set(members.keys.map { String(decoding: $0, as: UTF8.self) })
            guard other.count == distinct.count else { return false }
            if distinct.count < members.count { return true }
            return members.allSatisfy { name, value in
                other[String(decoding: name, as: UTF8.self)].map(value.equals) ?? false
            }
        case .array(let elements):
            guard let other = other as? [Any], other.count == elements.count else { return false }
            return zip(elements, other).allSatisfy { $0.equals($1) }
        case .string(let bytes): return (other as? String).map { Array($0.utf8) == bytes } ?? false
        case .bool(let value): return (other as? NSNumber)?.boolValue == value && "\(type(of: other))".contains("Bool")
        case .number(let text):
            guard let other = other as? NSNumber, let mine = Double(text) else { return false }
            if let integer = Int64(text) { return other.int64Value == integer }
            // Foundation keeps some as Decimal, whose way to Double loses the last digits.
            return abs(other.doubleValue - mine) <= abs(mine) * 1e-12
        case .null: return other is NSNull
        }
    }
}
