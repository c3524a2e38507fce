public import Glibc
import KuraBytes
public import Synchronization

/// A disk of so many bytes, for applications to try what they do when it is full: what would take more is refused as a full
/// file system refuses it.
///
/// What counts is what the files beneath a directory take, those that are open without a name included, and whoever made them: a file that is put
/// there fills the disk, and makes room when it is removed. They are looked at when the sum of what has grown since comes to the limit, and every
/// 20 ms while something is written. Any thread may call anything here.
///
/// A limit holds where the calling thread is, in its `CountingScope` or in the process, and there alone.
///
/// Safety: paths are lent as C strings for a call, the kernel fills one `stat` or `timespec`, which is ours; an entry of a directory is read
/// before the next one is asked for, and its name ends with a zero.
public enum DiskLimit {
    struct State {
        fileprivate var directory = ""
        /// Bytes that there are for it; nil: as many as there are.
        fileprivate var limit: Int?
        /// What was taken when the disk was filled, so that nothing was left; nil while it is not.
        fileprivate var filled: Int?
        fileprivate var filledUntil: UInt64 = 0
        fileprivate var used = 0
        /// Nanoseconds on the clock that never goes back.
        fileprivate var lookedAt: UInt64 = 0

        /// It counts in `limited`: also when the time of a full disk is over, until somebody says so.
        fileprivate var isLimited = false

        fileprivate var bytes: Int { min(limit ?? .max, filled ?? .max) }

        fileprivate mutating func look() {
            lookedAt = DiskLimit.now()
            if lookedAt >= filledUntil { filled = nil }
            used = DiskLimit.used(beneath: directory)
        }
    }
    /// How many are limited: the process, scopes.
    @usableFromInline static let limited = Atomic<Int>(0)
    private static let ofProcess = Guarded(State())
    private static var state: Guarded<State> { CountingScope.current?.disk ?? ofProcess }

    /// What a file takes is a multiple of this.
    private static let block = 4096
    /// Nanoseconds after which files are looked at again.
    private static let lookAgain: UInt64 = 20_000_000

    /// From now on there are `bytes` for everything beneath `directory`; nil for as many as there are.
    public static func set(_ bytes: Int?, beneath directory: String = "") {
        change { ($0.directory, $0.limit, $0.lookedAt) = (directory, bytes, 0) }
    }

    /// Nothing is left of it on demand (`fill`).
    public static var isFilled: Bool {
        guard limited.load(ordering: .relaxed) > 0 else { return false }
        return state.withLock { $0.filled != nil && now() < $0.filledUntil }
    }

    /// From now on nothing is left of the disk: files beneath `directory` do not grow.
    /// - Parameters:
    ///   - directory: where that is, unless a limit says so already.
    ///   - milliseconds: how long; nil: until `empty`.
    public static func fill(beneath directory: String, milliseconds: Int?) {
        change { state in
            if state.limit == nil { state.directory = directory }
            state.filled = nil
            state.look()
            state.filled = state.used
            state.filledUntil = milliseconds.map { state.lookedAt.later(by: .nanoseconds(milliseconds: $0)) } ?? .max
        }
    }

    /// There is again what there was before `fill`.
    public static func empty() { change { $0.filled = nil } }

