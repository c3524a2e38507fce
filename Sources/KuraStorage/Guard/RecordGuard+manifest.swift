import KuraBytes
import KuraProtocol

/// What a file says of itself: it is printed, and sent to clients.
extension RecordGuard {
    /// Whether a manifest is what a daemon writes. `text`: what it was read from.
    static func admits(_ manifest: BackupManifest, _ text: Bytes) -> Bool {
        let counts = 0...Int(WireLimits.safeInteger)
        let numbers = manifest.counts.named().map(\.1) + manifest.leftOut.map(\.count)
        let texts = [Array(manifest.epoch.utf8)] + manifest.include
        let places = manifest.leftOut.flatMap { [Array($0.store.utf8), $0.scope, $0.name] }
        return RecordGuard(.backup).isOneLine(text) && max(manifest.rev, manifest.seededRev) <= revs.upperBound
            && Timestamp.range.contains(manifest.createdAt) && manifest.schema >= 0
            && (numbers + [manifest.namespaces, manifest.models]).allSatisfy { counts.contains($0) }
            && (texts + places).allSatisfy { text in
                text.isEmpty || text.withBytes { JSONWalk.isName($0, limit: WireLimits.keyBytes) }
            }
    }
}
