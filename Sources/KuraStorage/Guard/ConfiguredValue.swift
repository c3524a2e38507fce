import JSONSchema
public import KuraBytes
import KuraJSON
import KuraProtocol

/// What may be configured for a scope, by the key of the item: the one place for who configures and for records of files.
public enum ConfiguredValue {
    /// Days that something is kept; nil when the text is no such number.
    public static func days(_ text: Bytes) -> Int64? {
        JSONNumber.integer(text).flatMap { WireLimits.days.contains($0) ? $0 : nil }
    }

    /// Seconds after which a relaxed change is synced; nil when the text is no such number.
    static func flushSeconds(_ text: Bytes) -> Int? {
        JSONNumber.integer(text).flatMap { WireLimits.flushSeconds.contains($0) ? Int($0) : nil }
    }

    /// The whole number that a text is, written as a daemon writes it.
    private static func written(_ text: Bytes) -> Int64? {
        JSONNumber.integer(text).flatMap { text.elementsEqual(String($0).utf8) ? $0 : nil }
    }

    // MARK: Scopes

    /// The rooms that something is configured for.
    private static let rooms = Store.all(.configurable)

    /// Whether items can lie there: a room and the name of one of its scopes, or what is about the storage itself.
    static func isScope(_ scope: Bytes, isKnownOnly: Bool) -> Bool {
        guard let slash = scope.firstIndex(of: UInt8(ascii: "/")) else {
            return isKnownOnly
                ? scope.elementsEqual(RelaxedDurability.scopeName)
                : JSONWalk.isName(scope, limit: WireLimits.scopeBytes)
        }
        guard JSONWalk.isName(scope.extracting(slash + 1..<scope.count), limit: WireLimits.scopeBytes) else {
            return false
        }
        let room = scope.extracting(0..<slash)
        return rooms.contains { room.elementsEqual($0.roomName.utf8) }
            || !isKnownOnly && JSONWalk.isName(room, limit: WireLimits.scopeBytes)
    }

    private static func room(_ scope: Bytes) -> Store? {
        rooms.first { scope.starts(with: Array(($0.roomName + "/").utf8)) }
    }

    // MARK: Items

    /// Holds a value that is known to be one line of JSON against what its key wants.
    /// `isKnownOnly`: a key that this version does not know is refused; else nobody reads it.
    static func check(
        _ value: Bytes, of scope: Bytes, _ key: Bytes, isKnownOnly: Bool
    ) throws(RecordUnfit) {
        let name = String(key)
        let fits: Bool? =
            switch room(scope) {
            case .settings: isFit(setting: name, value)
            case .documents: isFit(collection: name, value)
            case nil: isFit(storage: name, value, scope)
            default: isFitAnywhere(name, value)
            }
        guard let fits else {
            guard isKnownOnly else { return }
            throw RecordUnfit("nothing is configured under '\(ShownName.text(key))'")
        }
        guard fits else { throw RecordUnfit("its \(name) is not what can be configured") }
    }

    private static func isFit(setting key: String, _ value: Bytes) -> Bool? {
        switch key {
        case text(ConfigurationStore.defaults): isDefaults(value)
        case text(ConfigurationStore.schema): isSchema { () throws(SchemaError) in try StoredSchema.ofDomain(value) }
        default: isFitAnywhere(key, value)
        }
    }

    private static func isFit(collection key: String, _ value: Bytes) -> Bool? {
        switch key {
        case text(ConfigurationStore.schema):
            return isSchema { () throws(SchemaError) in try StoredSchema.ofCollection(value) }
        case text(ConfigurationStore.tombstoneDays), text(ConfigurationStore.retainDays):
            return written(value) != nil && days(value) != nil
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

    private static func isFitAnywhere(_ key: String, _ value: Bytes) -> Bool? {
        switch key {
        case text(ConfigurationStore.mode): SchemaMode(value) != nil
        case text(ConfigurationStore.backup): value.equals("true") || value.equals("false")
        case text(ConfigurationStore.durability): written(value) != nil && flushSeconds(value) != nil
        default: nil
        }
    }

    private static func isFit(storage key: String, _ value: Bytes, _ scope: Bytes) -> Bool? {
        guard scope.elementsEqual(RelaxedDurability.scopeName), Array(key.utf8) == RelaxedDurability.key else {
            return nil
        }
        return written(value).map { 0...WireLimits.safeInteger ~= $0 } ?? false
    }

    private static func text(_ key: StaticString) -> String { String(Bytes(key)) }

    private static func isDefaults(_ value: Bytes) -> Bool {
        guard value.first == UInt8(ascii: "{") else { return false }
        var walk = JSONWalk(value, storage: WalkStorage())
        var count = 0
        while let (key, _) = walk.nextMember() {
            count += 1
            guard JSONWalk.isName(key, limit: WireLimits.keyBytes), count <= WireLimits.listItems else { return false }
        }
        return true
    }

    private static func isSchema(_ compile: () throws(SchemaError) -> JSONSchema) -> Bool {
        do throws(SchemaError) { _ = try compile() } catch { return false }
        return true
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