    private static func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            let before = state.isLimited
            body(&state)
            state.isLimited = state.limit != nil || state.filled != nil
            limited.add((state.isLimited ? 1 : 0) - (before ? 1 : 0), ordering: .releasing)
        }
    }

    /// A scope goes, and its limit.
    static func end(_ disk: Guarded<State>) {
        disk.withLock { if $0.isLimited { limited.subtract(1, ordering: .relaxed) } }
    }

    /// Whether a write of `count` bytes at `offset` finds room; without a limit one relaxed load.
    /// - Returns: false when it does not, and then `errno` says that the disk is full.
    @inlinable
    public static func admits(_ descriptor: Int32, _ count: Int, at offset: Int) -> Bool {
        guard limited.load(ordering: .relaxed) > 0 else { return true }
        return admits(writing: descriptor, count, at: offset)
    }

    @usableFromInline
    static func admits(writing descriptor: Int32, _ count: Int, at offset: Int) -> Bool {
        var information = stat()
        guard unsafe fstat(descriptor, &information) == 0 else { return true }
        return admits(growth(of: Int(information.st_size), writing: count, at: offset))
    }

    /// The same of a file of `size` bytes.
    static func admits(_ size: () -> Int, _ count: Int, at offset: Int) -> Bool {
        guard limited.load(ordering: .relaxed) > 0 else { return true }
        return admits(growth(of: size(), writing: count, at: offset))
    }

    /// Whether there is room for `growth` bytes, which are counted then.
    private static func admits(_ growth: Int) -> Bool {
        guard growth > 0 else { return true }
        let isAdmitted = state.withLock { state in
            if state.used + growth > state.bytes || now() > state.lookedAt + lookAgain { state.look() }
            guard state.used + growth <= state.bytes else { return false }
            state.used += growth
            return true
        }
        if !isAdmitted { errno = ENOSPC }
        return isAdmitted
    }

    private static func growth(of size: Int, writing count: Int, at offset: Int) -> Int {
        func rounded(_ bytes: Int) -> Int { (bytes + block - 1) / block * block }
        return max(rounded(offset + count) - rounded(size), 0)
    }

    /// Has what the kernel says of a file system say no more than there is.
    public static func apply(to information: inout statvfs) {
        guard limited.load(ordering: .relaxed) > 0, information.f_frsize > 0 else { return }
        let unit = Int(information.f_frsize)
        let (bytes, left) = state.withLock { state in
            state.look()
            return (state.bytes, max(state.bytes - state.used, 0))
        }
        information.f_blocks = min(information.f_blocks, fsblkcnt_t(bytes / unit))
        information.f_bavail = min(information.f_bavail, fsblkcnt_t(left / unit))
    }

    // MARK: Looking

    fileprivate static func now() -> UInt64 { monotonicNanoseconds() }

    fileprivate static func used(beneath directory: String) -> Int {
        guard !directory.isEmpty else { return 0 }
        return taken(by: directory) + takenWithoutNames(beneath: directory)
    }

    private static func taken(by directory: String) -> Int {
        var sum = 0
        each(in: directory) { name in
            let path = directory + "/" + name
            var information = stat()
            guard unsafe lstat(path, &information) == 0 else { return }
            if information.st_mode & S_IFMT == S_IFDIR {
                sum += taken(by: path)
            } else if information.st_mode & S_IFMT == S_IFREG {
                sum += Int(information.st_blocks) * 512
            }
        }
        return sum
    }

    /// Of files that this process has open there and that have no name, or none any more.
    private static func takenWithoutNames(beneath directory: String) -> Int {
        // As the kernel tells where a file was.
        guard let real = unsafe realpath(directory, nil) else { return 0 }
        defer { unsafe free(real) }
        let root = unsafe Array(String(cString: real).utf8) + [UInt8(ascii: "/")]
        var sum = 0
        each(in: "/proc/self/fd") { name in
            var information = stat()
            guard let descriptor = Int32(name), unsafe fstat(descriptor, &information) == 0, information.st_nlink == 0,
                information.st_mode & S_IFMT == S_IFREG
            else { return }
            var place = [UInt8](repeating: 0, count: root.count)
            let count = unsafe place.withUnsafeMutableBytes { bytes in
                unsafe readlink(
                    "/proc/self/fd/" + name, bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count)
            }
            if count == root.count, place == root { sum += Int(information.st_blocks) * 512 }
        }
        return sum
    }

    private static func each(in directory: String, _ body: (String) -> Void) {
        guard let entries = unsafe opendir(directory) else { return }
        defer { unsafe closedir(entries) }
        while let entry = unsafe readdir(entries) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != ".", name != ".." { body(name) }
        }
    }
}
