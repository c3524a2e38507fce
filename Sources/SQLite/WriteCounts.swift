import Synchronization

/// What a database file is for: the last directory of that name in its path decides.
public enum FileRole: Int, CaseIterable, Sendable {
    case log, durable, cache, other

    /// Safety: SQLite's path ends with a zero and is there for the call.
    init(path: UnsafePointer<CChar>?) {
        guard let path = unsafe path else {
            // SQLite gives its temporary files no name.
            self = .other
            return
        }
        self.init(path: unsafe String(cString: path))
    }

    init(path: String) {
        let components = path.utf8.split(separator: UInt8(ascii: "/"))
        for directory in components.dropLast().reversed() {
            if directory.elementsEqual("log".utf8) { self = .log; return }
            if directory.elementsEqual("durable".utf8) { self = .durable; return }
            if directory.elementsEqual("cache".utf8) { self = .cache; return }
        }
        self = .other
    }
}

/// Which of a database's files. Shared memory (`-shm`) is not counted: it is never synced and need not survive.
public enum FilePart: Int, CaseIterable, Sendable {
    case database, wal, journal
    /// What lies in files of its own, beside the database that refers to it.
    case content
    /// Sorters and temporary tables that did not fit into memory.
    case temporary
    /// Room that is written in advance, to be written over: zeros.
    case room

    /// What a name says that the daemon itself makes, renames or removes.
    init(path: String) {
        self =
            path.hasSuffix("-wal")
            ? .wal : path.hasSuffix("-journal") ? .journal : path.hasSuffix(".sqlite") ? .database : .content
    }
}

/// How much was written and read, by role and part, since the process started.
public struct WriteCounts: Equatable, Sendable {
    public struct Count: Equatable, Sendable {
        /// Writes given to the system, after joining.
        public var writes = 0
        public var bytesWritten = 0
        /// What the device is given besides, since it takes whole blocks: the others' part of a block that two syncs have written.
        public var blockBytes = 0
        public var reads = 0
        public var bytesRead = 0
        public var syncs = 0
        public var creates = 0
        public var renames = 0
        public var deletes = 0

        public init() {}
    }

    private var counts = [Count](repeating: Count(), count: FileRole.allCases.count * FilePart.allCases.count)

    public init() {}

    public subscript(role: FileRole, part: FilePart) -> Count {
        get { counts[Self.index(role, part)] }
        set { counts[Self.index(role, part)] = newValue }
    }

    /// All parts of one role together.
    public subscript(role: FileRole) -> Count {
        FilePart.allCases.reduce(into: Count()) { $0 += self[role, $1] }
    }

    public var total: Count {
        counts.reduce(into: Count()) { $0 += $1 }
    }

    /// What was added between two snapshots.
    public static func - (later: WriteCounts, earlier: WriteCounts) -> WriteCounts {
        var result = later
        for index in result.counts.indices { result.counts[index] -= earlier.counts[index] }
        return result
    }

    static func index(_ role: FileRole, _ part: FilePart) -> Int {
        role.rawValue * FilePart.allCases.count + part.rawValue
    }
}

extension WriteCounts.Count {
    public static func += (left: inout Self, right: Self) { left.combine(right, +) }
    public static func -= (left: inout Self, right: Self) { left.combine(right, -) }

    private mutating func combine(_ other: Self, _ operation: (Int, Int) -> Int) {
        writes = operation(writes, other.writes)
        bytesWritten = operation(bytesWritten, other.bytesWritten)
        blockBytes = operation(blockBytes, other.blockBytes)
        reads = operation(reads, other.reads)
        bytesRead = operation(bytesRead, other.bytesRead)
        syncs = operation(syncs, other.syncs)
        creates = operation(creates, other.creates)
        renames = operation(renames, other.renames)
        deletes = operation(deletes, other.deletes)
    }
}

/// The counters behind one role and part. Each is exact; a snapshot is not one instant of all of them.
final class Counter: Sendable {
    private let writes = Atomic<Int>(0)
    private let bytesWritten = Atomic<Int>(0)
    private let blockBytes = Atomic<Int>(0)
    private let reads = Atomic<Int>(0)
    private let bytesRead = Atomic<Int>(0)
    private let syncs = Atomic<Int>(0)
    private let creates = Atomic<Int>(0)
    private let renames = Atomic<Int>(0)
    private let deletes = Atomic<Int>(0)

    func add(writes count: Int, bytes: Int) {
        writes.wrappingAdd(count, ordering: .relaxed)
        bytesWritten.wrappingAdd(bytes, ordering: .relaxed)
    }

    func add(reads count: Int, bytes: Int) {
        reads.wrappingAdd(count, ordering: .relaxed)
        bytesRead.wrappingAdd(bytes, ordering: .relaxed)
    }

    func add(blockBytes count: Int) { blockBytes.wrappingAdd(count, ordering: .relaxed) }

    /// How many there were.
    var syncCount: Int { syncs.load(ordering: .relaxed) }
    func add(syncs count: Int) { syncs.wrappingAdd(count, ordering: .relaxed) }
    func addCreate() { creates.wrappingAdd(1, ordering: .relaxed) }
    func addRename() { renames.wrappingAdd(1, ordering: .relaxed) }
    func addDelete() { deletes.wrappingAdd(1, ordering: .relaxed) }

    var value: WriteCounts.Count {
        var count = WriteCounts.Count()
        count.writes = writes.load(ordering: .relaxed)
        count.bytesWritten = bytesWritten.load(ordering: .relaxed)
        count.blockBytes = blockBytes.load(ordering: .relaxed)
        count.reads = reads.load(ordering: .relaxed)
        count.bytesRead = bytesRead.load(ordering: .relaxed)
        count.syncs = syncs.load(ordering: .relaxed)
        count.creates = creates.load(ordering: .relaxed)
        count.renames = renames.load(ordering: .relaxed)
        count.deletes = deletes.load(ordering: .relaxed)
        return count
    }

    static func makeAll() -> [Counter] {
        (0..<FileRole.allCases.count * FilePart.allCases.count).map { _ in Counter() }
    }
    private static let ofProcess = makeAll()

    /// What the calling thread writes is counted there.
    static func of(_ role: FileRole, _ part: FilePart) -> Counter {
        let index = WriteCounts.index(role, part)
        return CountingScope.current?.counters[index] ?? ofProcess[index]
    }
}
