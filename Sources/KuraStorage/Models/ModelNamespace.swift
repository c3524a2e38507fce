public import KuraBytes

/// A namespace of the model cache: what is configured, what is invalidated, what is in it. Belongs to the loop.
public final class ModelNamespace {
    public let number: UInt32
    public let name: [UInt8]
    public internal(set) var configuration: ModelConfiguration
    public internal(set) var counts = ModelCounts()
    /// Who goes when there is no room.
    var order: CacheOrder
    /// Of all of it.
    var marks = ModelMarks()
    /// What was written before is in no file any more: the file has been removed.
    var unlinkedBefore: UInt64 = 0
    private(set) var tags: [Tag] = []
    private var tagNumbers: [[UInt8]: UInt32] = [:]
    private var unusedTags: [UInt32] = []
    /// The newest mark of any tag: entries that are younger need not look.
    private(set) var newestTagMark: UInt64 = 0
    private var prefixes: [[UInt8]: ModelMarks] = [:]
    private(set) var prefixLengths: [Int] = []
    private var newestPrefixMark: UInt64 = 0
    /// The newest mark of a tag or prefix that is not known any more: what was begun before it may have been invalidated.
    private(set) var forgottenMark: UInt64 = 0
    /// What it had been put when a sweep found nothing in it that somebody would miss; nil when that was not so.
    var unusedAt: Int?
    /// Connections that hold it, when it is scratch.
    var holders = 0
    /// It has no name any more, and goes as soon as its entries have.
    var isLeaving = false
    /// Quotas that count it.
    public var accounts: [QuotaAccount] = []

    struct Tag {
        var name: [UInt8]
        var marks = ModelMarks()
        var uses = 0
    }

    /// Prefixes that are invalidated and not swept; one more invalidates the namespace. They are of so many lengths; what would be of another
    /// one is cut to one of them.
    static let prefixLimit = 4096
    static let lengthLimit = 32
    /// Tags that a namespace can have.
    static let tagLimit = 65_536

    init(number: UInt32, name: [UInt8], configuration: ModelConfiguration, places: CachePlaces) {
        self.number = number
        partitionFile = Self.partitionFile(number)
        self.name = name
        self.configuration = configuration
        order = CacheOrder(places)
    }

    /// Entries, those that are past their time and not swept included.
    public var count: Int { order.count }
    /// Bytes that they count as.
    public var bytes: Int { order.bytes }

    /// The file that it is written to.
    var file: String { configuration.isPartition ? partitionFile : CacheFiles.main }
    private let partitionFile: String
    static let partitionPrefix = "models-"
    static func partitionFile(_ number: UInt32) -> String { "\(partitionPrefix)\(number).sqlite" }
    var persists: Bool { configuration.persists && !configuration.isScratch }

    // MARK: Tags

    /// The number of a tag, which is new when nobody has used it; nil when there are too many.
    public func tag(_ name: Bytes) -> UInt32? {
        let name = Array(name)
        if let number = tagNumbers[name] { return number }
        if let number = unusedTags.popLast() {
            tags[Int(number)] = Tag(name: name)
            tagNumbers[name] = number
            return number
        }
        guard tags.count < Self.tagLimit else { return nil }
        tags.append(Tag(name: name))
        tagNumbers[name] = UInt32(tags.count - 1)
        return UInt32(tags.count - 1)
    }

    func knownTag(_ name: Bytes) -> UInt32? { tagNumbers[Array(name)] }

    /// One entry more, or fewer, has the tag.
    func use(tag number: UInt32, by difference: Int) { tags[Int(number)].uses += difference }

    public func tagName(_ number: UInt32) -> [UInt8] { tags[Int(number)].name }

    // MARK: Invalidating

    func mark(tag number: UInt32, _ marks: ModelMarks) {
        tags[Int(number)].marks.join(marks)
        newestTagMark = max(newestTagMark, marks.newest)
    }

    func marks(ofTag number: UInt32) -> ModelMarks { tags[Int(number)].marks }
    func marks(ofPrefix prefix: Bytes) -> ModelMarks { prefixes[Array(prefix)] ?? ModelMarks() }

    /// The prefix that is marked for one that is invalidated: a shorter one where there are too many lengths, which each entry is held against;
    /// nil when there are too many prefixes already.
    func markable(_ prefix: Bytes) -> [UInt8]? {
        var length = prefix.count
        if prefixLengths.count >= Self.lengthLimit, !prefixLengths.contains(length) {
            guard let shorter = prefixLengths.filter({ $0 < length }).max() else { return nil }
            length = shorter
        }
        let markable = Array(prefix.extracting(0..<length))
        return prefixes.count < Self.prefixLimit || prefixes[markable] != nil ? markable : nil
    }

    func mark(prefix: [UInt8], _ marks: ModelMarks) {
        prefixes[prefix, default: ModelMarks()].join(marks)
        if !prefixLengths.contains(prefix.count) { prefixLengths.append(prefix.count) }
        newestPrefixMark = max(newestPrefixMark, marks.newest)
    }

    var hasPrefixes: Bool { !prefixes.isEmpty }

    /// Calls `body` with kind and name of each mark there is, as files have them.
    func forEachMark(_ body: (Int64, [UInt8], ModelMarks) -> Void) {
        if marks.newest > 0 { body(0, [], marks) }
        for tag in tags where tag.marks.newest > 0 { body(1, tag.name, tag.marks) }
        for (prefix, marks) in prefixes { body(2, prefix, marks) }
    }

    /// All entries have been looked at since then: what was marked before need not be known any more, and tags that no entry has.
    /// `start`: the tag to begin with. `limit`: tags that are looked at.
    /// `forgotten`: is told the kind and the name of each mark that was.
    /// - Returns: the tag to go on with; nil when all have been looked at.
    func forgetMarks(
        before sequence: UInt64, from start: Int, atMost limit: Int, _ forgotten: (Int64, [UInt8]) -> Void
    ) -> Int? {
        func forget(_ kind: Int64, _ name: [UInt8], _ marks: ModelMarks) {
            forgottenMark = max(forgottenMark, marks.newest)
            forgotten(kind, name)
        }
        if start == 0, !prefixes.isEmpty {
            for (prefix, marks) in prefixes where marks.newest <= sequence { forget(2, prefix, marks) }
            prefixes = prefixes.filter { $0.value.newest > sequence }
            prefixLengths = Array(Set(prefixes.keys.map(\.count)))
        }
        let end = min(start + limit, tags.count)
        for number in start..<end where tags[number].uses == 0 && tags[number].marks.newest <= sequence {
            let tag = tags[number]
            guard tagNumbers.removeValue(forKey: tag.name) != nil else { continue }
            if tag.marks.newest > 0 { forget(1, tag.name, tag.marks) }
            tags[number] = Tag(name: [])
            unusedTags.append(UInt32(number))
        }
        return end < tags.count ? end : nil
    }

    /// What is marked of an entry, given its key and its tags' numbers, that was written at `sequence`.
    func marks(of key: Bytes, tags numbers: Bytes, since sequence: UInt64) -> ModelMarks {
        var result = marks
        if newestTagMark > sequence {
            var position = 0
            while position < numbers.count {
                let number = numbers.loadUnaligned(fromByteOffset: position, as: UInt32.self)
                result.join(tags[Int(number)].marks)
                position += 4
            }
        }
        if newestPrefixMark > sequence {
            for length in prefixLengths where length <= key.count {
                if let marks = prefixes[Array(key.extracting(0..<length))] { result.join(marks) }
            }
        }
        return result
    }
}
