/// What a look through everything has found damaged in the caches: the thread that writes them is told.
extension CacheThread {
    /// A cache's file, which is dropped.
    package func drop(damaged file: String) { submit(DroppedFile(file)) }

    /// Contents of blobs, which the loop takes.
    package func tell(damaged digests: [ContentDigest]) { submit(DamagedContents(digests)) }
}

private final class DroppedFile: CacheJob, @unchecked Sendable {
    // One user at a time, as `CacheJob` says.
    private let name: String

    init(_ name: String) { self.name = name }

    func run(_ files: CacheFiles) { files.drop(name) }
}

/// On its way from the look to the loop.
final class DamagedContents: CacheJob, @unchecked Sendable {
    // One user at a time, as `CacheJob` says.
    let digests: [ContentDigest]

    init(_ digests: [ContentDigest]) { self.digests = digests }

    func run(_ files: CacheFiles) {}
}
