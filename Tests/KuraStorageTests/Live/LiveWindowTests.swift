import KuraBytes
import KuraJSON
import Testing

@testable import KuraStorage

/// The window against a plain list of what matches, and a client that applies what it is told.
@Suite struct LiveWindowTests {
    /// What a client does with changes.
    struct List {
        var ids: [String] = []
        var revs: [String: UInt64] = [:]

        mutating func apply(_ window: LiveWindow) -> Int {
            var inserted: [(id: String, position: Int)] = []
            var count = 0
            window.takeChanges { change in
                let id = String(decoding: change.id, as: UTF8.self)
                count += 1
                let place = ids.firstIndex(of: id)
                #expect((place == nil) == (change.step == .inserted), "\(change.step) \(id) in \(ids)")
                #expect(change.step == .removed || !change.value.isEmpty)
                if change.step == .removed || change.step == .moved, let place { ids.remove(at: place) }
                if change.step == .inserted || change.step == .moved { inserted.append((id, change.position)) }
                if change.step == .updated { #expect(revs[id] != change.rev) }
                revs[id] = change.step == .removed ? nil : change.rev
            }
            for (id, position) in inserted {
                #expect(position <= ids.count)
                ids.insert(id, at: min(position, ids.count))
            }
            return count
        }
    }

    struct Truth {
        var documents: [String: (value: Int, rev: UInt64)] = [:]

        var ids: [String] {
            documents.sorted { ($0.value.value, $0.key) < ($1.value.value, $1.key) }.map(\.key)
        }
    }

    private static func key(_ value: Int, _ id: String) -> [UInt8] {
        var key = ByteBuffer(capacity: 32)
        with("\(value)") { IndexKey.append(StoredValue($0), to: &key) }
        with(id) { LiveKey.append(id: $0, to: &key) }
        return Array(key.bytes)
    }

    private static func put(_ window: LiveWindow, _ id: String, _ value: Int, rev: UInt64) {
        window.put(
            Array(id.utf8), with(id) { LiveWindow.hash($0) }, rev: rev, key: key(value, id),
            value: Array("\(value)".utf8))
    }

    private static func remove(_ window: LiveWindow, _ id: String, rev: UInt64) {
        window.remove(Array(id.utf8), with(id) { LiveWindow.hash($0) }, rev: rev)
    }

    private static func shown(_ window: LiveWindow) -> [String] {
        var ids: [String] = []
        window.forEach(from: 0) { id, _, _ in
            ids.append(String(decoding: id, as: UTF8.self))
            return true
        }
        return ids
    }

    /// Reads what a window begins with, in a random order, as a walk would.
    private static func filled(_ truth: Truth, _ limit: Int?, _ random: inout SplitMix) -> LiveWindow {
        let window = LiveWindow(limit: limit)
        for (id, state) in truth.documents.shuffled(using: &random) where window.wants(key(state.value, id)) {
            put(window, id, state.value, rev: state.rev)
        }
        return window
    }

