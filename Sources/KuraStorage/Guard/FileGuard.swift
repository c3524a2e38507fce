import KuraBytes

/// Judges what a backup or bundle comes to as a whole, as it is read: contents, what is counted, and what belongs together. Its records are
/// judged one by one before (`RecordGuard`).
struct FileGuard {
    private let contents: ContentGuard
    private var census = ItemCensus()
    /// Some records were left out: then it is not whole, and counts nothing.
    private let leavesOut: Bool
    private var models = 0

    /// `leavesOut`: records that do not pass are left out.
    init(leavesOut: Bool = false) {
        self.leavesOut = leavesOut
        contents = ContentGuard(leavesOut: leavesOut)
    }

    mutating func note(_ judged: JudgedRecord) {
        let record = judged.record
        if !leavesOut { census.note(judged) }
        if record.store == .attachments, !record.value.isEmpty { contents.note(record.value, record: judged.number) }
    }

    mutating func note(_ model: BundleModel) {
        if case .entry = model { models += 1 }
    }

    /// Takes a piece of a content. `part`: the number of its frame.
    /// Throws: why it is refused.
    mutating func take(_ payload: Bytes, part: Int) throws(BackupFault) {
        try contents.take(try ContentPiece(payload), part: part)
    }

    /// Everything has been read.
    /// - Throws: why it is refused.
    mutating func finish(_ manifest: BackupManifest, _ records: RecordGuard) throws(BackupFault) {
        try records.finish(manifest)
        if !leavesOut { try census.finish(manifest) }
        try contents.finish(manifest)
        for (what, said, found) in [
            ("namespaces", manifest.namespaces, records.models.namespaces.count), ("models", manifest.models, models),
        ] where said != found {
            throw .miscounted(what, said: said, found: found)
        }
    }
}
