import CSQLite

// Safety: the library's texts are constants that end with a zero.

/// Which SQLite this process runs with, and which of its known faults could concern a daemon like this one.
public enum SQLiteLibrary {
    /// Of the library, as it is loaded: `3.40.1`.
    public static var version: String { unsafe String(cString: sqlite3_libversion()) }
    /// The same as a number: 3,040,001.
    public static var number: Int { Int(sqlite3_libversion_number()) }
    /// Of the header that this program was made with.
    public static var numberMadeWith: Int { Int(SQLITE_VERSION_NUMBER) }
    public static var isThreadSafe: Bool { sqlite3_threadsafe() != 0 }

    /// The oldest one that this program runs with.
    public static let least = 3_040_000

    /// A fault that versions have. Distributions mend some without another number.
    public struct KnownFault: Sendable {
        public let name: String
        /// Versions that have it.
        public let versions: Range<Int>
        public let what: String
        /// Why it does not strike here, as long as that is so.
        public let here: String
    }

    /// Source: sqlite.org/wal.html, "The WAL-Reset Bug"; sqlite.org/cves.html.
    public static let knownFaults = [
        KnownFault(
            name: "WAL reset", versions: 3_007_000..<3_051_003,
            what: "a database in WAL mode can be damaged when two connections write or checkpoint at the same moment",
            here:
                "the daemon writes and checkpoints each file through one connection; let no other program open files of the data directory"
        ),
        KnownFault(
            name: "CVE-2025-6965", versions: 0..<3_050_002,
            what: "a statement with more aggregates than columns can corrupt memory",
            here: "no statement is made of what clients send"),
    ]

    /// Those of a version.
    public static func faults(of number: Int) -> [KnownFault] { knownFaults.filter { $0.versions.contains(number) } }
}
