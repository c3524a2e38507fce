import Glibc
import KuraBytes

/// A segment of the log for reading, of whatever layout.
package protocol ReadableSegment: AnyObject {
    var number: Int { get }
    var path: String { get }
    /// What its changes belong to; nil when it does not say.
    var history: LogHistory? { get }
    /// Bytes of its file.
    var capacity: Int { get }
    /// The revision before its first row.
    var previousRev: UInt64 { get }
    /// The last revision of its first row; 0 while it has none.
    var firstRev: UInt64 { get }
    var lastRev: UInt64 { get }
    /// The greatest revision that is known from here to have been on the disk.
    var greatestSynced: UInt64 { get }
    /// Revisions that whole rows have.
    var present: RevisionSet { get }
    /// What is not what was written there.
    var damages: [SegmentDamage] { get }
    /// What is whole behind the last row: for whoever knows that changes up to `rev` have been there.
    func salvageTail(upTo rev: UInt64) throws(StorageFault) -> SegmentDamage?
    /// Calls `body` for each whole row above `rev`, in order, until it returns false.
    func someRows(after rev: UInt64, _ body: (SegmentRow) throws(StorageFault) -> Bool) throws(StorageFault)
}

extension ReadableSegment {
    /// Calls `body` for each whole row above `rev`, in order.
    func rows(after rev: UInt64, _ body: (SegmentRow) throws(StorageFault) -> Void) throws(StorageFault) {
        try someRows(after: rev) { (row) throws(StorageFault) in
            try body(row)
            return true
        }
    }
}

/// The files of a log's directory, of both layouts.
package enum LogFiles {
    /// What each file belongs to, in the order of the names.
    package static func numbers(in directory: String) throws(StorageFault) -> [Int] {
        Set(try FileSystem.names(in: directory).compactMap(number)).sorted()
    }

    /// The number in a segment's name, of whatever layout; nil for other files.
    static func number(ofFile name: String) -> Int? {
        Segment.number(ofFile: name) ?? SQLiteSegment.number(ofFile: name)
    }

    /// Whether a name in the directory is one of the daemon's.
    package static func isOurs(_ name: String) -> Bool {
        if name == "spare" || name == "spare-wal" || Segment.isDraft(name) { return true }
        let end = ["-wal", "-shm", "-journal"].first { name.hasSuffix($0) } ?? ""
        return number(ofFile: String(name.dropLast(end.count))) != nil
    }

    /// What is none of the daemon's: nobody reads it, and it stays where it is.
    package static func strays(in directory: String) throws(StorageFault) -> [String] {
        try FileSystem.names(in: directory).filter { !isOurs($0) }.sorted()
    }

    package static func exists(_ number: Int, in directory: String) -> Bool {
        FileSystem.exists(Segment.path(directory, number)) || SQLiteSegment.exists(number, in: directory)
    }

    package static func open(_ number: Int, in directory: String) throws(StorageFault) -> any ReadableSegment {
        if FileSystem.exists(Segment.path(directory, number)) { return try Segment(opening: number, in: directory) }
        return try SQLiteSegment(opening: number, in: directory)
    }

    /// Names of a segment's files, the one first that has its rows.
    package static func paths(_ number: Int, in directory: String) -> [String] {
        let old = SQLiteSegment.path(directory, number)
        return [Segment.path(directory, number), old + "-wal", old].filter { FileSystem.exists($0) }
    }

    /// A WAL without its file would refuse every start: the power may go in between, and the disk keeps any of two removals that nobody has synced.
    static func remove(
        _ number: Int, in directory: String,
        by letGo: (String) throws(StorageFault) -> Void = { (path) throws(StorageFault) in try FileSystem.remove(path) }
    ) throws(StorageFault) {
        for (index, path) in paths(number, in: directory).enumerated() {
            if index > 0 { try FileSystem.syncDirectory(directory) }
            try letGo(path)
        }
    }

    /// Bytes of a segment's files.
    static func size(_ number: Int, in directory: String) -> Int {
        paths(number, in: directory).reduce(0) { $0 + FileSystem.size($1) }
    }
}
