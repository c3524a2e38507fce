import Glibc
import KuraBytes

/// What boot.json says: how far the last start came, and how many have failed one after the other.
package struct BootRecord: Equatable, Sendable {
    package var phase = BootPhase.ended
    /// Starts since the last that came to serve, this one included.
    package var attempts = 0
    /// All starts, this one included.
    var starts = 0
    /// When everything was looked through last, milliseconds since 1970, and how many problems there were.
    var checkedAt: Int64 = 0
    package var checkProblems = 0
    /// A file in which a read has met damage since, below the data directory; empty when none has.
    package var damagedFile = ""
    /// Starts that have met damage or trapped in a phase of tables and log, since one came to serve.
    package var durableFailures = 0
    package var traps = Traps()
    /// The same of caches: starts that have trapped while a cache was opened or read.
    package var cacheFailures = 0
    /// The cache's file that is being opened now.
    var openingCache = ""
    /// Rooms whose files are being read while the daemon serves.
    var readingCaches: [String] = []
    /// A run before this one was killed while it served, and no start since has come so far as to look.
    var isUnclean = false
    var seeding = Seeding()
    /// The boot id of the kernel under which the log was last read and repaired.
    var kernel = ""
    package var failure = Failure()

    /// Starts that a trap has ended soon, one after the other, and the change that was at work each time; 0 when it was none in particular.
    package struct Traps: Equatable {
        package var count = 0
        var rev: UInt64 = 0
    }

    /// Whether a seed bundle is being laid down, and how many starts have trapped while they did, since one came through.
    struct Seeding: Equatable {
        var isUnderWay = false
        var failures = 0
    }

    /// The last failure of tables or log.
    package struct Failure: Equatable {
        package var phase = ""
        package var reason = ""
    }

    /// Every text of it is as long: it is written over the one before in one piece, which lies in one sector or two.
    static let bytes = 1024
    private static let mostOfReason = 300

    /// As much of a text as has a place here.
    private static func cut(_ text: String) -> String {
        var cut = text
        while cut.utf8.count > mostOfReason { cut.removeLast(max(1, (cut.utf8.count - mostOfReason) / 4)) }
        return cut
    }

    init() {}

    init?(_ text: Bytes) {
        guard let note = NoteReader(text), let phase = BootPhase(rawValue: note.text("phase")) else { return nil }
        self.phase = phase
        attempts = note.count("attempts")
        starts = note.count("starts")
        checkedAt = max(0, note.number("checkedAt"))
        checkProblems = note.count("checkProblems")
        damagedFile = note.text("damagedFile")
        durableFailures = note.count("durableFailures")
        traps = Traps(count: note.count("trapFailures"), rev: note.rev("trapRev"))
        cacheFailures = note.count("cacheFailures")
        openingCache = note.text("openingCache")
        readingCaches = note.texts("readingCaches")
        isUnclean = note.flag("unclean")
        seeding = Seeding(isUnderWay: note.flag("seeding"), failures: note.count("seedFailures"))
        kernel = note.text("kernel")
        failure = Failure(phase: note.text("failedPhase"), reason: note.text("reason"))
        // A digit that the disk has changed would set tables and log aside. What earlier versions have written has no checksum.
        guard !Self.hasCheck(text) || self.text.bytes.elementsEqual(text) else { return nil }
    }

    /// Looked for as it is written: a changed quote before it may have made it a part of some text.
    private static func hasCheck(_ text: Bytes) -> Bool {
        let name = Array("\"check\":".utf8)
        return (0..<max(0, text.count - name.count)).contains { offset in
            text.extracting(offset..<offset + name.count).elementsEqual(name)
        }
    }

    var text: ByteBuffer {
        var text = ByteBuffer(capacity: Self.bytes)
        text.append("{\"format\":1")
        text.append(note: "attempts", Int64(attempts))
        text.append(note: "starts", Int64(starts))
        text.append(note: "checkedAt", checkedAt)
        text.append(note: "checkProblems", Int64(checkProblems))
        // A content's has 85 bytes.
        text.append(note: "damagedFile", String(damagedFile.prefix(88)))
        text.append(note: "phase", phase.rawValue)
        text.append(note: "durableFailures", Int64(durableFailures))
        text.append(note: "trapFailures", Int64(traps.count))
        text.append(note: "trapRev", Int64(clamping: traps.rev))
        text.append(note: "cacheFailures", Int64(cacheFailures))
        text.append(note: "openingCache", String(openingCache.prefix(64)))
        text.append(note: "readingCaches", readingCaches)
        text.append(note: "unclean", isUnclean)
        text.append(note: "seeding", seeding.isUnderWay)
        text.append(note: "seedFailures", Int64(seeding.failures))
        text.append(note: "kernel", String(kernel.prefix(36)))
        text.append(note: "failedPhase", failure.phase)
        text.append(note: "reason", Self.cut(failure.reason))
        text.append(note: "check", Int64(SegmentFormat.sum(text.bytes)))
        text.append("}")
        while text.count < Self.bytes - 1 { text.append(0x20) }
        text.append(0x0A)
        return text
    }
}

/// The kernel that runs.
enum Kernel {
    /// A name that each start of it has anew; empty when it does not tell. Source: random(4), /proc/sys/kernel/random/boot_id
    static let boot: String = {
        let text = (try? FileSystem.contents("/proc/sys/kernel/random/boot_id", atMost: 64)) ?? nil
        return String(decoding: (text ?? []).prefix(36), as: UTF8.self)
    }()
}

/// boot.json. Phases are written over one another and not synced: a process that is killed leaves what it has written, and a power cut
/// is no failure of the data. That a start has failed is written durably, since the next ones act on it.
package struct BootFile {
    private let path: String
    private let directory: String
    private var descriptor: Int32 = -1

    package init(_ configuration: StorageConfiguration) {
        path = configuration.bootPath
        directory = configuration.dataDirectory
    }

    /// - Returns: what the last start has left; nil when nothing that can be understood is there.
    package func read() -> BootRecord? {
        let text = try? FileSystem.contents(path, atMost: BootRecord.bytes)
        return text?.withBytes { BootRecord($0) }
    }

    /// Without a sync.
    mutating func write(_ record: BootRecord) throws(StorageFault) {
        if descriptor < 0 { descriptor = try FileSystem.open(path, O_RDWR | O_CREAT | O_NOFOLLOW) }
        try FileSystem.write(descriptor, record.text.bytes, at: 0, path: path, isBilled: true)
    }

    mutating func writeDurably(_ record: BootRecord) throws(StorageFault) {
        close()
        try FileSystem.replace(path, with: record.text.bytes, in: directory)
    }

    mutating func close() {
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }
}
