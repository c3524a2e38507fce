import KuraBytes
import SQLite

/// Reads what the last run left: first namespaces, marks and facts of the main file, then heads, so many at a time.
///
/// Safety: one user at a time, as `CacheJob` says.
final class ModelLoad: CacheJob, @unchecked Sendable {
    struct Space {
        var number: UInt32
        var name: [UInt8]
        var configuration: [UInt8]
    }
    struct Mark {
        var namespace: UInt32
        var kind: Int64
        var name: [UInt8]
        var marks: ModelMarks
    }

    /// nil: the beginning of all.
    let file: String?
    let seed: ModelSeed?
    private let after: (namespace: Int64, key: [UInt8])
    private(set) var spaces: [Space] = []
    private(set) var marks: [Mark] = []
    private(set) var sequence: UInt64 = 0
    private(set) var clock: Int64 = 0
    /// Heads: each a namespace and the columns from `sequence` to `flags` as numbers, bytes of the value, then key, etag and tags.
    private var heads = ByteBuffer()
    private(set) var count = 0
    private(set) var last: (namespace: Int64, key: [UInt8]) = (-1, [])

    /// Heads of one piece.
    static let piece = 512

    /// `seed`: laid down before the beginning of all is read.
    init(file: String? = nil, after: (namespace: Int64, key: [UInt8]) = (-1, []), seed: ModelSeed? = nil) {
        self.file = file
        self.after = after
        self.seed = seed
    }

    var isAtEnd: Bool { count < Self.piece }
    var reader: BatchReader { BatchReader(heads.bytes) }

    func run(_ files: CacheFiles) throws(SQLiteError) {
        // Whatever keeps the names from being read, files that none of those that were read is about are nobody's.
        defer { if file == nil { dropUnnamed(files) } }
        seed?.lay(files)
        guard files.exists(file ?? CacheFiles.main) else { return }
        let opened = try files.file(file ?? CacheFiles.main)
        guard file == nil else {
            try opened.noticing { () throws(SQLiteError) in try readHeads(opened.connection) }
            return
        }
        do throws(SQLiteError) {
            try opened.noticing { () throws(SQLiteError) in try readBeginning(opened.connection) }
            try removeUnnamed(opened)
        } catch {
            // Its namespaces would come back beside those that are made now, and under the same numbers.
            (spaces, marks, sequence, clock) = ([], [], 0, 0)
            files.drop(CacheFiles.main)
            throw error
        }
    }

    /// Drops the partitions that no namespace has: another one that got the number would show what is in them.
    private func dropUnnamed(_ files: CacheFiles) {
        let named = spaces.compactMap { space -> String? in
            let configuration = space.configuration.withBytes { ModelConfiguration(text: $0) }
            return configuration.isPartition && configuration.persists
                ? ModelNamespace.partitionFile(space.number) : nil
        }
        for name in files.names(beginningWith: ModelNamespace.partitionPrefix) where !named.contains(name) {
            files.drop(name, isExpected: true)
        }
    }

    /// The same of what lies in the main file.
    private func removeUnnamed(_ file: CacheFile) throws(SQLiteError) {
        var unnamed: [UInt32] = []
        for table in ["model_heads", "model_values", "model_marks"] {
            let next = try file.connection.prepare("SELECT min(namespace) FROM \(table) WHERE namespace > ?1")
            var number: Int64 = -1
            while true {
                try next.bind(1, number)
                guard try next.step(), !next.isNull(0) else { break }
                number = next.int64(0)
                next.reset()
                let found = UInt32(truncatingIfNeeded: number)
                if !spaces.contains(where: { $0.number == found }), !unnamed.contains(found) { unnamed.append(found) }
            }
        }
        guard !unnamed.isEmpty else { return }
        let statements = try file.keep { (connection) throws(SQLiteError) in try ModelStatements(connection) }
        try file.transaction { () throws(SQLiteError) in
            for number in unnamed { try statements.deleteAll(of: number) }
        }
    }

    private func readBeginning(_ connection: Connection) throws(SQLiteError) {
        let names = try connection.prepare("SELECT number, name, configuration FROM model_namespaces ORDER BY number")
        while try names.step() {
            spaces.append(
                Space(
                    number: UInt32(truncatingIfNeeded: names.int64(0)), name: Array(names.bytes(1)),
                    configuration: Array(names.bytes(2))))
        }
        let marked = try connection.prepare("SELECT namespace, kind, name, staleBefore, dropBefore FROM model_marks")
        while try marked.step() {
            let found = ModelMarks(
                staleBefore: UInt64(truncatingIfNeeded: marked.int64(3)),
                dropBefore: UInt64(truncatingIfNeeded: marked.int64(4)))
            marks.append(
                Mark(
                    namespace: UInt32(truncatingIfNeeded: marked.int64(0)), kind: marked.int64(1),
                    name: Array(marked.bytes(2)), marks: found))
        }
        sequence = UInt64(try connection.scalar("SELECT value FROM model_facts WHERE name = 'sequence'") ?? 0)
        clock = try connection.scalar("SELECT value FROM model_facts WHERE name = 'clock'") ?? 0
    }

    private func readHeads(_ connection: Connection) throws(SQLiteError) {
        let next = try connection.prepare(
            """
            SELECT namespace, sequence, storedAt, freshUntil, staleUntil, errorUntil, flags, bytes, key, etag, tags
            FROM model_heads WHERE (namespace, key) > (?1, ?2) ORDER BY namespace, key LIMIT \(Self.piece)
            """)
        try next.bind(1, after.namespace)
        try after.key.withBytes { (key) throws(SQLiteError) in
            try next.bind(2, bytes: key)
            while try next.step() {
                for column in 0...7 as ClosedRange<Int32> { heads.append(littleEndian: next.int64(column)) }
                for column in 8...10 as ClosedRange<Int32> {
                    let bytes = next.bytes(column)
                    heads.append(littleEndian: UInt32(bytes.count))
                    heads.append(bytes)
                }
                count += 1
                if count == Self.piece { last = (next.int64(0), Array(next.bytes(8))) }
            }
        }
    }
}

