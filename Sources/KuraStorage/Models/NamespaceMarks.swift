import KuraBytes

/// What is invalidated of a namespace of the model cache: all of it, tags and prefixes, each by a mark that entries are held against.
///
/// A mark is set once, however many entries it is about; it may be forgotten when all entries have been looked at since. Belongs to the loop.
final class NamespaceMarks {
    /// Of all of the namespace.
    var whole = ModelMarks()
    private(set) var tags = ModelTags()
    private(set) var prefixes = PrefixMarks()
    /// The newest marks of tags and of prefixes: entries that are younger need not look.
    private var newestOfTags: UInt64 = 0
    private var newestOfPrefixes: UInt64 = 0
    /// The newest mark of a tag or prefix that is not known any more: what was begun before it may have been invalidated.
    private(set) var forgotten: UInt64 = 0

    /// What is marked of an entry, given its key and its tags' numbers, that was written at `sequence`.
    func about(_ key: Bytes, tags numbers: Bytes, since sequence: UInt64) -> ModelMarks {
        var result = whole
        if newestOfTags > sequence { tags.join(of: numbers, to: &result) }
        if newestOfPrefixes > sequence { prefixes.join(of: key, to: &result) }
        return result
    }

    // MARK: Tags and prefixes

    /// The number of a tag, which is new when nobody has used it; nil when there are too many.
    func tag(_ name: Bytes) -> UInt32? { tags.number(Array(name)) }

    /// One entry more, or fewer, has the tag.
    func use(tag number: UInt32, by difference: Int) { tags.use(number, by: difference) }

    func mark(tag number: UInt32, _ marks: ModelMarks) {
        tags.mark(number, marks)
        newestOfTags = max(newestOfTags, marks.newest)
    }

    func mark(prefix: [UInt8], _ marks: ModelMarks) {
        prefixes.mark(prefix, marks)
        newestOfPrefixes = max(newestOfPrefixes, marks.newest)
    }

    // MARK: All marks

    /// Calls `body` with kind and name of each mark there is, as files have them.
    func forEach(_ body: (Int64, [UInt8], ModelMarks) -> Void) {
        if whole.newest > 0 { body(0, [], whole) }
        tags.forEachMark { body(1, $0, $1) }
        prefixes.forEachMark { body(2, $0, $1) }
    }

    /// All entries have been looked at since then: what was marked before need not be known any more, and tags that no entry has.
    /// `start`: the tag to begin with. `limit`: tags that are looked at.
    /// `body`: is told the kind and the name of each mark that was.
    /// - Returns: the tag to go on with; nil when all have been looked at.
    func forget(
        before sequence: UInt64, from start: Int, atMost limit: Int, _ body: (Int64, [UInt8]) -> Void
    ) -> Int? {
        func note(_ kind: Int64, _ name: [UInt8], _ marks: ModelMarks) {
            forgotten = max(forgotten, marks.newest)
            body(kind, name)
        }
        if start == 0 { prefixes.forget(before: sequence).forEach { note(2, $0.key, $0.value) } }
        let (gone, next) = tags.forget(before: sequence, from: start, atMost: limit)
        for tag in gone where tag.marks.newest > 0 { note(1, tag.name, tag.marks) }
        return next
    }
}

/// The tags of a namespace by number and by name, how many entries have them, and their marks.
struct ModelTags {
    struct Tag {
        var name: [UInt8]
        var marks = ModelMarks()
        var uses = 0
    }

    private var all: [Tag] = []
    private var numbers: [[UInt8]: UInt32] = [:]
    private var unused: [UInt32] = []

    /// Tags that a namespace can have.
    static let limit = 65_536

    subscript(number: UInt32) -> Tag { all[Int(number)] }

    /// The number of a tag, which is new when nobody has used it; nil when there are too many.
    mutating func number(_ name: [UInt8]) -> UInt32? {
        if let number = numbers[name] { return number }
        if let number = unused.popLast() {
            all[Int(number)] = Tag(name: name)
            numbers[name] = number
            return number
        }
        guard all.count < Self.limit else { return nil }
        all.append(Tag(name: name))
        numbers[name] = UInt32(all.count - 1)
        return UInt32(all.count - 1)
    }

