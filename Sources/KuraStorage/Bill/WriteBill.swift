import KuraBytes

/// What has been asked to be kept: changes, and bytes of keys and values.
public struct WriteTally: Equatable, Sendable {
    public var changes = 0
    public var bytes = 0
    /// Requests that the changes came in.
    public var requests = 0
    /// Changes of something to what it was: nothing was written for them.
    public var noOps = 0
    /// Their part of the log, where it has been shared out.
    public var logBytes = 0

    public init(changes: Int = 0, bytes: Int = 0, requests: Int = 0, noOps: Int = 0, logBytes: Int = 0) {
        self.logBytes = logBytes
        self.changes = changes
        self.bytes = bytes
        self.requests = requests
        self.noOps = noOps
    }

    public static func += (left: inout Self, right: Self) {
        left.changes += right.changes
        left.bytes += right.bytes
        left.requests += right.requests
        left.noOps += right.noOps
        left.logBytes += right.logBytes
    }

    static func - (left: Self, right: Self) -> Self {
        WriteTally(
            changes: left.changes - right.changes, bytes: left.bytes - right.bytes,
            requests: left.requests - right.requests, noOps: left.noOps - right.noOps,
            logBytes: left.logBytes - right.logBytes)
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

    /// Whose a change is on the bill: a program's, by its number, for an operation, by the number that the server gives it. Requests that
    /// follow one another have different numbers. The daemon's own changes have no program and no operation.
    struct Payer {
        var writer: UInt16
        var operation: UInt16
        var request: UInt32

        /// The number of the daemon's own changes. They belong to no request, and the sizes of batches leave them out.
        static let daemonsRequest: UInt32 = 0
    }

    struct Key: Hashable {
        var writer: UInt16
        var operation: UInt16
        var store: BilledStore
    }

    /// Where a change was counted, for taking it back.
    struct Entry {
        fileprivate var place: UInt32
        fileprivate var bytes: UInt32
        fileprivate var isFirst: Bool
    }

    /// How many changes the last requests of a program had each.
    private struct Batches {
        var sizes = SIMD8<UInt32>(repeating: 0)
        var count = 0
    }

    /// Programs that are told apart; those that come later are one.
    static let writerLimit = 255
    /// Changes between two that are looked up among those written most, at most; by chance, or a client's own rhythm would decide which.
    private static let longestGap: UInt64 = 16

    private(set) var writers: [Writer] = [Writer(name: [], user: .max)]
    private var numbers: [Writer: UInt16] = [:]
    private var places: [Key: Int] = [:]
    private var keys: [Key] = []
    private var tallies: ContiguousArray<WriteTally> = []
    private var batches: ContiguousArray<Batches> = [Batches()]
    /// The cell that was counted in last: mostly the next one as well.
    private var last = (key: Key(writer: 0, operation: 0, store: .settings), place: -1)
    private var unsampled = 0
    private var untilSample = 8
    private var chance: UInt64 = 0x9E37_79B9_7F4A_7C15
    private(set) var scopes = HeavyHitters()
    private(set) var hotKeys = HeavyHitters()
    /// What could be written less.
    var advice = AdviceBook()
    /// Something was counted since this was set to false.
    var hasNews = false

    /// The request that changed something last, whose it is, and how many changes it has had.
    private var changing: (request: UInt32?, writer: UInt16, changes: Int) = (nil, 0, 0)

    /// The number of a program.
    public func number(of name: [UInt8], user: UInt32) -> UInt16 {
        let writer = Writer(name: name, user: user)
        if let number = numbers[writer] { return number }
        guard writers.count <= Self.writerLimit else { return 0 }
        let number = UInt16(writers.count)
        writers.append(writer)
        batches.append(Batches())
        numbers[writer] = number
        return number
    }

    /// A change is being kept.
    /// `isNamed`: the scope and the key may be told; those of secrets may not.
    /// - Returns: what takes it back.
    @discardableResult
    func note(
        _ store: BilledStore, scope: Bytes, key: Bytes, bytes: Int, isNamed: Bool = true, by payer: Payer
    ) -> Entry {
        let place = place(of: store, payer)
        tallies[place].changes += 1
        tallies[place].bytes += bytes
        hasNews = true
        let isFirst = changing.request != payer.request
        if isFirst {
            endRequest()
            changing = (payer.request, payer.writer, 0)
            tallies[place].requests += 1
        }
        changing.changes += 1
        let entry = Entry(place: UInt32(place), bytes: UInt32(clamping: bytes), isFirst: isFirst)
        unsampled += 1
        guard unsampled >= untilSample else { return entry }
        let weight = WriteTally(changes: unsampled, bytes: bytes * unsampled)
        unsampled = 0
        chance = chance &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        untilSample = 1 + Int(truncatingIfNeeded: (chance >> 32) % Self.longestGap)
        guard isNamed else { return entry }
        scopes.note(store, scope, Bytes(), weight, by: payer.writer)
        hotKeys.note(store, scope, key, weight, by: payer.writer)
        return entry
    }

    /// A change was refused after all.
    func takeBack(_ entry: Entry) {
        let place = Int(entry.place)
        tallies[place].changes -= 1
        tallies[place].bytes -= Int(entry.bytes)
        if entry.isFirst {
            tallies[place].requests -= 1
            // It may change something yet.
            changing.request = nil
        }
        if changing.changes > 0 { changing.changes -= 1 }
    }

    /// A write of what was there already.
    func noteNoOp(_ store: BilledStore, by payer: Payer) {
        tallies[place(of: store, payer)].noOps += 1
        hasNews = true
    }

    /// A blob is being deleted that was stored less than a minute ago.
    func noteShortLife(_ namespace: [UInt8], bytes: Int, isFile: Bool, at: Int64, by payer: Payer) {
        advice.noteShortLife(
            namespace, client: writers[Int(payer.writer)].name, bytes: bytes, isFile: isFile, at: at)
    }

    private func endRequest() {
        guard changing.changes > 0, changing.request != Payer.daemonsRequest else { return }
        let writer = Int(changing.writer)
        batches[writer].sizes[batches[writer].count & 7] = UInt32(clamping: changing.changes)
        batches[writer].count += 1
    }

    /// How many changes some of the last requests had, of the programs that `body` picks by their numbers.
    func batchSizes(_ isMeant: (Int) -> Bool) -> [Int] {
        endRequest()
        changing.changes = 0
        var sizes: [Int] = []
        for writer in batches.indices where isMeant(writer) {
            let sample = batches[writer]
            for place in 0..<min(8, sample.count) { sizes.append(Int(sample.sizes[place])) }
        }
        return Array(sizes.prefix(16))
    }

    @inline(__always)
    private func place(of store: BilledStore, _ payer: Payer) -> Int {
        let cell = Key(writer: payer.writer, operation: payer.operation, store: store)
        if cell != last.key || last.place < 0 { last = (cell, place(of: cell)) }
        return last.place
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
        let taken = untaken
        for place in tallies.indices { tallies[place] = WriteTally() }
        scopes.beginInterval()
        hotKeys.beginInterval()
        return taken
    }

    /// The same, without taking it.
    var untaken: [(key: Key, tally: WriteTally)] {
        tallies.indices.compactMap { tallies[$0] != WriteTally() ? (keys[$0], tallies[$0]) : nil }
    }

    /// What is written most is what was written most lately: counts half as much from now on.
    func fade() {
        scopes.fade()
        hotKeys.fade()
    }
}
