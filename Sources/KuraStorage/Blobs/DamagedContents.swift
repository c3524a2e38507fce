/// Contents of blobs that a check has found damaged: on its way from the check to the loop.
final class DamagedContents: CacheJob, @unchecked Sendable {
    // One user at a time, as `CacheJob` says.
    let digests: [ContentDigest]

    init(_ digests: [ContentDigest]) { self.digests = digests }

    func run(_ files: CacheFiles) {}
}
