import CSyscalls
import Glibc
public import Synchronization

/// A place in the durable path where a test can make things go wrong.
public enum FaultPoint: String, CaseIterable, Sendable {
    case logAppend = "log.append"
    case logCommit = "log.commit"
    case logSync = "log.sync"
    case logSegmentChange = "log.segmentChange"
    case logPrepare = "log.prepare"
    case logRetire = "log.retire"
    case foldSlice = "fold.slice"
    case foldCommit = "fold.commit"
    case foldCheckpoint = "fold.checkpoint"
    case tendSlice = "tend.slice"
    case tendCommit = "tend.commit"
    case migrateScan = "migrate.scan"
    case migrateSlice = "migrate.slice"
    case foldChange = "fold.change"
    case recoverCopy = "recover.copy"
    case recoverChange = "recover.change"
    case recoverItem = "recover.item"
    case secretsExpiry = "secrets.expiry"
    case attachmentWrite = "attachment.write"
    case attachmentCopied = "attachment.copied"
    case attachmentLink = "attachment.link"
    case attachmentLinked = "attachment.linked"
    case attachmentRemove = "attachment.remove"
    case backupWrite = "backup.write"
    case backupSync = "backup.sync"
    case bundleLay = "bundle.lay"
    case blobOpen = "blob.open"
    case blobUnnamed = "blob.unnamed"
    case blobWrite = "blob.write"
    case blobLink = "blob.link"
    case blobTable = "blob.table"
    case modelTable = "model.table"
    case foreignRead = "foreign.read"
    case foreignClose = "foreign.close"
    case spaceLook = "space.look"
    case cacheCopy = "cache.copy"
    case cacheCopied = "cache.copied"
    case cacheSettled = "cache.settled"
    case cacheReplaced = "cache.replaced"
    case keysWrite = "keys.write"
    case keysSync = "keys.sync"
    case keysRename = "keys.rename"
    case keysRenamed = "keys.renamed"
    case rewrapSlice = "rewrap.slice"
    case scrubFiles = "scrub.files"
    case scrubTables = "scrub.tables"
    case scrubPages = "scrub.pages"
    case scrubLog = "scrub.log"
    case scrubSegment = "scrub.segment"
    case scrubZeros = "scrub.zeros"
    case scrubLetGo = "scrub.letGo"
    case scrubDone = "scrub.done"
    case bootLock = "boot.lock"
    case bootMove = "boot.move"
    case bootRebuild = "boot.rebuild"
    case bootBundle = "boot.bundle"
    case bootOpen = "boot.open"
    case bootMigrate = "boot.migrate"
    case bootIntegrity = "boot.integrity"
    case bootTables = "boot.tables"
    case bootLog = "boot.log"
    case bootKeys = "boot.keys"
    case bootCaches = "boot.caches"
    case bootOpenCache = "boot.openCache"
    case bootReadCache = "boot.readCache"
    case bootListen = "boot.listen"
    case bootServing = "boot.serving"
    case threadBegin = "thread.begin"
    case vfsWrite = "vfs.write"
    case vfsSync = "vfs.sync"
    case vfsRead = "vfs.read"

    var isInVFS: Bool { self == .vfsWrite || self == .vfsSync || self == .vfsRead }
    /// May be left out: a sync, or the overwriting of something.
    var canBeSkipped: Bool {
        switch self {
        case .vfsSync, .logSync, .recoverCopy, .scrubFiles, .scrubTables, .scrubPages, .scrubLog, .backupWrite: true
        default: false
        }
    }
}

/// What the code at a point has to do.
public enum FaultAction: Equatable, Sendable {
    /// Fail as with EIO.
    case fail
    /// Fail as with ENOSPC.
    case full
    /// Leave it out and say that it was done: a sync, or the overwriting of what was destroyed. The control of the proofs.
    case skip

    /// The `errno` to fail with; nil for `skip`.
    public var errno: Int32? {
        switch self {
        case .fail: EIO
        case .full: ENOSPC
        case .skip: nil
        }
    }
}

/// Faults armed by a specification, for tests and proofs of durability.
///
/// A specification is a comma-separated list of `point:action[:n]`. Actions are `kill` (SIGKILL to this process, at
/// once), `trap` (a fault of the processor; `trap=REV`: only where the thread is at that revision), `fail` (EIO), `full` (ENOSPC),
/// `skip` (sync points only), `sleep=MS` (milliseconds, then go on) and `pause=/FILE` (makes that file, and goes on when somebody has
/// removed it: until then the order of what happens is certain). `n` is
/// the hit that the fault strikes, counted from arming, 1 when left out; `n+` is that one and every later one. A VFS
/// point takes the role of a file: `vfs.write@durable:full:3`; then only hits of that role count.
///
/// A fault is armed where the calling thread is, in its `CountingScope` or in the process, and strikes there alone. Any thread may call anything here. While
/// nothing is armed, `hit` costs one relaxed load.
public enum FaultPoints {
    public enum ParseError: Error, Equatable {
        /// The part of the specification that was not understood.
        case invalid(String)
    }

    /// How many have something armed: the process, scopes.
    @usableFromInline static let armed = Atomic<Int>(0)
    private static let ofProcess = ArmedFaults()
    private static var current: ArmedFaults { CountingScope.current?.faults ?? ofProcess }

    /// Replaces what is armed; an empty specification arms nothing.
    ///
    /// - Throws: `ParseError`, and then what was armed before stays.
    public static func arm(_ specification: String) throws(ParseError) {
        var parsed: [Rule] = []
        for part in specification.split(separator: ",") {
            guard let rule = Rule(part) else { throw .invalid(String(part)) }
            parsed.append(rule)
        }
        current.set(parsed)
    }

