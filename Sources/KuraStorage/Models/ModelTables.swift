import KuraBytes
import SQLite

/// The model cache's tables in a file of the cache, and the statements that write them.
///
/// Heads and values are apart: what is loaded at a start, and what a touch writes, is small. `model_marks` has what is invalidated: kind 0 all of a
/// namespace, 1 a tag, 2 a prefix. `model_facts` has how far the store's sequence and clock had come.
final class ModelStatements {
    static let tables = """
        CREATE TABLE model_namespaces(
            number INTEGER PRIMARY KEY, name BLOB NOT NULL, configuration TEXT NOT NULL);
        CREATE TABLE model_heads(
            namespace INTEGER NOT NULL, key BLOB NOT NULL, sequence INTEGER NOT NULL, storedAt INTEGER NOT NULL,
            freshUntil INTEGER NOT NULL, staleUntil INTEGER NOT NULL, errorUntil INTEGER NOT NULL,
            flags INTEGER NOT NULL, etag BLOB NOT NULL, tags BLOB NOT NULL, bytes INTEGER NOT NULL,
            PRIMARY KEY(namespace, key)) WITHOUT ROWID;
        CREATE TABLE model_values(
            namespace INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL,
            PRIMARY KEY(namespace, key)) WITHOUT ROWID;
        CREATE TABLE model_marks(
            namespace INTEGER NOT NULL, kind INTEGER NOT NULL, name BLOB NOT NULL, staleBefore INTEGER NOT NULL,
            dropBefore INTEGER NOT NULL, PRIMARY KEY(namespace, kind, name)) WITHOUT ROWID;
        CREATE TABLE model_facts(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
        """

    private let putHead: Statement
    private let putValue: Statement
    private let touch: Statement
    private let deleteHead: Statement
    private let deleteValue: Statement
    private let putNamespace: Statement
    private let deleteNamespace: Statement
    private let putMark: Statement
    private let deleteHeads: Statement
    private let deleteValues: Statement
    private let deleteMark: Statement
    private let deleteMarks: Statement
    private let putFact: Statement

    init(_ connection: Connection) throws(SQLiteError) {
        putHead = try connection.prepare(
            "INSERT OR REPLACE INTO model_heads VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)")
        putValue = try connection.prepare("INSERT OR REPLACE INTO model_values VALUES(?1,?2,?3)")
        touch = try connection.prepare(
            """
            UPDATE model_heads SET sequence=?3, storedAt=?4, freshUntil=?5, staleUntil=?6, errorUntil=?7, flags=?8
            WHERE namespace=?1 AND key=?2
            """)
        deleteHead = try connection.prepare("DELETE FROM model_heads WHERE namespace=?1 AND key=?2")
        deleteValue = try connection.prepare("DELETE FROM model_values WHERE namespace=?1 AND key=?2")
        putNamespace = try connection.prepare("INSERT OR REPLACE INTO model_namespaces VALUES(?1,?2,?3)")
        deleteNamespace = try connection.prepare("DELETE FROM model_namespaces WHERE number=?1")
        putMark = try connection.prepare("INSERT OR REPLACE INTO model_marks VALUES(?1,?2,?3,?4,?5)")
        deleteHeads = try connection.prepare("DELETE FROM model_heads WHERE namespace=?1")
        deleteValues = try connection.prepare("DELETE FROM model_values WHERE namespace=?1")
        deleteMark = try connection.prepare("DELETE FROM model_marks WHERE namespace=?1 AND kind=?2 AND name=?3")
        deleteMarks = try connection.prepare("DELETE FROM model_marks WHERE namespace=?1")
        putFact = try connection.prepare("INSERT OR REPLACE INTO model_facts VALUES(?1,?2)")
    }