    @Test(arguments: [nil, 1, 3, 20] as [Int?])
    func `applying what is told gives what is shown, whatever comes`(_ limit: Int?) {
        for seed in 0..<150 {
            var random = SplitMix(state: UInt64(seed) &* 0x9E37_79B9 &+ UInt64(limit ?? 0))
            var truth = Truth()
            var rev: UInt64 = 0
            let names = Int.random(in: 4...160, using: &random)
            func change(_ window: LiveWindow?) {
                rev += 1
                let id = "d\(Int.random(in: 0..<names, using: &random))"
                if Int.random(in: 0...3, using: &random) == 0 {
                    truth.documents[id] = nil
                    if let window { Self.remove(window, id, rev: rev) }
                } else {
                    let value = Int.random(in: 0...12, using: &random)
                    truth.documents[id] = (value, rev)
                    if let window { Self.put(window, id, value, rev: rev) }
                }
            }
            for _ in 0..<names { change(nil) }
            var window = Self.filled(truth, limit, &random)
            var list = List(
                ids: Self.shown(window), revs: truth.documents.mapValues(\.rev))
            window.noteShown()
            for _ in 0..<30 {
                for _ in 0..<Int.random(in: 1...25, using: &random) { change(window) }
                if window.isShort || Int.random(in: 0...9, using: &random) == 0 {
                    let next = Self.filled(truth, limit, &random)
                    next.succeed(window)
                    window = next
                }
                let expected = limit.map { Array(truth.ids.prefix($0)) } ?? truth.ids
                #expect(Self.shown(window) == expected)
                _ = list.apply(window)
                #expect(list.ids == expected, "seed \(seed), limit \(limit ?? 0)")
                for id in expected { #expect(list.revs[id] == truth.documents[id]?.rev) }
                #expect(list.apply(window) == 0, "told twice")
            }
        }
    }

    @Test func `a window that lost too many is short, and one that knows all is not`() {
        var random = SplitMix(state: 1)
        var truth = Truth()
        for number in 0..<200 { truth.documents["d\(number)"] = (number, 1) }
        let window = Self.filled(truth, 4, &random)
        #expect(window.keptCount < 60 && !window.isShort)
        var removed = 0
        for id in truth.ids.prefix(60) where !window.isShort {
            Self.remove(window, id, rev: 2)
            removed += 1
        }
        #expect(window.isShort && removed > 16)
        let small = Self.filled(Truth(documents: ["a": (1, 1)]), 4, &random)
        #expect(!small.isShort)
    }

    @Test func `a document that comes again in an older state stays what it is`() {
        let window = LiveWindow(limit: nil)
        Self.put(window, "a", 5, rev: 9)
        Self.put(window, "a", 1, rev: 7)
        Self.remove(window, "a", rev: 8)
        var told: [LiveWindow.Change] = []
        window.takeChanges { told.append($0) }
        #expect(told.count == 1 && told[0].rev == 9 && told[0].value == Array("5".utf8))
    }

    @Test func `an update that leaves a document between its neighbours does not move it`() {
        let window = LiveWindow(limit: nil)
        for (id, value) in [("a", 10), ("b", 20), ("c", 30)] { Self.put(window, id, value, rev: 1) }
        window.noteShown()
        Self.put(window, "b", 25, rev: 2)
        Self.put(window, "a", 40, rev: 3)
        var told: [String] = []
        window.takeChanges {
            told.append("\($0.step) \(String(decoding: $0.id, as: UTF8.self)) \($0.step == .moved ? $0.position : -1)")
        }
        #expect(told == ["updated b -1", "moved a 2"])
    }

    @Test func `bounds are told apart`() {
        let window = LiveWindow(limit: nil)
        for number in 0..<11 { Self.put(window, "d\(number)", number, rev: 1) }
        #expect(window.fault(.init(documents: 11, bytes: 1 << 20)) == nil)
        #expect(
            window.fault(.init(documents: 10, bytes: 1 << 20)) == .liveQueryTooLarge(limit: 10, isBytes: false))
        #expect(window.fault(.init(documents: 11, bytes: 100)) == .liveQueryTooLarge(limit: 100, isBytes: true))
    }
}

/// Orders of numbers that are put in and taken out anywhere.
@Suite struct OrderedSlotsTests {
    @Test func `ranks and neighbours are those of a sorted array`() {
        var random = SplitMix(state: 3)
        var order = OrderedSlots()
        var plain: [UInt32] = []
        for step in 0..<6000 {
            let number = UInt32.random(in: 0..<100_000, using: &random)
            let place = order.place { $0 < number }
            let rank = plain.firstIndex { $0 >= number } ?? plain.count
            if order[place] == number {
                #expect(order.rank(of: place) == rank)
                #expect(order.before(place) == (rank > 0 ? plain[rank - 1] : nil))
                #expect(order.after(place) == (rank + 1 < plain.count ? plain[rank + 1] : nil))
            }
            if step % 3 == 2, !plain.isEmpty {
                let gone = plain.randomElement(using: &random)!
                order.remove(at: order.place { $0 < gone })
                plain.removeAll { $0 == gone }
            } else if order[place] != number {
                order.insert(number, at: place)
                plain.insert(number, at: rank)
            }
            #expect(order.count == plain.count)
        }
        var all: [UInt32] = []
        order.forEach(from: 0) { rank, number in
            #expect(rank == all.count && order[rank] == number)
            all.append(number)
            return true
        }
        #expect(all == plain && plain.count > 1500)
        var tail: [UInt32] = []
        order.forEach(from: 1000) { _, number in
            tail.append(number)
            return tail.count < 700
        }
        #expect(tail == Array(plain[1000..<1700]))
    }
}

/// Pages of changes and what they are held against.
@Suite struct LivePageTests {
    private final class CountingPattern: TextPattern, @unchecked Sendable {
        var count = 0
        func matches(_ text: Bytes) -> Bool? {
            count += 1
            return text.contains(UInt8(ascii: "!")) ? nil : text.first == UInt8(ascii: "x")
        }
    }

