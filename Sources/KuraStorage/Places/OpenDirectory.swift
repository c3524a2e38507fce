import CSyscalls
import Glibc
import SQLite

// Safety: Swift lends paths, names and entries as C strings for a call, and each ends with a zero; the kernel fills one `stat`, which is
// ours; an entry of a directory is copied before the next one is asked for.

/// A directory held open: what is done by it is done there, whatever somebody makes of its path meanwhile.
///
/// No link is followed, neither in its own place nor in that of what is in it. Names are single ones, without a slash. May wait for the disk.
///
/// Source: openat(2), unlinkat(2), renameat(2).
public struct OpenDirectory: ~Copyable, Sendable {
    let descriptor: Int32
    /// What it was called when it was opened: for messages.
    let path: String

    /// Which directory it is, whatever it is called.
    struct Identity: Equatable {
        var device: dev_t
        var inode: ino_t
    }

    private init(owning descriptor: Int32, path: String) {
        (self.descriptor, self.path) = (descriptor, path)
    }

    /// Opens a directory that is there.
    /// - Throws: ENOTDIR when it is something else, a link to one also.
    public init(_ path: String) throws(StorageFault) {
        self.init(owning: try Self.open(AT_FDCWD, path, path), path: path)
    }

    /// Opens what another descriptor has open, which stays open.
    public init(reopening descriptor: Int32, path: String) throws(StorageFault) {
        self.init(owning: try Self.open(descriptor, ".", path), path: path)
    }

    deinit { close(descriptor) }

    /// A path that leads here as long as it is held, for what takes paths alone, such as SQLite. The dot keeps the kernel's own link from
    /// being the last part, which is looked at as it stands. Without /proc it leads nowhere.
    var ownPath: String { "/proc/self/fd/\(descriptor)/." }

    // MARK: Looking

    /// - Returns: nil with `errno`.
    func information() -> stat? {
        var information = stat()
        return unsafe fstat(descriptor, &information) == 0 ? information : nil
    }

    /// What a name in it stands for, a link itself; nil with `errno`.
    func information(of name: String) -> stat? {
        var information = stat()
        return unsafe fstatat(descriptor, name, &information, AT_SYMLINK_NOFOLLOW) == 0 ? information : nil
    }

    var identity: Identity? { information().map { Identity(device: $0.st_dev, inode: $0.st_ino) } }

    /// Whether a name in it stands for that directory.
    func names(_ name: String, _ other: borrowing OpenDirectory) -> Bool {
        guard let found = information(of: name), let wanted = other.identity else { return false }
        return Identity(device: found.st_dev, inode: found.st_ino) == wanted
    }

    /// Whether a path leads to it.
    public func isAt(_ path: String) -> Bool {
        var found = stat()
        guard unsafe lstat(path, &found) == 0 else { return false }
        return Identity(device: found.st_dev, inode: found.st_ino) == identity
    }