    /// Carries out the change that comes next in a batch.
    /// `isLow`: nothing is added; an entry that would have been written is deleted.
    func carryOut(_ reader: inout BatchReader, isLow: Bool) throws(SQLiteError) {
        let (change, namespace) = reader.begin()
        let number = Int64(namespace)
        switch change {
        case .put where isLow, .touch where isLow:
            try delete(number, reader.bytes())
            reader.skip(numbers: 6, bytes: change == .put ? 3 : 0)
        case .put:
            let key = reader.bytes()
            try putHead.bind(1, number)
            try putHead.bind(2, bytes: key)
            for column in 3...8 as ClosedRange<Int32> { try putHead.bind(column, reader.number()) }
            try putHead.bind(9, bytes: reader.bytes())
            try putHead.bind(10, bytes: reader.bytes())
            let value = reader.bytes()
            try putHead.bind(11, Int64(value.count))
            try putHead.run()
            try put(value, namespace: number, key)
        case .touch:
            try touch.bind(1, number)
            try touch.bind(2, bytes: reader.bytes())
            for column in 3...8 as ClosedRange<Int32> { try touch.bind(column, reader.number()) }
            try touch.run()
        case .delete:
            try delete(number, reader.bytes())
        case .namespace:
            let (name, configuration) = (reader.bytes(), reader.bytes())
            if configuration.isEmpty {
                try deleteNamespace.bind(1, number)
                try deleteNamespace.run()
                try deleteMarks.bind(1, number)
                try deleteMarks.run()
            } else {
                try put(namespace: number, name, configuration)
            }
        case .mark:
            let name = reader.bytes()
            let (kind, staleBefore, dropBefore) = (reader.number(), reader.number(), reader.number())
            if staleBefore == 0, dropBefore == 0 {
                try deleteMark.bind(1, number)
                try deleteMark.bind(2, kind)
                try deleteMark.bind(3, bytes: name)
                try deleteMark.run()
            } else {
                try putMark.bind(1, number)
                try putMark.bind(2, kind)
                try putMark.bind(3, bytes: name)
                try putMark.bind(4, staleBefore)
                try putMark.bind(5, dropBefore)
                try putMark.run()
            }
        case .dropNamespace: try deleteEntries(of: number)
        case .dropFile, .shrink: break
        }
    }

    /// `configuration`: its text, not empty.
    func put(namespace number: Int64, _ name: Bytes, _ configuration: Bytes) throws(SQLiteError) {
        try putNamespace.bind(1, number)
        try putNamespace.bind(2, bytes: name)
        try putNamespace.bind(3, utf8: configuration)
        try putNamespace.run()
    }

    private func put(_ value: Bytes, namespace: Int64, _ key: Bytes) throws(SQLiteError) {
        try putValue.bind(1, namespace)
        try putValue.bind(2, bytes: key)
        try putValue.bind(3, bytes: value)
        try putValue.run()
    }

    /// `numbers`: the columns from `sequence` to `flags`.
    func put(
        namespace: Int64, _ key: Bytes, _ numbers: [Int64], _ etag: Bytes, _ tags: Bytes, _ value: Bytes
    ) throws(SQLiteError) {
        try putHead.bind(1, namespace)
        try putHead.bind(2, bytes: key)
        for (position, number) in numbers.enumerated() { try putHead.bind(Int32(3 + position), number) }
        try putHead.bind(9, bytes: etag)
        try putHead.bind(10, bytes: tags)
        try putHead.bind(11, Int64(value.count))
        try putHead.run()
        try put(value, namespace: namespace, key)
    }

    private func deleteEntries(of namespace: Int64) throws(SQLiteError) {
        try deleteHeads.bind(1, namespace)
        try deleteHeads.run()
        try deleteValues.bind(1, namespace)
        try deleteValues.run()
    }

    /// Takes out what there is of a namespace that has no name.
    func deleteAll(of namespace: UInt32) throws(SQLiteError) {
        try deleteEntries(of: Int64(namespace))
        try deleteMarks.bind(1, Int64(namespace))
        try deleteMarks.run()
    }

    private func delete(_ namespace: Int64, _ key: Bytes) throws(SQLiteError) {
        try deleteHead.bind(1, namespace)
        try deleteHead.bind(2, bytes: key)
        try deleteHead.run()
        try deleteValue.bind(1, namespace)
        try deleteValue.bind(2, bytes: key)
        try deleteValue.run()
    }

    func note(sequence: UInt64, clock: Int64) throws(SQLiteError) {
        try putFact.bind(1, text: "sequence")
        try putFact.bind(2, Int64(sequence))
        try putFact.run()
        try putFact.bind(1, text: "clock")
        try putFact.bind(2, clock)
        try putFact.run()
    }
}