    /// The number of a tag that is known.
    func known(_ name: Bytes) -> UInt32? { numbers[Array(name)] }

    mutating func use(_ number: UInt32, by difference: Int) { all[Int(number)].uses += difference }

    mutating func mark(_ number: UInt32, _ marks: ModelMarks) { all[Int(number)].marks.join(marks) }

    /// Adds what is marked of the tags with these numbers, four bytes each.
    func join(of numbers: Bytes, to result: inout ModelMarks) {
        var position = 0
        while position < numbers.count {
            let number = numbers.loadUnaligned(fromByteOffset: position, as: UInt32.self)
            result.join(all[Int(number)].marks)
            position += 4
        }
    }

    func forEachMark(_ body: ([UInt8], ModelMarks) -> Void) {
        for tag in all where tag.marks.newest > 0 { body(tag.name, tag.marks) }
    }

    /// Forgets the tags that no entry has, and whose marks are no newer.
    /// - Returns: those that are gone, and the tag to go on with; nil when all have been looked at.
    mutating func forget(before sequence: UInt64, from start: Int, atMost limit: Int) -> (gone: [Tag], next: Int?) {
        var gone: [Tag] = []
        let end = min(start + limit, all.count)
        for number in start..<end where all[number].uses == 0 && all[number].marks.newest <= sequence {
            guard numbers.removeValue(forKey: all[number].name) != nil else { continue }
            gone.append(all[number])
            all[number] = Tag(name: [])
            unused.append(UInt32(number))
        }
        return (gone, end < all.count ? end : nil)
    }
}

/// The prefixes of a namespace's keys that are invalidated and not swept.
struct PrefixMarks {
    private var marks: [[UInt8]: ModelMarks] = [:]
    private(set) var lengths: [Int] = []

    /// Prefixes that there can be; one more invalidates the namespace. They are of so many lengths; what would be of another one is cut to
    /// one of them.
    private static let limit = 4096
    static let lengthLimit = 32

    var isEmpty: Bool { marks.isEmpty }

    subscript(prefix: Bytes) -> ModelMarks { marks[Array(prefix)] ?? ModelMarks() }

    /// The prefix that is marked for one that is invalidated: a shorter one where there are too many lengths, which each entry is held against;
    /// nil when there are too many prefixes already.
    func markable(_ prefix: Bytes) -> [UInt8]? {
        var length = prefix.count
        if lengths.count >= Self.lengthLimit, !lengths.contains(length) {
            guard let shorter = lengths.filter({ $0 < length }).max() else { return nil }
            length = shorter
        }
        let markable = Array(prefix.extracting(0..<length))
        return marks.count < Self.limit || marks[markable] != nil ? markable : nil
    }

    mutating func mark(_ prefix: [UInt8], _ mark: ModelMarks) {
        marks[prefix, default: ModelMarks()].join(mark)
        if !lengths.contains(prefix.count) { lengths.append(prefix.count) }
    }

    /// Adds what is marked of a key.
    func join(of key: Bytes, to result: inout ModelMarks) {
        for length in lengths where length <= key.count {
            if let marks = marks[Array(key.extracting(0..<length))] { result.join(marks) }
        }
    }

    func forEachMark(_ body: ([UInt8], ModelMarks) -> Void) { for (prefix, marks) in marks { body(prefix, marks) } }

    /// - Returns: the marks that are gone, since they are no newer.
    mutating func forget(before sequence: UInt64) -> [[UInt8]: ModelMarks] {
        guard !marks.isEmpty else { return [:] }
        let gone = marks.filter { $0.value.newest <= sequence }
        marks = marks.filter { $0.value.newest > sequence }
        lengths = Array(Set(marks.keys.map(\.count)))
        return gone
    }
}