    /// Names in it, with a zero at the end of each: they need not be UTF-8.
    private func entries() throws(StorageFault) -> [[CChar]] {
        // A descriptor of its own, whose place in the list is nobody else's.
        let listed = try Self.open(descriptor, ".", path)
        guard let stream = unsafe fdopendir(listed) else {
            let fault = FileSystem.fail("fdopendir", path)
            close(listed)
            throw fault
        }
        defer { unsafe closedir(stream) }
        var entries: [[CChar]] = []
        errno = 0
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) {
                    unsafe Array(UnsafeBufferPointer(start: $0, count: strlen($0) + 1))
                }
            }
            if name != [0x2E, 0], name != [0x2E, 0x2E, 0] { entries.append(name) }
            errno = 0
        }
        guard errno == 0 else { throw FileSystem.fail("readdir", path) }
        return entries
    }

    func isEmpty() throws(StorageFault) -> Bool { try entries().isEmpty }

    // MARK: Opening

    private static func open(
        _ directory: Int32, _ name: String, _ path: String, _ kind: Int32 = O_RDONLY
    ) throws(StorageFault) -> Int32 {
        let opened = unsafe csys_openat(directory, name, kind | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
        guard opened >= 0 else { throw FileSystem.fail("open", path) }
        return opened
    }

    func path(of name: String) -> String { path.hasSuffix("/") ? path + name : path + "/" + name }

    /// Opens a directory in it.
    /// `isPassedThrough`: only what lies below it is of interest, which takes no right to read it.
    func open(_ name: String, isPassedThrough: Bool = false) throws(StorageFault) -> OpenDirectory {
        let path = path(of: name)
        let kind = isPassedThrough ? CSYS_OPEN_PATH : O_RDONLY
        return OpenDirectory(owning: try Self.open(descriptor, name, path, kind), path: path)
    }

    // MARK: Changing

    /// Makes a directory that only its owner enters.
    /// - Returns: false when the name is taken.
    func make(_ name: String) throws(StorageFault) -> Bool {
        if unsafe mkdirat(descriptor, name, 0o700) == 0 { return true }
        guard errno == EEXIST else { throw FileSystem.fail("mkdir", path(of: name)) }
        return false
    }

    /// Removes a directory in it that is empty.
    func removeEmpty(_ name: String) throws(StorageFault) {
        guard unsafe unlinkat(descriptor, name, AT_REMOVEDIR) == 0 else {
            throw FileSystem.fail("rmdir", path(of: name))
        }
    }

    /// Whether something is mounted over it: what it shows then lies elsewhere, though it may be on the same file system.
    func isMountPoint() throws(StorageFault) -> Bool {
        let answer = csys_is_mount_point(descriptor)
        guard answer >= 0 else { throw FileSystem.fail("stat", path) }
        return answer == 1
    }

    /// Removes all that is in it, as far as it goes: links themselves, and nothing that is mounted there. Whatever removes a directory with
    /// what is in it does it by this.
    /// - Throws: the first thing that was in the way; EBUSY when it is a mount point itself, and then nothing was removed.
    public func clear() throws(StorageFault) {
        guard try !isMountPoint() else { throw mounted }
        guard let device = identity?.device else { throw FileSystem.fail("fstat", path) }
        var failure: StorageFault?
        for entry in try entries() {
            do throws(StorageFault) { try remove(entry, on: device) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }

    private var mounted: StorageFault {
        .system(errno: EBUSY, call: "clear, which is a mount point,", path: path)
    }

    private func remove(_ entry: [CChar], on device: dev_t) throws(StorageFault) {
        if unsafe unlinkat(descriptor, entry, 0) == 0 || errno == ENOENT { return }
        let inner = path(of: String(decoding: entry.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
        guard errno == EISDIR || errno == EPERM else { throw FileSystem.fail("unlink", inner) }
        let opened = unsafe csys_openat(descriptor, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
        guard opened >= 0 else { throw FileSystem.fail("open", inner) }
        let directory = OpenDirectory(owning: opened, path: inner)
        // A kernel that does not tell mount points tells other file systems at least.
        guard directory.identity?.device == device else { throw directory.mounted }
        try directory.clear()
        guard unsafe unlinkat(descriptor, entry, AT_REMOVEDIR) == 0 || errno == ENOENT else {
            throw FileSystem.fail("rmdir", inner)
        }
    }

    /// Renames a directory within it.
    /// `takesEmpty`: the place of an empty directory also; never that of anything else, which rename(2) refuses to a directory.
    /// - Returns: false when the name is taken.
    func rename(_ name: String, to new: String, takesEmpty: Bool) throws(StorageFault) -> Bool {
        var isDone = unsafe csys_rename_new(descriptor, name, descriptor, new) == 0
        if !isDone, errno == EEXIST, !takesEmpty { return false }
        // File systems that cannot tell whether a name is new, kernels too: a directory takes an empty one's place at most all the same.
        if !isDone, [EEXIST, EINVAL, ENOSYS].contains(errno) {
            isDone = unsafe renameat(descriptor, name, descriptor, new) == 0
        }
        if !isDone, [EEXIST, ENOTEMPTY, ENOTDIR].contains(errno) { return false }
        guard isDone else { throw FileSystem.fail("rename", path(of: new)) }
        CountingVFS.count(.renamed, path: path(of: new))
        return true
    }

    /// Names and removals in it become durable.
    func sync() throws(StorageFault) {
        CountingVFS.count(path: path + "/.", syncs: 1)
        guard fsync(descriptor) == 0 else { throw FileSystem.fail("fsync", path) }
    }
}
