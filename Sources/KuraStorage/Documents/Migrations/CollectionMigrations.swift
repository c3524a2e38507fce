public import KuraBytes
import KuraJSON

/// A migration that was configured, and the revision that it came with.
struct RecordedMigration: Sendable {
    /// Documents of lower revisions are of the version before.
    var rev: UInt64
    var migration: Migration

    /// Bytes of all that are kept of a collection; beyond them the oldest go.
    static let textLimit = 512 << 10

    /// Those of a list's text; one that this version does not understand never stops anybody.
    static func list(_ text: Bytes) -> [RecordedMigration] {
        StoredValue(text).elements.compactMap { element in
            guard let rev = element.member(named: Bytes("rev")), let number = UInt64(String(rev.text)),
                let migration = try? Migration(element, at: "")
            else { return nil }
            return RecordedMigration(rev: number, migration: migration)
        }
    }

    static func text(of list: [RecordedMigration]) -> [UInt8] {
        var parts: [[UInt8]] = []
        var bytes = 0
        for recorded in list.reversed() {
            let head = "{\"rev\":\(recorded.rev),\"to\":\(recorded.migration.version),\"steps\":"
            let part = Array(head.utf8) + recorded.migration.stepsText + [UInt8(ascii: "}")]
            bytes += part.count + 1
            if bytes > textLimit, !parts.isEmpty { break }
            parts.append(part)
        }
        return [UInt8(ascii: "[")] + Array(parts.reversed().joined(separator: [UInt8(ascii: ",")]))
            + [UInt8(ascii: "]")]
    }
}

/// What a collection's version is, which migrations led there, and how far the one is that is under way.
///
/// Which version a document is of follows from its revision: whatever was written since a migration was configured is of the new version,
/// whatever is older is of the old one until the migration has come to it, which gives it a new revision. So no document is migrated
/// twice, wherever the walk over them stood when it was interrupted. Belongs to the loop.
public final class CollectionMigrations {
    /// The version that was declared last.
    public private(set) var version = 0
    /// Oldest first.
    private(set) var recorded: [RecordedMigration] = []
    /// How the last run stands; nil when there was none.
    public private(set) var progress: MigrationProgress?
    private var listText: [UInt8] = []
    private var plan: MigrationPlan?

    /// Some documents may not be of the declared version yet.
    public var isRunning: Bool { progress.map { !$0.isDone } ?? false }

    /// Bytes that the loop looks at and moves for one document.
    private static let work = 64 << 20

    /// Takes in what is configured.
    func define(version: Int, list: Bytes, progress: Bytes) {
        self.version = version
        define(progress: progress)
        guard !listText.withBytes({ $0.equals(list) }) else { return }
        listText = Array(list)
        recorded = RecordedMigration.list(list)
        plan = nil
    }

    func define(progress text: Bytes) { progress = MigrationProgress(text) }

    /// The first migration that is about documents of this revision; nil when they are of the declared version.
    func first(for rev: UInt64) -> Int? { recorded.firstIndex { $0.rev > rev } }

    /// What the migrations make of a document; nil when they leave it as it is. Good until the next call.
    /// - Throws: `.migrating`, when they cannot be applied now and a run is under way, which will tell of it.
    func migrated(_ document: Bytes, rev: UInt64) throws(DocumentsError) -> Bytes? {
        guard let first = first(for: rev) else { return nil }
        let plan =
            plan
            ?? MigrationPlan(
                recorded.map(\.migration),
                limits: MigrationLimits(resultBytes: DocumentsStore.valueLimit, work: Self.work))
        self.plan = plan
        do throws(MigrationFault) { return try plan.apply(to: document, from: first) } catch {
            // What no run has come to yet is told of by the run; what it has failed with is its writers' to mend.
            if isRunning { throw .migrating }
            return nil
        }
    }
}

