import CSyscalls
import Glibc
import KuraBytes

/// What a thread does to data that lasts, for the note of a trap.
///
/// Set before each piece of such work, and back to `.other` behind it. Requests set nothing.
enum Work: UInt32 {
    /// Requests, and whatever else a process does.
    case other = 0
    /// A row of the tables is being read in.
    case loading
    /// A change of the log is being taken in.
    case replaying
    /// A change is being written to the tables.
    case folding
    /// It is looked when something of a secret expires.
    case expiry
    /// What the loop does between turns.
    case upkeep

    /// The calling thread is at this from now on. Two plain stores.
    /// `rev`: of the change that is at work; 0 when it is none in particular.
    static func at(_ work: Work, _ rev: UInt64 = 0) { csys_at_work(work.rawValue, rev) }

    fileprivate var words: String {
        switch self {
        case .other: "serving requests"
        case .loading: "reading the tables in"
        case .replaying: "taking in the log"
        case .folding: "writing the tables"
        case .expiry: "looking when secrets expire"
        case .upkeep: "doing its upkeep"
        }
    }
}

/// How the last run ended, when it ended by a fault of its own: a signal that the processor or the process itself has raised.
public struct TrapNote: Equatable, Sendable {
    /// Milliseconds since 1970.
    public var at: Int64
    /// `SIGILL` and the like.
    public var signal: String
    public var thread: String
    /// Milliseconds since the run began to serve; nil when it did not come so far.
    public var served: Int64?
    /// The change that was at work; nil when it was none in particular.
    public var rev: UInt64?
    var work: Work

    /// A run that has served for longer than this is not taken for a start that failed: sixty times what a start's upkeep takes to come to everything
    /// that it does each second.
    static let soonMilliseconds: Int64 = 60_000

    /// Whether what lasts may be the reason. What a request has met is not: a client that sends it again at each start must not have anything set
    /// aside. A change that is named counts whenever it is.
    var countsAsFailedStart: Bool {
        work != .other && (rev != nil || served.map { $0 <= Self.soonMilliseconds } ?? true)
    }

    /// For people.
    public var line: String {
        let time =
            served.map { "\($0 / 1000).\(String(1000 + $0 % 1000).dropFirst()) s after it began to serve" }
            ?? "before it served"
        return "\(signal) \(time), on the thread \(thread), \(work.words)"
            + (rev.map { " at revision \($0)" } ?? "")
    }

    /// What helps, for people.
    public var advice: String {
        let report = "report it together with the daemon's log, which says where it trapped"
        return countsAsFailedStart
            ? "\(report); when it comes again, a start sets aside what it was at, and goes on without that"
            : "\(report); nothing was set aside"
    }

    private static let names: [Int32: String] = [
        SIGILL: "SIGILL", SIGTRAP: "SIGTRAP", SIGSEGV: "SIGSEGV", SIGBUS: "SIGBUS", SIGABRT: "SIGABRT",
    ]

    /// - Returns: nil for anything else than a whole record.
    ///
    /// Safety: the record is a plain structure of C, filled from a buffer that is checked to be as long.
    fileprivate init?(_ bytes: [UInt8]) {
        var trap = csys_trap()
        guard bytes.count == MemoryLayout<csys_trap>.size else { return nil }
        unsafe withUnsafeMutableBytes(of: &trap) { target in
            for index in 0..<bytes.count { unsafe target[index] = bytes[index] }
        }
        let sum = MemoryLayout<csys_trap>.offset(of: \.sum)!
        let wanted = trap.sum
        let isWhole = unsafe withUnsafeBytes(of: &trap) { unsafe csys_crc32c(0, $0.baseAddress, sum) == wanted }
        guard isWhole, bytes.starts(with: CSYS_TRAP_MAGIC.utf8), trap.format == 1 else { return nil }
        let name = unsafe withUnsafeBytes(of: &trap.thread) { unsafe Array($0.prefix { $0 != 0 }) }
        at = trap.at
        signal = Self.names[Int32(bitPattern: trap.signal)] ?? "signal \(trap.signal)"
        thread = String(decoding: name, as: UTF8.self)
        served = trap.served >= 0 ? trap.served : nil
        rev = trap.rev > 0 ? trap.rev : nil
        work = Work(rawValue: trap.work) ?? .other
    }
}

/// DATA/trap: the note of how the last run has ended. It has its room from the first start on, so that a full disk does not keep a trap from being
/// noted, and is not synced: a power cut is no trap.
///
/// The start that has read a note leaves it there for whoever looks at the directory, until that run ends by itself or the next one begins.
package struct TrapFile {
    private let path: String
    private let arms: Bool

    package init(_ configuration: StorageConfiguration) {
        path = configuration.trapPath
        arms = configuration.boot.notesTraps
    }

    private static let bytes = MemoryLayout<csys_trap>.size

    /// - Returns: the note, and whether no start has read it; nil when there is none, or what is there is not whole.
    package func read() -> (note: TrapNote, isNew: Bool)? {
        guard let found = try? FileSystem.contents(path, atMost: Self.bytes), let note = TrapNote(found) else {
            return nil
        }
        return (note, found[MemoryLayout<csys_trap>.offset(of: \.isNew)!] != 0)
    }

    /// A start has read the note. What this run ends by is noted from now on, where the configuration says so.
    func begin() throws(StorageFault) {
        let found = read()
        guard found != nil || arms else { return }
        let descriptor = try FileSystem.open(path, O_RDWR | O_CREAT | O_NOFOLLOW)
        defer { if !arms { close(descriptor) } }
        if let found {
            let place = MemoryLayout<csys_trap>.offset(of: \.isNew)!
            try clear(descriptor, found.isNew ? place..<place + 4 : 0..<Self.bytes)
        } else {
            try clear(descriptor, 0..<Self.bytes)
        }
        guard arms, csys_note_traps(descriptor) != 0 else { return }
        throw .system(errno: errno, call: "sigaction", path: path)
    }

    /// The run ends by itself: what the one before it has ended by is told no more.
    func end() {
        guard read() != nil, let descriptor = try? FileSystem.open(path, O_RDWR | O_NOFOLLOW) else { return }
        defer { close(descriptor) }
        try? clear(descriptor, 0..<Self.bytes)
    }

    private func clear(_ descriptor: Int32, _ range: Range<Int>) throws(StorageFault) {
        try [UInt8](repeating: 0, count: range.count).withBytes { (zeros) throws(StorageFault) in
            try FileSystem.write(descriptor, zeros, at: range.lowerBound, path: path)
        }
    }
}
