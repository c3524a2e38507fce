import CSyscalls
import Glibc
import KuraBytes

// Safety: paths are lent as C strings for a call, numbers are of the types that the functions write, and `pread` and
// `pwrite` get a buffer with its length.

/// The data directory, checked and locked. Whoever holds one may touch what is inside; the lock ends with the process.
///
/// It is a directory of our own (never a symbolic link), closed to others (0700), on a local file system, and held by one
/// daemon at a time. One that a newer version has written is refused as it is (`Formats`). What lies in the place of our own files is
/// repaired or set aside, or the directory is refused as it is (`PlaceKeeper`).
///
/// The directory itself is locked as well as the file `lock`: that file may have been removed or replaced while a daemon runs. Earlier
/// versions hold the file alone.
package struct DataDirectory: ~Copyable {
    private let lock: Int32
    private let directory: Int32

    /// `report`: takes a line on each thing that was put in order.
    static func open(
        _ path: String, configuration: StorageConfiguration, report: @escaping (String) -> Void = { _ in }
    ) throws(StorageFault) -> DataDirectory {
        // With a slash at its end a link would be followed before it can be seen.
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        if !FileSystem.exists(path), csysIsDanglingLink(path) { throw .refused("\(path) is a symbolic link") }
        if !FileSystem.exists(path) {
            try FileSystem.makeDirectories(path)
            try FileSystem.syncDirectory(path + "/..")
        }
        try check(path)
        let directory = try acquireDirectory(path)
        var lock: Int32 = -1
        do throws(StorageFault) {
            let keeper = PlaceKeeper(configuration, report: report)
            if let fault = keeper.fault(of: Place.lock) {
                if case .mode = fault.what { try keeper.mend(fault) }
                if case .owner = fault.what, isHeld(path + "/lock") { throw .inUse(pid: nil, path: path) }
            }
            if keeper.fault(of: Place.lock) == nil { lock = try acquire(path + "/lock") }
            try keeper.check()
            try Formats.check(configuration)
            try keeper.putInOrder()
            if lock < 0 { lock = try acquire(path + "/lock") }
            noteHolder(lock)
            try furnish(configuration, keeper, report)
        } catch {
            if lock >= 0 { close(lock) }
            close(directory)
            throw error
        }
        return DataDirectory(lock: lock, directory: directory)
    }

    private init(lock: Int32, directory: Int32) {
        (self.lock, self.directory) = (lock, directory)
    }

    deinit {
        close(lock)
        close(directory)
    }

    /// Lets another daemon in, before the process ends: its end may wait for what strangers have passed. Everything is closed.
    func unlock() {
        flock(lock, LOCK_UN)
        flock(directory, LOCK_UN)
    }

    private static func furnish(
        _ configuration: StorageConfiguration, _ keeper: PlaceKeeper, _ report: (String) -> Void
    ) throws(StorageFault) {
        try FileSystem.makeDirectory(configuration.logDirectory)
        try FileSystem.makeDirectory(configuration.durableDirectory)
        try FileSystem.makeDirectory(configuration.temporaryDirectory)
        try FileSystem.makeDirectory(configuration.attachmentsDirectory)
        try FileSystem.makeDirectory(configuration.cacheDirectory)
        try FileSystem.makeDirectory(configuration.blobsDirectory)
        let isMounted = try OpenDirectory(configuration.temporaryDirectory).isMountPoint()
        if isMounted { report("\(configuration.temporaryDirectory) is a mount point: nothing in it is removed") }
        for name in try isMounted ? [] : FileSystem.names(in: configuration.temporaryDirectory)
        where AttachmentFiles.digest(ofMarker: name) == nil {
            try keeper.clear("tmp/" + name) { (path) throws(StorageFault) in
                if name.hasPrefix(LogScrub.leftoverPrefix), FileSystem.isRegular(path) {
                    try LogScrub.erase(path)
                } else if FileSystem.isDirectory(path) {
                    try FileSystem.removeDirectory(path)
                } else {
                    try FileSystem.remove(path)
                }
            }
        }
        try FileSystem.syncDirectory(configuration.durableDirectory)
        try FileSystem.syncDirectory(configuration.dataDirectory)
    }

    /// Throws: why a daemon does not take it.
    /// `anyOwner`: whoever it belongs to, since somebody else than the daemon asks.
    package static func check(_ path: String, anyOwner: Bool = false) throws(StorageFault) {
        var mode: UInt32 = 0
        var owner: UInt32 = 0
        guard unsafe csys_mode(path, &mode, &owner, 0) == 0 else { throw FileSystem.fail("stat", path) }
        switch mode & UInt32(S_IFMT) {
        case UInt32(S_IFLNK): throw .refused("\(path) is a symbolic link; name the directory itself")
        case UInt32(S_IFDIR): break
        default: throw .refused("\(path) is no directory")
        }
        guard anyOwner || owner == geteuid() else {
            throw .refused("\(path) belongs to user \(owner), this is user \(geteuid())")
        }
        guard mode & 0o077 == 0 else {
            throw .refused("\(path) is open to others (mode \(String(mode & 0o7777, radix: 8))); chmod 700 it")
        }
        guard anyOwner || owner == 0 || mode & 0o700 == 0o700 else {
            throw .refused(
                "\(path) is closed to its owner (mode \(String(mode & 0o7777, radix: 8))); chmod 700 it")
        }
        let type = unsafe csys_file_system_type(path)
        if let name = networkFileSystems[type] {
            throw .refused("\(path) is on a network file system (\(name)), where locks and syncs cannot be relied on")
        }
    }

    /// Source: statfs(2), linux/magic.h.
    private static let networkFileSystems: [Int: String] = [
        0x6969: "NFS", 0x517B: "SMB", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB2", 0x0102_1997: "9P", 0x00C3_6400: "Ceph",
        0x5346_414F: "AFS", 0x6B41_4653: "AFS", 0x7375_7245: "Coda", 0x564C: "NCP", 0x0BD0_0BD0: "Lustre",
        0x0161_1970: "GFS2", 0x7461_636F: "OCFS2",
    ]

    private static func acquireDirectory(_ path: String) throws(StorageFault) -> Int32 {
        let descriptor = try FileSystem.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            close(descriptor)
            guard code == EWOULDBLOCK else { throw .system(errno: code, call: "flock", path: path) }
            var holder: Int32?
            if let lock = try? FileSystem.openRegular(path + "/lock") {
                holder = readPID(lock)
                close(lock)
            }
            throw .inUse(pid: holder, path: path)
        }
        return descriptor
    }

    /// Whether somebody holds a lock that is another user's.
    private static func isHeld(_ path: String) -> Bool {
        guard let descriptor = try? FileSystem.openRegular(path) else { return false }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }

    private static func acquire(_ path: String) throws(StorageFault) -> Int32 {
        let descriptor = try FileSystem.open(path, O_RDWR | O_CREAT | O_NOFOLLOW)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            let holder = readPID(descriptor)
            close(descriptor)
            guard code == EWOULDBLOCK else { throw .system(errno: code, call: "flock", path: path) }
            throw .inUse(pid: holder, path: String(path.dropLast("/lock".count)))
        }
        return descriptor
    }

    /// Says who has it, for those who are refused. On a full disk the number may be missing; the lock holds all the same.
    private static func noteHolder(_ lock: Int32) {
        let text = Array("\(getpid())\n".utf8)
        guard ftruncate(lock, 0) == 0 else { return }
        _ = text.withBytes { unsafe pwrite(lock, $0.baseAddress, $0.count, 0) }
    }

    private static func readPID(_ descriptor: Int32) -> Int32? {
        unsafe withUnsafeTemporaryAllocation(byteCount: 16, alignment: 1) { buffer in
            let count = unsafe pread(descriptor, buffer.baseAddress, 16, 0)
            guard count > 0 else { return nil }
            let digits = unsafe buffer[..<count].prefix { $0 >= 0x30 && $0 <= 0x39 }
            return unsafe Int32(String(decoding: digits, as: UTF8.self))
        }
    }
}

private func csysIsDanglingLink(_ path: String) -> Bool {
    var mode: UInt32 = 0
    var owner: UInt32 = 0
    return unsafe csys_mode(path, &mode, &owner, 0) == 0 && mode & UInt32(S_IFMT) == UInt32(S_IFLNK)
}
