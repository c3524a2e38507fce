import KuraBytes

/// Which scopes and items a backup has. Made on the loop, then one thread's.
final class BackupExtent {
    private struct ScopeName: Hashable {
        var store: Store
        var name: [UInt8]
    }

    private let selection: BackupSelection
    private let isBundle: Bool
    /// Scopes with `backup: false`.
    private let marked: Set<ScopeName>
    /// Items of this revision or an earlier one came from a seed bundle; 0 without one.
    let seededRev: UInt64
    /// Of a seed bundle: which items are in it.
    private var bundled = BundledItems()

    init(_ request: BackupRequest, _ storage: isolated Storage) {
        (selection, isBundle) = (request.selection, request.isBundle)
        seededRev = storage.ledger.revisions.seeded
        var marked: Set<ScopeName> = []
        for scope in storage.ledger.scopes.all where scope.store.has(.configurable) {
            let item = scope.withName { storage.configurations.get(scope.store, $0, ConfigurationStore.backup).item }
            guard let item, item.value.equals("false") else { continue }
            marked.insert(ScopeName(store: scope.store, name: scope.name))
            for part in Store.allCases where part.described.part == scope.store {
                marked.insert(ScopeName(store: part, name: scope.name))
            }
        }
        self.marked = marked
    }

    func takes(_ store: Store, _ scope: Bytes) -> Bool {
        guard selection.contains(store, scope) else { return false }
        return marked.isEmpty || !marked.contains(ScopeName(store: store, name: Array(scope)))
    }

    /// Whether a row of the tables has a place: a seed bundle has no tombstones, and nothing that came from one.
    func takes(_ row: BackupRecord) -> Bool {
        !isBundle || row.rev > seededRev && !row.flags.contains(.isDeleted)
    }

    func note(_ record: BackupRecord) { if isBundle { bundled.note(record) } }

    /// Writes the scopes, and counts what they have.
    func write(
        _ scopes: [FoldTap.TappedScope], to writer: BackupWriter, _ manifest: inout BackupManifest, hasSecrets: Bool
    ) throws(BackupFault) {
        let ordered = scopes.sorted { left, right in
            left.store != right.store
                ? left.store.rawValue < right.store.rawValue : left.name.lexicographicallyPrecedes(right.name)
        }
        for scope in ordered where !scope.store.isSealed || hasSecrets {
            guard scope.name.withBytes({ selection.contains(scope.store, $0) }) else { continue }
            if isBundle, scope.lastRev <= seededRev { continue }
            try scope.name.withBytes { (name) throws(BackupFault) in
                try writer.append(
                    BackupRecord(
                        store: scope.store, flags: .isScope, rev: scope.lastRev, row: UInt64(scope.nextRow),
                        scope: name))
            }
            let isMarked = marked.contains(ScopeName(store: scope.store, name: scope.name))
            if isMarked {
                guard !scope.store.isPart else { continue }
                manifest.leftOut.append(
                    .init(
                        store: scope.store.roomName, scope: scope.name,
                        count: scope.count, reason: .marked))
                continue
            }
            let count = isBundle ? bundled.count(scope.store, scope.name) : scope.count
            if scope.store.isPublic { manifest.counts.add(scope.store, count) }
        }
    }
}
