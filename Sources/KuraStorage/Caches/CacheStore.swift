/// The stores whose data may be lost. Code that needs a list of them derives it from here; numbers are bits of `CacheSources`. What a client sees of them is in `Method.Store`.
public enum CacheStore: UInt8, Sendable, CaseIterable {
    case models = 1
    case blobs = 2

    /// In replies, grants, the bill and boot.json.
    public var name: StaticString {
        switch self {
        case .models: "models"
        case .blobs: "blobs"
        }
    }

    /// Whose tables a file of the cache has.
    static func whose(_ file: String) -> CacheStore { file == BlobTable.file ? .blobs : .models }
}
