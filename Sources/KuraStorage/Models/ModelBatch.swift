import Glibc
import KuraBytes
import SQLite

/// Changes of the model cache on their way to the files: one after the other in one buffer, made on the loop and carried out by the cache thread,
/// some transactions of a bounded size.
///
/// Safety: it has one user at a time, as `CacheJob` says; what is decoded lies in the buffer, which does not change meanwhile.
final class ModelBatch: CacheJob, @unchecked Sendable {
    enum Change: UInt8 {
        case put, touch, delete, namespace, mark, dropNamespace, dropFile, shrink
    }

    let number: UInt64
    private var buffer = ByteBuffer()
    private(set) var changes = 0
    /// Kept when the batch is carried out.
    var sequence: UInt64 = 0
    var clock: Int64 = 0
    private let space: FreeSpace
    /// Names of files by the numbers that changes have for them.
    private var files: [String] = []

    /// Changes of one transaction, and bytes.
    private static let piece = (changes: 256, bytes: 256 << 10)

    init(number: UInt64, space: FreeSpace) {
        self.number = number
        self.space = space
    }

    var bytes: Int { buffer.count }
    var isEmpty: Bool { changes == 0 }

    // MARK: On the loop

    private func begin(_ change: Change, _ file: String, namespace: UInt32) {
        changes += 1
        let position = files.lastIndex(of: file) ?? files.count
        if position == files.count { files.append(file) }
        buffer.append(change.rawValue)
        buffer.append(littleEndian: UInt16(position))
        buffer.append(littleEndian: namespace)
    }

    private func append(_ bytes: Bytes) {
        buffer.append(littleEndian: UInt32(bytes.count))
        buffer.append(bytes)
    }

    private func append(_ number: Int64) { buffer.append(littleEndian: number) }

    /// `tags`: names, each behind a byte with its length.
    func put(_ row: ModelRow, value: Bytes, tags: Bytes, of namespace: ModelNamespace) {
        begin(.put, namespace.file, namespace: row.namespace)
        append(row.key)
        appendTimes(row)
        append(row.etag)
        append(tags)
        append(value)
    }

    func touch(_ row: ModelRow, of namespace: ModelNamespace) {
        begin(.touch, namespace.file, namespace: row.namespace)
        append(row.key)
        appendTimes(row)
    }

    private func appendTimes(_ row: ModelRow) {
        append(Int64(row.sequence))
        append(row.storedAt)
        append(row.freshUntil)
        append(row.staleUntil)
        append(row.errorUntil)
        append(Int64(row.flags.intersection(.kept).rawValue))
    }

    func delete(_ key: Bytes, of namespace: ModelNamespace) {
        begin(.delete, namespace.file, namespace: namespace.number)
        append(key)
    }

    /// `configuration`: its text; empty when there is no such namespace any more.
    func note(_ namespace: ModelNamespace, configuration: Bytes) {
        begin(.namespace, CacheFiles.main, namespace: namespace.number)
        namespace.name.withBytes { append($0) }
        append(configuration)
    }

    /// `kind`: 0 of all, 1 of a tag, 2 of a prefix.
    func mark(_ namespace: ModelNamespace, kind: Int64, name: Bytes, _ marks: ModelMarks) {
        begin(.mark, CacheFiles.main, namespace: namespace.number)
        append(name)
        append(kind)
        append(Int64(marks.staleBefore))
        append(Int64(marks.dropBefore))
    }

    /// All that is in a namespace: a file of its own is removed.
    func drop(_ namespace: ModelNamespace, file: String, isPartition: Bool) {
        begin(isPartition ? .dropFile : .dropNamespace, file, namespace: namespace.number)
    }

    /// Gives free pages of a file back.
    func shrink(_ file: String) { begin(.shrink, file, namespace: 0) }

    // MARK: On the thread