    public static func disarm() { current.set([]) }

    /// Arms one more fault beside those that are armed.
    /// - Parameters:
    ///   - specification: one part of a specification; what it says is right.
    ///   - number: by which `withdraw` takes it away; not 0.
    public static func add(_ specification: String, number: Int) {
        guard var rule = Rule(specification[...]) else { preconditionFailure("no fault: \(specification)") }
        rule.number = number
        current.change { $0.append(rule) }
    }

    /// Takes away what was added with that number.
    public static func withdraw(_ number: Int) { current.change { $0.removeAll { $0.number == number } } }

    /// Says that the code has come to `point`, and does `kill`, `sleep` and `pause` by itself.
    ///
    /// - Parameters:
    ///   - point: where the code is.
    ///   - role: of the file, at a VFS point.
    /// - Returns: what the caller has to do instead of going on, or nil.
    @inlinable
    public static func hit(_ point: FaultPoint, role: FileRole? = nil) -> FaultAction? {
        guard armed.load(ordering: .relaxed) > 0 else { return nil }
        return strike(point, role: role)
    }

    @usableFromInline
    static func strike(_ point: FaultPoint, role: FileRole?) -> FaultAction? {
        let effect = current.effect(of: point, role: role)
        switch effect {
        case nil: return nil
        case .act(let action): return action
        case .kill:
            kill(getpid(), SIGKILL)
            // The signal is on its way; nothing after the point may happen.
            while true { pause() }
        case .trap: csys_end_in_trap()
        case .sleep(let milliseconds):
            var left = timespec(tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000)
            var time = left
            // Safety: two moments of ours.
            while unsafe nanosleep(&time, &left) != 0, Glibc.errno == EINTR { time = left }
            return nil
        case .pause(let file):
            // Safety: Swift lends the path as a C string for the call.
            let descriptor = unsafe csys_open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            if descriptor >= 0 { close(descriptor) }
            // Safety: as before.
            while unsafe access(file, F_OK) == 0 { usleep(1000) }
            return nil
        }
    }
}

/// The faults of the process, or of one scope.
///
/// Safety: `rules` is only touched under the lock.
@safe
final class ArmedFaults: Sendable {
    private let lock = Lock()
    private nonisolated(unsafe) var rules: [Rule] = []

    deinit { if unsafe !rules.isEmpty { FaultPoints.armed.subtract(1, ordering: .relaxed) } }

    fileprivate func set(_ new: [Rule]) { change { $0 = new } }

    fileprivate func change(_ body: (inout [Rule]) -> Void) {
        lock.withLock {
            let before = unsafe rules.isEmpty ? 0 : 1
            unsafe body(&rules)
            FaultPoints.armed.add(unsafe (rules.isEmpty ? 0 : 1) - before, ordering: .relaxed)
        }
    }

    /// Every rule counts the hit, the first that strikes decides.
    fileprivate func effect(of point: FaultPoint, role: FileRole?) -> Rule.Effect? {
        lock.withLock {
            var first: Rule.Effect?
            for index in unsafe rules.indices where unsafe rules[index].strikes(point, role: role) {
                first = unsafe first ?? rules[index].effect
            }
            return first
        }
    }
}

private struct Rule: Sendable {
    enum Effect: Equatable, Sendable {
        case act(FaultAction), kill, trap(rev: UInt64?), sleep(milliseconds: Int), pause(file: String)
    }

    let point: FaultPoint
    let role: FileRole?
    let effect: Effect
    let first: Int
    let goesOn: Bool
    /// Of a fault that was added to others; 0: it came with all that are armed.
    var number = 0
    var hits = 0

    init?(_ text: Substring) {
        let fields = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (2...3).contains(fields.count) else { return nil }
        let place = fields[0].split(separator: "@", omittingEmptySubsequences: false)
        guard let point = FaultPoint(rawValue: String(place[0])), place.count <= 2 else { return nil }
        self.point = point
        if place.count == 2 {
            let named = FileRole.allCases.first { "\($0)" == place[1] }
            guard point.isInVFS, let named else { return nil }
            role = named
        } else {
            role = nil
        }
        guard let effect = Self.effect(fields[1], at: point) else { return nil }
        self.effect = effect
        var number = fields.count == 3 ? fields[2] : "1"
        goesOn = number.hasSuffix("+")
        if goesOn { number.removeLast() }
        guard let first = Self.decimal(number), first > 0 else { return nil }
        self.first = first
    }

    /// Counts the hit when it is this rule's, and says whether the fault strikes.
    mutating func strikes(_ point: FaultPoint, role: FileRole?) -> Bool {
        guard point == self.point, self.role == nil || self.role == role else { return false }
        if case .trap(let rev?) = effect, rev != csys_work_rev() { return false }
        hits += 1
        return goesOn ? hits >= first : hits == first
    }

    private static func effect(_ text: Substring, at point: FaultPoint) -> Effect? {
        switch text {
        case "kill": return .kill
        case "trap": return .trap(rev: nil)
        case "fail": return .act(.fail)
        case "full": return .act(.full)
        case "skip": return point.canBeSkipped ? .act(.skip) : nil
        default:
            if text.hasPrefix("trap="), let rev = decimal(text.dropFirst(5)) { return .trap(rev: UInt64(rev)) }
            if text.hasPrefix("pause=/") { return .pause(file: String(text.dropFirst(6))) }
            guard text.hasPrefix("sleep="), let milliseconds = decimal(text.dropFirst(6)) else { return nil }
            return .sleep(milliseconds: milliseconds)
        }
    }

    /// `Int` would take a sign.
    private static func decimal(_ text: Substring) -> Int? {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(text) : nil
    }
}
