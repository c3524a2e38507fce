import JSONSchema
import KuraBytes
import KuraJSON
import KuraProtocol

extension RecordRules {
    static var ofDocuments: RecordRules { RecordRules(isConfigured: ConfiguredValue.isFit(collection:_:)) }
    static var ofAttachments: RecordRules {
        RecordRules(check: { (record, _) throws(RecordUnfit) in try AttachmentList.check(record.value) })
    }
}

extension ConfiguredValue {
    fileprivate static func isFit(collection key: String, _ value: Bytes) -> Bool? {
        switch key {
        case text(ConfigurationStore.schema):
            return isSchema { () throws(SchemaError) in try StoredSchema.ofCollection(value) }
        case text(ConfigurationStore.tombstoneDays), text(ConfigurationStore.retainDays):
            return written(value) != nil && days(value) != nil
        case text(ConfigurationStore.history):
            return HistoryRule(stored: value)?.text.withBytes { $0.equals(value) } ?? false
        case text(ConfigurationStore.indexes):
            return isList { () throws(IndexDefinition.Fault) in try IndexDefinition.list(value) }
        case text(ConfigurationStore.references):
            return isList { () throws(IndexDefinition.Fault) in try ReferenceDefinition.list(value) }
        case text(ConfigurationStore.search): return SearchDefinition(stored: value) != nil
        case text(ConfigurationStore.version):
            return written(value).map { Migration.versions.contains(Int($0)) } ?? false
        case text(ConfigurationStore.migrations): return RecordedMigration.isList(value)
        case text(ConfigurationStore.migration): return MigrationProgress.isFit(value)
        default: return isFitAnywhere(key, value)
        }
    }

    private static func isList<Item>(_ read: () throws(IndexDefinition.Fault) -> [Item]) -> Bool {
        do throws(IndexDefinition.Fault) { _ = try read() } catch { return false }
        return true
    }
}

// MARK: What has a form of its own

extension RecordedMigration {
    /// Whether a text is a list of them as `text(of:)` makes it: versions rise, revisions do not fall.
    static func isList(_ text: Bytes) -> Bool {
        guard text.first == UInt8(ascii: "[") else { return false }
        let elements = Array(StoredValue(text).elements)
        let list = Self.list(text)
        guard list.count == elements.count, list.allSatisfy({ RecordGuard.revs.contains($0.rev) }) else { return false }
        return zip(list, list.dropFirst()).allSatisfy {
            $0.migration.version < $1.migration.version && $0.rev <= $1.rev
        }
    }
}

extension MigrationProgress {
    /// Whether a text is one as `text` makes it, and no number of it is beyond what is counted.
    static func isFit(_ text: Bytes) -> Bool {
        guard let progress = MigrationProgress(text), progress.failures.count <= failureLimit,
            progress.text.withBytes({ $0.equals(text) }), RecordGuard.revs.contains(progress.rev)
        else { return false }
        let counted = 0...Int(WireLimits.safeInteger)
        return [progress.total, progress.changed, progress.failed].allSatisfy { counted.contains($0) }
            && [progress.from, progress.to].allSatisfy { Migration.versions.contains($0) } && progress.row >= 0
    }
}

extension AttachmentList {
    /// Holds a list that is known to be JSON against what documents may have.
    static func check(_ text: Bytes) throws(RecordUnfit) {
        let list = AttachmentList(text)
        var written = ByteBuffer()
        list.append(to: &written)
        guard written.bytes.equals(text) else { throw RecordUnfit("it is no list of attachments") }
        do throws(DocumentsError) { try list.checkLimits() } catch {
            throw RecordUnfit("it lists more attachments than a document may have")
        }
        for attachment in list.attachments {
            guard attachment.name.withBytes({ JSONWalk.isName($0, limit: WireLimits.attachmentNameBytes) }),
                attachment.contentType.isEmpty
                    || attachment.contentType.withBytes({ JSONWalk.isName($0, limit: WireLimits.contentTypeBytes) })
            else { throw RecordUnfit("it lists an attachment whose name or media type is none") }
        }
        let names = list.attachments.map(\.name)
        guard zip(names, names.dropFirst()).allSatisfy({ $0.lexicographicallyPrecedes($1) }) else {
            throw RecordUnfit("it lists attachments in another order than that of their names")
        }
    }
}