/// How a run of migrations stands.
public struct MigrationProgress: Sendable {
    /// The versions that it leads from and to.
    public var from: Int
    public var to: Int
    /// The revision that began it.
    public var rev: UInt64
    /// Documents up to this row are done with.
    public var row: Int64
    /// Documents when it began, deleted ones counted.
    public var total: Int
    /// Documents that were changed.
    public var changed = 0
    /// Documents that were left as they were, and the first of them.
    public var failed = 0
    public var failures: [MigrationFailure] = []
    public var isDone = false

    /// Documents that are told of by their ids.
    public static let failureLimit = 16

    init(from: Int, to: Int, rev: UInt64, row: Int64, total: Int) {
        (self.from, self.to, self.rev, self.row, self.total) = (from, to, rev, row, total)
    }

    /// Documents gone through, deleted ones counted.
    public var done: Int { isDone ? total : min(total, Int(row & (1 << 40 - 1))) }

    mutating func note(_ failure: MigrationFailure) {
        failed += 1
        if failures.count < Self.failureLimit { failures.append(failure) }
    }

    /// - Parameter text: what `text` gave; nil for anything else.
    init?(_ text: Bytes) {
        let value = StoredValue(text)
        guard value.kind == .object else { return nil }
        func number(_ name: StaticString) -> Int {
            value.member(named: Bytes(name)).flatMap { Int(String($0.text)) } ?? 0
        }
        self.init(
            from: number("from"), to: number("to"), rev: UInt64(clamping: number("rev")), row: Int64(number("row")),
            total: number("total"))
        changed = number("changed")
        failed = number("failed")
        isDone = number("done") == 1
        if let list = value.member(named: Bytes("failures")) {
            failures = list.elements.compactMap { MigrationFailure($0) }
        }
    }

    /// As it is kept.
    var text: [UInt8] {
        var text = ByteBuffer()
        text.append(text: "{\"from\":\(from),\"to\":\(to),\"rev\":\(rev),\"row\":\(row),\"total\":\(total)")
        text.append(text: ",\"changed\":\(changed),\"failed\":\(failed),\"done\":\(isDone ? 1 : 0),\"failures\":[")
        for (position, failure) in failures.enumerated() {
            if position > 0 { text.append(",") }
            failure.append(to: &text)
        }
        text.append("]}")
        return Array(text.bytes)
    }
}

/// Why a document was left as it was.
public struct MigrationFailure: Sendable {
    public var id: [UInt8]
    /// The version that the step leads to which could not be taken, and its position in that migration; nil when all could, and
    /// the document may not be as they made it.
    public var version: Int?
    public var step: Int?
    /// The place in the document, as a JSON pointer.
    public var pointer: [UInt8]
    /// A sentence without its point.
    public var reason: [UInt8]

    init(id: [UInt8], pointer: [UInt8] = [], reason: String) {
        self.id = id
        self.pointer = pointer
        self.reason = Array(reason.utf8)
    }

    init(id: [UInt8], _ fault: MigrationFault) {
        self.id = id
        version = fault.version
        step = fault.step
        pointer = fault.pointer
        reason = Array(Bytes(fault.message))
    }

    init?(_ value: StoredValue) {
        func text(_ name: StaticString) -> [UInt8]? {
            value.member(named: Bytes(name)).map { ResolvedText.bytes($0.quoted) }
        }
        guard let id = text("id"), let pointer = text("path"), let reason = text("reason") else { return nil }
        self.id = id
        self.pointer = pointer
        self.reason = reason
        version = value.member(named: Bytes("to")).flatMap { Int(String($0.text)) }
        step = value.member(named: Bytes("step")).flatMap { Int(String($0.text)) }
    }

    /// Appends it as a JSON object.
    public func append(to text: inout ByteBuffer) {
        text.append("{\"id\":")
        id.withBytes { text.append(quotedName: $0) }
        if let version, let step { text.append(text: ",\"to\":\(version),\"step\":\(step)") }
        text.append(",\"path\":")
        pointer.withBytes { text.append(quotedName: $0) }
        text.append(",\"reason\":")
        reason.withBytes { text.append(quotedName: $0) }
        text.append("}")
    }
}
