import CSyscalls
import Glibc
package import KuraBytes
import SQLite

// Safety: paths are lent as C strings for a call; the kernel fills one `stat`, `statvfs` or `timespec`, which is ours; an entry
// of a directory is read before the next one is asked for, and its name ends with a zero; texts and buffers go with
// their lengths.

/// errno in words.
package enum Errno {
    /// The host's trouble, which may be over a moment later; the rest is somebody's mistake, such as that there is no such file.
    package static func passes(_ code: Int32) -> Bool {
        [EIO, ENOMEM, EMFILE, ENFILE, EAGAIN, EINTR, ESTALE, ETIMEDOUT].contains(code)
    }

    package static func text(_ code: Int32) -> String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            guard unsafe strerror_r(code, buffer.baseAddress!, 128) == 0 else { return "error \(code)" }
            return unsafe String(cString: buffer.baseAddress!)
        }
    }
}

/// The few file operations that the storage needs, each spelled once, errno translated in one place.
package enum FileSystem {
    static func fail(_ call: String, _ path: String) -> StorageFault {
        .system(errno: errno, call: call, path: path)
    }

    static func open(_ path: String, _ flags: Int32, mode: UInt32 = 0o600) throws(StorageFault) -> Int32 {
        let isNew = flags & O_CREAT != 0 && !exists(path)
        let descriptor = unsafe csys_open(path, flags | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw fail("open", path) }
        if isNew { CountingVFS.count(.made, path: path) }
        return descriptor
    }

    /// What `openRegular` was doing when it met something else.
    static let openingRegular = "open a regular file"

    /// A call that has failed, in words.
    static func text(_ errno: Int32, _ call: String, _ path: String) -> String {
        call == openingRegular ? "\(path) is no regular file" : "\(call) \(path): \(Errno.text(errno))"
    }

    /// Opens a regular file for reading: nobody waits for the other end of a FIFO, and no device notices.
    /// `followsLinks`: the path is what somebody has named, and not what was found in a directory.
    /// Throws: EINVAL when it is anything else.
    package static func openRegular(_ path: String, followsLinks: Bool = false) throws(StorageFault) -> Int32 {
        var information = stat()
        let isOther = StorageFault.system(errno: EINVAL, call: openingRegular, path: path)
        // Opening some devices does something, so what is none is found out first; what has become one since is closed at once.
        if unsafe stat(path, &information) == 0, information.st_mode & S_IFMT != S_IFREG { throw isOther }
        let flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | (followsLinks ? 0 : O_NOFOLLOW)
        let descriptor = try open(path, flags)
        guard unsafe fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw isOther
        }
        // The descriptor may go to another process, whose reads wait as those of any other file do.
        _ = csys_fcntl(descriptor, F_SETFL, 0)
        return descriptor
    }

    /// Whether there is something of that name. Where the disk does not say there may be: what is done next fails, and tells why.
    package static func exists(_ path: String) -> Bool {
        unsafe access(path, F_OK) == 0 || errno == EIO || errno == ENOMEM
    }

    /// Makes a directory that only its owner enters; one that is there already is fine.
    static func makeDirectory(_ path: String, mode: mode_t = 0o700) throws(StorageFault) {
        guard unsafe mkdir(path, mode) == 0 || errno == EEXIST else { throw fail("mkdir", path) }
    }

    /// Makes a directory and those above it.
    static func makeDirectories(_ path: String) throws(StorageFault) {
        if exists(path) { return }
        if let slash = path.lastIndex(of: "/"), slash > path.startIndex {
            try makeDirectories(String(path[..<slash]))
        }
        try makeDirectory(path)
    }

    /// Names and removals in a directory become durable.
    static func syncDirectory(_ path: String) throws(StorageFault) {
        let descriptor = try open(path, O_RDONLY | O_DIRECTORY)
        defer { close(descriptor) }
        CountingVFS.count(path: path + "/.", syncs: 1)
        guard fsync(descriptor) == 0 else { throw fail("fsync", path) }
    }

    static func sync(_ path: String) throws(StorageFault) {
        let descriptor = try open(path, O_RDONLY)
        defer { close(descriptor) }
        CountingVFS.count(path: path, syncs: 1)
        guard fsync(descriptor) == 0 else { throw fail("fsync", path) }
    }

    /// Makes what a file shows now durable, in its place: after a failed sync the kernel may count pages as clean that the
    /// disk does not have, so every byte is written once more, and then synced. On most file systems it needs no room.
    /// `start`: what lies before it is on the disk.
    static func writeAgain(_ path: String, from start: Int = 0) throws(StorageFault) {
        let descriptor = try open(path, O_RDWR)
        defer { close(descriptor) }
        var buffer = ByteBuffer(capacity: 256 << 10)
        var offset = start
        while true {
            buffer.removeAll()
            let count = try read(descriptor, atMost: buffer.capacity, at: offset, into: &buffer, path: path)
            if count == 0 { break }
            try write(descriptor, buffer.bytes, at: offset, path: path)
            offset += count
        }
        guard fsync(descriptor) == 0 else { throw fail("fsync", path) }
    }

    package static func names(in path: String) throws(StorageFault) -> [String] {
        guard let directory = unsafe opendir(path) else { throw fail("opendir", path) }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        errno = 0
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
            errno = 0
        }
        // A list that ends early is no list: what is not on it would count as gone.
        guard errno == 0 else { throw fail("readdir", path) }
        return names
    }

    /// Removes a file; one that is not there is fine.
    static func remove(_ path: String) throws(StorageFault) {
        if unsafe unlink(path) == 0 {
            CountingVFS.count(.removed, path: path)
        } else if errno != ENOENT {
            throw fail("unlink", path)
        }
    }

    /// Removes a directory with all that is in it, links themselves; one that is not there is fine.
    /// Throws: ENOTDIR when it is something else, a link to one also; EBUSY when it is a mount point, or has one in it, which stays as it is.
    static func removeDirectory(_ path: String) throws(StorageFault) {
        do throws(StorageFault) { try OpenDirectory(path).clear() } catch {
            if case .system(ENOENT, _, _) = error { return }
            throw error
        }
        guard unsafe rmdir(path) == 0 else { throw fail("rmdir", path) }
    }

    /// The same for what may as well stay.
    package static func tryToRemove(_ path: String) {
        if unsafe unlink(path) == 0 { CountingVFS.count(.removed, path: path) }
    }

    /// What the file system of `path` says of its room; nil when it says nothing.
    static func room(_ path: String) -> statvfs? {
        var information = statvfs()
        guard unsafe statvfs(path, &information) == 0 else { return nil }
        DiskLimit.apply(to: &information)
        return information
    }

    /// Gives a file another name.
    /// - Returns: false when the name is taken; then nothing is changed.
    static func link(_ from: String, _ to: String) throws(StorageFault) -> Bool {
        // Who renames another file to `from` at this moment takes its only name from the one that is being linked, which the kernel says
        // as ENOENT: the other one has the name now.
        for _ in 0..<mostReplacements {
            if unsafe Glibc.link(from, to) == 0 {
                CountingVFS.count(.made, path: to)
                return true
            }
            let error = errno
            if error == EEXIST { return false }
            let isReplaced = error == ENOENT && exists(from)
            errno = error
            guard isReplaced else { break }
        }
        throw fail("link", to)
    }

    private static let mostReplacements = 1000

    static func rename(_ from: String, _ to: String) throws(StorageFault) {
        guard unsafe Glibc.rename(from, to) == 0 else { throw fail("rename", from) }
        CountingVFS.count(.renamed, path: to)
    }

    /// The same where the old name will do.
    static func tryToRename(_ from: String, _ to: String) {
        if unsafe Glibc.rename(from, to) == 0 { CountingVFS.count(.renamed, path: to) }
    }

    /// Cuts a file off at `size` bytes, or fills it up with zeros.
    static func truncate(_ path: String, to size: Int) throws(StorageFault) {
        guard unsafe Glibc.truncate(path, off_t(size)) == 0 else { throw fail("truncate", path) }
    }

    package static func size(_ path: String) -> Int {
        var information = stat()
        return unsafe stat(path, &information) == 0 ? Int(information.st_size) : 0
    }

    /// Bytes of a file; 0 when there is none.
    /// - Throws: when the disk does not say: that is no empty file.
    static func length(_ path: String) throws(StorageFault) -> Int {
        var information = stat()
        if unsafe stat(path, &information) == 0 { return Int(information.st_size) }
        guard errno == ENOENT || errno == ENOTDIR else { throw fail("stat", path) }
        return 0
    }

    /// Bytes of the disk that a file takes, and a copy of it would: its holes take none.
    static func occupied(_ path: String) -> Int {
        var information = stat()
        return unsafe stat(path, &information) == 0
            ? min(Int(information.st_size), Int(information.st_blocks) * 512) : 0
    }

    /// Whether it is a directory of its own, and no link to one.
    package static func isDirectory(_ path: String) -> Bool {
        var information = stat()
        return unsafe lstat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFDIR
    }

    /// Whether it is a file with contents, and no link to one.
    package static func isRegular(_ path: String) -> Bool {
        var information = stat()
        return unsafe lstat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFREG
    }

    /// When a file was written last, milliseconds since 1970; 0 when it is not there.
    package static func modified(_ path: String) -> Int64 {
        var information = stat()
        guard unsafe stat(path, &information) == 0 else { return 0 }
        return .milliseconds(seconds: information.st_mtim.tv_sec).later(
            by: Int64(information.st_mtim.tv_nsec) / 1_000_000)
    }

    /// Reads `count` bytes at `offset`, or up to the end of the file, and appends them. The kernel may give fewer at once, which says nothing of the
    /// file.
    /// - Returns: how many there were; 0 at the end of the file.
    package static func read(
        _ descriptor: Int32, atMost count: Int, at offset: Int, into buffer: inout ByteBuffer, path: String
    ) throws(StorageFault) -> Int {
        buffer.reserve(count)
        var done = 0
        while done < count {
            // Safety: `reserve` has made room for `count` bytes at least, and the kernel writes no more.
            let read = unsafe pread(descriptor, buffer.spare.baseAddress, count - done, off_t(offset + done))
            if read < 0, errno == EINTR { continue }
            guard read >= 0 else { throw fail("read", path) }
            if read == 0 { break }
            buffer.commit(read)
            done += read
        }
        return done
    }

    /// Writes all bytes at `offset`.
    /// `isBilled`: counts them by the path; else the caller does.
    static func write(_ descriptor: Int32, _ bytes: Bytes, at offset: Int, path: String, isBilled: Bool = false)
        throws(StorageFault)
    {
        guard DiskLimit.admits(descriptor, bytes.count, at: offset) else { throw fail("write", path) }
        var done = 0
        while done < bytes.count {
            let rest = bytes.extracting(done..<bytes.count)
            // Safety: address and count are of the same bytes.
            let written = unsafe pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + done))
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw fail("write", path) }
            if isBilled { CountingVFS.count(path: path, writes: 1, bytesWritten: written) }
            done += written
        }
    }
}
