import KuraBytes
import KuraProtocol
import KuraStorage

/// Finds out which keys the next requests of a turn are about, and has them fetched from memory before they are read.
///
/// Lines that come one after the other are mostly alike: behind their ids they agree up to the key. So lines are not read twice; what a line has
/// between id and key is compared with the last few, and what follows is the key, up to the next quote. It is a guess: a line that only looks
/// like one costs a moment. Belongs to the loop.
final class KeyGlance {
    /// What a line has between its id and its key.
    struct Shape: BitwiseCopyable {
        var count = 0
        /// Nowhere: lines with this have no key that is looked up in memory.
        var scope = KeyScope()
    }
    private let shapes = CellRow(repeating: Shape(), count: KeyGlance.shapeCount)
    private let middles = CellRow<UInt8>(repeating: 0, count: KeyGlance.shapeCount * KeyGlance.middleRoom)
    private var nextShape = 0
    private let places = CellRow(repeating: KeyPlace(), count: KeyGlance.group)
    /// Keys that the group has so far.
    private(set) var count = 0
    private var mayLearn = true
    /// Groups to pass over, since the last had nothing to fetch.
    private var rest = 0
    private var groups = 0
    /// By the methods' positions in the table.
    private let rules: ContiguousArray<KeyRule>

    /// Look-ups that are prepared at once: enough to wait for memory once for all of them, and few enough that the first is still in the cache
    /// when its turn comes.
    static let group = 16
    private static let shapeCount = 4
    /// A request about one item begins with its scope and its key, whatever the method calls them.
    private static let scopePosition = 0
    private static let keyPosition = 1
    private static let middleRoom = 256
    /// Scopes come and go: so many groups, and what is known of them is forgotten.
    private static let lifetime = 4096
    /// `{"jsonrpc":"2.0","id":`
    private static let idStart = 22
    private static let longestID = 40

    init(_ table: MethodTable) { rules = ContiguousArray(table.methods.map(KeyRule.init)) }

    /// - Returns: whether it is worth looking.
    func begin(_ storage: isolated Storage) -> Bool {
        guard rest == 0 else {
            rest -= 1
            return false
        }
        guard storage.isWorthFetching else {
            rest = 256
            return false
        }
        groups += 1
        if groups % Self.lifetime == 0 {
            for shape in 0..<Self.shapeCount { shapes[shape].count = 0 }
        }
        count = 0
        mayLearn = true
        return true
    }

    var hasRoom: Bool { count < Self.group }

    /// Looks at whole lines, as long as there is room.
    /// - Returns: where it ended.
    func look(at bytes: Bytes, from start: Int, _ reader: RequestReader, _ storage: isolated Storage) -> Int {
        var line = start
        while hasRoom {
            guard let middle = behindID(bytes, line) else { return line }
            var from = middle
            if let shape = shape(of: bytes, at: middle) {
                from += shapes[shape].count
                if shapes[shape].scope.isSomewhere {
                    guard let quote = bytes.firstIndex(of: UInt8(ascii: "\""), from: from) else { return line }
                    places[count] = storage.fetchBucket(shapes[shape].scope, bytes.extracting(from..<quote))
                    count += 1
                    from = quote
                }
                guard let end = bytes.firstIndex(of: 0x0A, from: from) else { return line }
                line = end + 1
            } else {
                guard let end = bytes.firstIndex(of: 0x0A, from: from) else { return line }
                if mayLearn { learn(bytes.extracting(line..<end), reader, storage) } else { line = end + 1 }
                mayLearn = false
            }
        }
        return line
    }

    /// Has the entries fetched, and what they lead to.
    func fetch(_ storage: isolated Storage) {
        guard count > 1 else {
            // A few groups without anything, and most are passed over.
            rest = 16
            return
        }
        for place in 0..<count { storage.fetchEntry(places[place]) }
        for place in 0..<count { storage.fetchContents(places[place]) }
    }

    /// Where what follows the id begins; nil when there is no line, or none that has its id where most have it.
    private func behindID(_ bytes: Bytes, _ line: Int) -> Int? {
        var place = line + Self.idStart
        guard bytes.count > place + Self.longestID else { return nil }
        let end = place + Self.longestID
        while place < end {
            if bytes[place] == UInt8(ascii: ",") { return place }
            place += 1
        }
        return nil
    }

    private func shape(of bytes: Bytes, at place: Int) -> Int? {
        for shape in 0..<Self.shapeCount {
            let count = shapes[shape].count
            guard count > 0, bytes.count - place > count else { continue }
            // Safety: the middles are the row's, `middleRoom` bytes each, of which `count` are written; they are read before anybody alters them.
            let middle = unsafe Bytes(start: middles.baseAddress + shape * Self.middleRoom, count: count)
            if bytes.extracting(place..<place + count).equals(middle) { return shape }
        }
        return nil
    }

    /// Notes what a line has between its id and its key, for those that come behind it.
    private func learn(_ line: Bytes, _ reader: RequestReader, _ storage: isolated Storage) {
        guard reader.glance(line) else { return }
        let rule = rules[reader.methodIndex]
        let scope = reader.has(Self.keyPosition) ? rule.scope(reader.string(Self.scopePosition), storage) : KeyScope()
        // Its scope may come to be.
        guard scope.isSomewhere || rule == .nowhere else { return }
        let middle = scope.isSomewhere ? reader.middle(upTo: Self.keyPosition) : reader.middleOfMethod
        guard middle.count <= Self.middleRoom else { return }
        for (offset, byte) in middle.enumerated() { middles[nextShape * Self.middleRoom + offset] = byte }
        shapes[nextShape] = Shape(count: middle.count, scope: scope)
        nextShape = (nextShape + 1) % Self.shapeCount
    }
}

/// Where a method looks its first two parameters up, scope and key.
enum KeyRule: Equatable {
    case nowhere, items(Store), models

    init(_ method: Method) {
        let names = method.parameters.prefix(2).map(\.name)
        let isOfModels = method.store == .models && names == ["namespace", "key"]
        let store = Store.published.first { store in
            store.isPublic && store.granted == method.store
                && names == ["\(store.described.scopeWord)", "\(store.described.itemWord)"]
        }
        self = isOfModels ? .models : store.map { .items($0) } ?? .nowhere
    }

    func scope(_ scope: Bytes, _ storage: isolated Storage) -> KeyScope {
        switch self {
        case .nowhere: KeyScope()
        case .items(let store): storage.keyScope(of: store, scope)
        case .models: storage.keyScope(models: scope)
        }
    }
}
