import Synchronization

/// Models as an application has them: nothing of Kura's is on them.
struct Card: Codable, Identifiable, Sendable, Equatable {
    var id: String
    var deck: String
    var front: String
    var due: Int
    var isDone = false
    var note: String?
    var tags: [String] = []
}

extension Card {
    init(
        _ id: String, deck: String = "fr", due: Int = 0, isDone: Bool = false, note: String? = nil, tags: [String] = []
    ) {
        self.init(id: id, deck: deck, front: "front of \(id)", due: due, isDone: isDone, note: note, tags: tags)
    }
}

/// The same documents as an older or newer version of the application has them.
struct OldCard: Codable, Identifiable, Sendable, Equatable {
    var id: String
    var deck: String
}

struct Everything: Codable, Identifiable, Sendable {
    enum Level: String, Codable, CaseIterable, Comparable {
        case easy, hard, mean
        static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }
    struct Address: Codable, Sendable {
        var city: String
        var zip: Int
    }
    enum CodingKeys: String, CodingKey {
        case id, renamed = "due_at", dotted = "a.b", dollar = "$price", flags, other, small, ratio, level, second, home,
            work, list,
            counts, child
    }
    final class Child: Codable, Sendable {
        let name: String
        let children: [Child]
        init(name: String, children: [Child]) {
            self.name = name
            self.children = children
        }
    }

    var id: Int
    var renamed: Int
    var dotted: String
    var dollar: Double
    var flags: Bool
    var other: Bool
    var small: UInt8
    var ratio: Float?
    var level: Level
    var second: Level?
    var home: Address
    var work: Address?
    var list: [Int]
    var counts: [String: Int]
    var child: Child?

    var isFree: Bool { dollar == 0 }
    var isNotFlagged: Bool { !flags }
    var both: Bool { flags && other }
    var alias: Int { renamed }
    var half: Double { dollar / 2 }
}

/// An enum whose cases nobody lists.
struct Picky: Codable, Identifiable, Sendable {
    enum Kind: String, Codable { case word, phrase }
    var id: String
    var kind: Kind
    var size: Int
}

/// Counts from many tasks.
final class Counter: Sendable {
    private let value = Mutex(0)
    var count: Int { value.withLock { $0 } }

    func next() -> Int {
        value.withLock { value in
            value += 1
            return value
        }
    }
}