    private static func page(_ values: [(String, String?)]) throws -> LivePage {
        var records = RecordBuffer()
        for (place, (id, value)) in values.enumerated() {
            with("c", id, value ?? "") { scope, key, value in
                records.append(
                    LogRecord(
                        store: .documents, isTombstone: value.isEmpty, rev: UInt64(place + 1), scope: scope, key: key,
                        writer: Bytes(), value: value))
            }
        }
        let chunk = ChangeChunk(after: 0)
        chunk.append(rev: UInt64(values.count), at: 0, records: records.bytes)
        let page = ChangePage()
        page.begin(after: 0)
        try page.take(
            chunk, upTo: .max, ChangeFilter(stores: [.documents]), .init(items: 100, bytes: 1 << 20, scanned: 1 << 20),
            values: true)
        return LivePage(page, after: 0)
    }

    private static func selector(_ text: String, _ pattern: CountingPattern) throws -> Selector {
        try with(text) { (text) throws in
            try Selector(StoredValue(text)) { (_) throws(TextPatternError) in pattern }
        }
    }

    @Test func `a change is held against a condition once, however many orders it is wanted in`() throws {
        let pattern = CountingPattern()
        let criteria = LiveCriteria(try Self.selector("{\"t\":{\"$regex\":\"^x\"}}", pattern))
        let path = try with("n") { (text) throws in try FieldPath(text) }
        let shapes = [
            LiveShape(criteria, sort: []), LiveShape(criteria, sort: [SortField(path: path)]),
            LiveShape(criteria, sort: [SortField(path: path, isDescending: true)]),
        ]
        let page = try Self.page([
            ("a", "{\"t\":\"x1\",\"n\":1}"), ("b", nil), ("c", "{\"t\":\"y\"}"), ("d", "{\"t\":\"x2\",\"n\":2}"),
        ])
        let matches = page.match(shapes)
        #expect(pattern.count == 3)
        #expect(matches.allSatisfy { $0.hits.map(\.position) == [0, 3] && !$0.gaveUp })
        #expect(matches[1].hits[0].key.lexicographicallyPrecedes(matches[1].hits[1].key))
        #expect(matches[2].hits[1].key.lexicographicallyPrecedes(matches[2].hits[0].key))
    }

    @Test func `a pattern that gives up is told`() throws {
        let shape = LiveShape(
            LiveCriteria(try Self.selector("{\"t\":{\"$regex\":\"x\"}}", CountingPattern())), sort: [])
        let page = try Self.page([("a", "{\"t\":\"!\"}")])
        let matches = page.match([shape])
        #expect(matches[0].gaveUp)
        #expect(!LiveWindow(limit: nil).take(page, matches[0]))
    }

    @Test func `a drop of the collection takes all that was there before, and nothing that came behind it`() throws {
        let page = try Self.page([("a", "1"), ("b", "2"), ("", nil), ("c", "3")])
        let shape = LiveShape(LiveCriteria(.everything), sort: [])
        let window = LiveWindow(limit: nil)
        #expect(window.take(page, page.match([shape])[0]))
        var ids: [String] = []
        window.forEach(from: 0) { id, _, _ in
            ids.append(String(decoding: id, as: UTF8.self))
            return true
        }
        #expect(ids == ["c"])
    }
}
