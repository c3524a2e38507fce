public import KuraBytes

/// A namespace of the model cache: what is configured, what is invalidated, what is in it. Belongs to the loop.
public final class ModelNamespace {
    public let number: UInt32
    public let name: [UInt8]
    public internal(set) var configuration: ModelConfiguration
    public internal(set) var counts = ModelCounts()
    /// Who goes when there is no room.
    var order: CacheOrder
    let marks = NamespaceMarks()
    /// What was written before is in no file any more: the file has been removed.
    var unlinkedBefore: UInt64 = 0
    /// What it had been put when a sweep found nothing in it that somebody would miss; nil when that was not so.
    var unusedAt: Int?
    /// Connections that hold it, when it is scratch.
    var holders = 0
    /// It has no name any more, and goes as soon as its entries have.
    var isLeaving = false
    /// Quotas that count it.
    public var accounts: [QuotaAccount] = []

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
    public func tag(_ name: Bytes) -> UInt32? { marks.tag(name) }

    public func tagName(_ number: UInt32) -> [UInt8] { marks.tags[number].name }
}