    func run(_ files: CacheFiles) throws(SQLiteError) {
        var fault: SQLiteError?
        // The counter and the clock lie in the main file, whichever the changes are for.
        if !self.files.contains(CacheFiles.main) {
            do throws(SQLiteError) { try note(files) } catch { fail(CacheFiles.main, files, &fault, error) }
        }
        var reader = BatchReader(buffer.bytes)
        while !reader.isAtEnd {
            let name = self.files[reader.peekFile()]
            // Of a file that has been dropped nothing has to go, and what was to come stays in memory.
            if failedFiles.contains(name), reader.peekChange() != .dropFile {
                reader.skipChange()
                continue
            }
            let isLow = space.look() && !isRelief
            if isLow { isUnwritten = true }
            do throws(SQLiteError) { try carryOut(&reader, files, name, isLow: isLow) } catch {
                fail(name, files, &fault, error)
            }
        }
        if let fault { throw fault }
    }

    /// What is not deleted or marked would come back as it was: rather nothing of the file does.
    private func fail(_ name: String, _ files: CacheFiles, _ fault: inout SQLiteError?, _ error: SQLiteError) {
        isUnwritten = true
        failedFiles.insert(name)
        files.drop(name)
        fault = fault ?? error
    }

    /// Files that could not be written, and have been dropped.
    private var failedFiles: Set<String> = []

    private func note(_ files: CacheFiles) throws(SQLiteError) {
        guard !space.look() else { return }
        let file = try files.file(CacheFiles.main)
        let statements = try file.keep { (connection) throws(SQLiteError) in try ModelStatements(connection) }
        try file.transaction { () throws(SQLiteError) in try statements.note(sequence: sequence, clock: clock) }
    }

    /// It gives more than it takes, so it goes on while space is low.
    var isRelief = false
    /// Entries are not in the file as they were to be; what had been there of them is gone too.
    private(set) var isUnwritten = false
    /// Files that are gone since the batch asked for it.
    private(set) var removedFiles: [String] = []

    /// Carries out changes of one file, up to a transaction's bound.
    /// `isLow`: nothing is added; what would have been superseded is deleted.
    private func carryOut(
        _ reader: inout BatchReader, _ files: CacheFiles, _ name: String, isLow: Bool
    ) throws(SQLiteError) {
        switch reader.peekChange() {
        case .dropFile:
            _ = reader.begin()
            files.drop(name, isExpected: true)
            removedFiles.append(name)
            return
        case .shrink:
            _ = reader.begin()
            try files.file(name).shrink(pages: 4096)
            return
        default: break
        }
        if name == CacheFiles.main, let fault = FaultPoints.hit(.modelTable)?.errno {
            throw SQLiteError(extendedCode: fault == ENOSPC ? 13 : 10, message: "fault")
        }
        let file = try files.file(name)
        let statements = try file.keep { (connection) throws(SQLiteError) in try ModelStatements(connection) }
        let first = reader.peekFile()
        var next = reader
        try file.transaction { () throws(SQLiteError) in
            let end = next.position + Self.piece.bytes
            var done = 0
            while !next.isAtEnd, next.peekFile() == first, done < Self.piece.changes, next.position < end {
                guard let change = next.peekChange(), change != .dropFile, change != .shrink else { break }
                try statements.carryOut(&next, isLow: isLow)
                done += 1
            }
            if name == CacheFiles.main { try statements.note(sequence: sequence, clock: clock) }
        }
        reader = next
    }

    /// Calls `body` with the namespace and key of each entry that the batch was to put or touch.
    func forEachEntry(_ body: (UInt32, Bytes) -> Void) {
        var reader = BatchReader(buffer.bytes)
        while !reader.isAtEnd {
            let change = reader.peekChange()
            guard change == .put || change == .touch else {
                reader.skipChange()
                continue
            }
            let namespace = reader.begin().namespace
            body(namespace, reader.bytes())
            reader.skip(numbers: 6, bytes: change == .put ? 3 : 0)
        }
    }
}