/// Taking in what was read: while requests are served.
extension ModelsStore {
    func take(_ load: ModelLoad, _ error: SQLiteError?) {
        if let error {
            caches.openErrors += 1
            caches.report("the model cache begins empty: \(error)")
        }
        guard load.file != nil else {
            load.seed?.tell()
            return takeBeginning(load)
        }
        var reader = load.reader
        var tags = ByteBuffer()
        while !reader.isAtEnd { takeHead(&reader, &tags) }
        if error == nil, !load.isAtEnd {
            caches.writer.submit(ModelLoad(file: load.file, after: load.last))
        } else {
            loadNextFile()
        }
    }

    private func takeBeginning(_ load: ModelLoad) {
        outbox.raise(to: load.sequence)
        caches.clockWas(load.clock)
        for space in load.spaces where space.number > 0 && space.number < UInt32(Self.namespaceLimit) * 16 {
            namespaces.add(
                number: space.number, space.name, space.configuration.withBytes { ModelConfiguration(text: $0) })
        }
        for mark in load.marks {
            guard let namespace = namespaces[mark.namespace] else { continue }
            outbox.raise(to: mark.marks.newest)
            switch mark.kind {
            case 1:
                if let tag = mark.name.withBytes({ namespace.tag($0) }) { namespace.marks.mark(tag: tag, mark.marks) }
            case 2: namespace.marks.mark(prefix: mark.name, mark.marks)
            default: namespace.marks.whole.join(mark.marks)
            }
        }
        // Batches were lost after the last one that is here, deletions and invalidations among them: nothing is fresh any more.
        if caches.isDoubtful, !load.spaces.isEmpty {
            outbox.raise(to: outbox.sequence + 1 << 20)
            for namespace in namespaces.all {
                namespace.marks.whole.set(.stale, outbox.sequence)
                outbox.batch.mark(namespace, kind: 0, name: Bytes(), namespace.marks.whole)
            }
        }
        namespaces.noteLoaded()
        loading.begin(load.spaces.isEmpty ? [] : Set(namespaces.all.map(\.file)))
        loadNextFile()
    }

    private func loadNextFile() {
        if let file = loading.next() { caches.writer.submit(ModelLoad(file: file)) }
    }

    private func takeHead(_ reader: inout BatchReader, _ tags: inout ByteBuffer) {
        let number = UInt32(truncatingIfNeeded: reader.number())
        var row = ModelRow()
        row.sequence = UInt64(truncatingIfNeeded: reader.number())
        row.storedAt = reader.number()
        row.freshUntil = reader.number()
        row.staleUntil = reader.number()
        row.errorUntil = reader.number()
        let flags = ModelRow.Flags(rawValue: UInt8(truncatingIfNeeded: reader.number()))
        row.flags = flags.intersection(.kept).union(.persisted)
        // Nothing that an unclean stop has left is fresh, whatever the marks say.
        if caches.isDoubtful { row.flags.insert(.stale) }
        // What is written from now on is newer than all that is there.
        outbox.raise(to: row.sequence)
        row.valueCount = UInt32(truncatingIfNeeded: reader.number())
        let (key, etag, names) = (reader.bytes(), reader.bytes(), reader.bytes())
        guard let namespace = namespaces[number], namespace.persists else { return }
        row.hash = rows.hash(number, key)
        // What no put can have stored is damage.
        guard key.count <= Self.keyLimit, etag.count <= Self.keyLimit, names.count <= Self.tagLimit * 256,
            row.valueCount <= Self.valueLimit
        else { return }
        // What was written since is newer.
        guard rows.find(number, key, row.hash) == 0 else { return }
        row.namespace = number
        row.keyCount = UInt16(truncatingIfNeeded: key.count)
        row.etagCount = UInt16(truncatingIfNeeded: etag.count)
        tags.removeAll()
        var position = 0
        while position < names.count {
            let end = position + 1 + Int(names[position])
            guard end <= names.count, let tag = namespace.tag(names.extracting(position + 1..<end)) else { return }
            tags.append(littleEndian: tag)
            namespace.marks.use(tag: tag, by: 1)
            position = end
        }
        row.tagCount = UInt8(truncatingIfNeeded: tags.count / 4)
        row.block = CacheBlock(key, etag, tags.bytes)
        let charge = row.charge
        bytes += charge
        memory.take(row.footprint)
        namespace.order.insertOld(rows.insert(row), bytes: charge)
        for account in namespace.accounts { account.note(bytes: charge, items: 1, scopes: 0) }
        // Less may fit than when it was written.
        while bytes > byteLimit || namespace.bytes > byteLimit(of: namespace), evict(from: namespace) {}
        makeMemory(for: 0)
    }
}

/// How far the files have been read.
final class ModelLoading {
    enum State {
        /// The namespaces are not known yet.
        case unknown
        case entries
        case done
    }
    private(set) var state = State.unknown
    private var files: [String] = []

    /// The namespaces are known, and these are the files that have their entries.
    func begin(_ names: Set<String>) {
        files = names.sorted()
        state = .entries
    }

    /// The file that is read next; nil: that was all.
    func next() -> String? {
        let file = files.popLast()
        if file == nil { state = .done }
        return file
    }
}
