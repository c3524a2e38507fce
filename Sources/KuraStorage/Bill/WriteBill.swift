import KuraBytes

/// A room as the write bill names it.
public enum BilledStore: UInt8, CaseIterable, Sendable {
    case settings, secrets, documents, models, blobs

    /// It goes through the log.
    public var isDurable: Bool { self != .models && self != .blobs }

    init(_ store: Store) {
        self =
            switch store {
            case .settings, .requests, .configuration: .settings
            case .documents, .attachments: .documents
            case .secrets, .secretVersions: .secrets
            }
    }
}

/// What has been asked to be kept: changes, and bytes of keys and values.
public struct WriteTally: Equatable, Sendable {
    public var changes = 0
    public var bytes = 0

    public init(changes: Int = 0, bytes: Int = 0) {
        self.changes = changes
        self.bytes = bytes
    }

    static func += (left: inout Self, right: Self) {
        left.changes += right.changes
        left.bytes += right.bytes
    }

    /// By which what the disk was given is shared out: a change costs something however small it is.
    var weight: Int { bytes + changes * 96 }
}

/// Counts who has what written: the program and its user, what it asked for, the room, and the scopes and keys that are written most.
///
/// The bytes that reach the disk are counted where they leave (`CountingVFS`), by file; what a client asks for is counted here, and an
/// interval's bytes are shared out by it (`BillInterval`). So the sums are exact, and the shares are as good as the assumption that a byte
/// costs the same whoever sends it. Belongs to the loop.
public final class WriteBill {
    /// A program as it calls itself, with its version behind a slash, and its user.
    public struct Writer: Hashable, Sendable {
        public var name: [UInt8]
        public var user: UInt32
    }

    struct Key: Hashable {
        var writer: UInt16
        var operation: UInt16
        var store: BilledStore
    }

    /// Programs that are told apart; those that come later are one.
    static let writerLimit = 255
    /// One change of so many is looked up among those written most, and counts for all of them.
    private static let sampling = 8

    private(set) var writers: [Writer] = [Writer(name: [], user: .max)]
    private var numbers: [Writer: UInt16] = [:]
    private var places: [Key: Int] = [:]
    private var keys: [Key] = []
    private var tallies: ContiguousArray<WriteTally> = []
    /// The cell that was counted in last: mostly the next one as well.
    private var last = (key: Key(writer: 0, operation: 0, store: .settings), place: -1)
    private var unsampled = 0
    private(set) var scopes = HeavyHitters()
    private(set) var hotKeys = HeavyHitters()

    private var writer: UInt16 = 0
    /// What is being done, by the number that the server gives it.
    public var operation: UInt16 = 0

    /// The number of a program, for `begin`.
    public func number(of name: [UInt8], user: UInt32) -> UInt16 {
        let writer = Writer(name: name, user: user)
        if let number = numbers[writer] { return number }
        guard writers.count <= Self.writerLimit else { return 0 }
        let number = UInt16(writers.count)
        writers.append(writer)
        numbers[writer] = number
        return number
    }

    /// What follows is this program's.
    @inline(__always)
    public func begin(writer: UInt16) { self.writer = writer }

    /// A change is being kept.
    /// `isNamed`: the scope and the key may be told; those of secrets may not.
    func note(_ store: BilledStore, scope: Bytes, key: Bytes, bytes: Int, isNamed: Bool = true) {
        let cell = Key(writer: writer, operation: operation, store: store)
        if cell != last.key || last.place < 0 { last = (cell, place(of: cell)) }
        tallies[last.place] += WriteTally(changes: 1, bytes: bytes)
        unsampled += 1
        guard unsampled >= Self.sampling else { return }
        let weight = WriteTally(changes: unsampled, bytes: bytes * unsampled)
        unsampled = 0
        guard isNamed else { return }
        scopes.note(store, scope, Bytes(), weight)
        hotKeys.note(store, scope, key, weight)
    }

    private func place(of key: Key) -> Int {
        if let place = places[key] { return place }
        let place = tallies.count
        places[key] = place
        keys.append(key)
        tallies.append(WriteTally())
        return place
    }

    /// What has been counted since this was asked last.
    func take() -> [(key: Key, tally: WriteTally)] {
        var taken: [(key: Key, tally: WriteTally)] = []
        for place in tallies.indices where tallies[place].changes > 0 {
            taken.append((keys[place], tallies[place]))
            tallies[place] = WriteTally()
        }
        return taken
    }

    /// The same, without taking it.
    var untaken: [(key: Key, tally: WriteTally)] {
        tallies.indices.compactMap { tallies[$0].changes > 0 ? (keys[$0], tallies[$0]) : nil }
    }

    /// What is written most is what was written most lately: counts half as much from now on.
    func fade() {
        scopes.fade()
        hotKeys.fade()
    }
}
