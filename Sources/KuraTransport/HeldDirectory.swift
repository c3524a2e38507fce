import CSyscalls
import Glibc
import KuraSocket

/// A directory held open: what is done by it is done there, whatever somebody makes of its path meanwhile.
///
/// Safety: Swift lends paths and names as C strings for the call; `mkdtemp` writes over the six letters at the end of an array
/// of ours; the kernel fills one `stat`, which is ours.
final class HeldDirectory: Sendable {
    let descriptor: Int32
    /// What it was called when it was opened: for messages.
    let path: String

    private init(owning descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit {
        close(descriptor)
    }

    /// A path that leads here as long as it is held, whatever its own is.
    var ownPath: String { "/proc/self/fd/\(descriptor)" }

    /// The directory that a path is in, made when it is absent, as are those above it.
    /// `isPrivate`: nobody else may pass through those that are made; otherwise others may, and see nothing of what is there.
    static func parent(of path: String, isPrivate: Bool) throws(SystemError) -> HeldDirectory {
        guard let slash = path.lastIndex(of: "/") else { return try existing(".") }
        var parent = String(path[..<slash])
        while parent.hasSuffix("/") { parent.removeLast() }
        if parent.isEmpty { return try existing("/") }
        do throws(SystemError) { return try existing(parent) } catch {
            guard error.code == ENOENT else { throw error }
        }
        return try Self.parent(of: parent, isPrivate: isPrivate).make(name(of: parent), isPrivate: isPrivate)
    }

    /// The last part of a path.
    static func name(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
    }

    private static func existing(_ path: String) throws(SystemError) -> HeldDirectory {
        // To hold it does not take the right to read it.
        let descriptor = unsafe csys_open(path, CSYS_OPEN_PATH | O_DIRECTORY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw SystemError("open", path: path) }
        return HeldDirectory(owning: descriptor, path: path)
    }

    private func make(_ name: String, isPrivate: Bool) throws(SystemError) -> HeldDirectory {
        let isMade = unsafe mkdirat(descriptor, name, 0o700) == 0
        guard isMade || errno == EEXIST else { throw SystemError("mkdir", path: path + "/" + name) }
        let made = try openNew(name)
        // One that somebody else has made in the same moment is theirs to open.
        if isMade, !isPrivate, fchmod(made.descriptor, 0o711) != 0 { throw SystemError("chmod", path: made.path) }
        return made
    }

    /// Makes a directory of a new name beginning with `.kura-`, which only this process's user may enter.
    func makeRoom() throws(SystemError) -> HeldDirectory {
        var template = Array((ownPath + "/.kura-XXXXXX").utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw SystemError("mkdtemp", path: path) }
        let made = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let room = try openNew(Self.name(of: made))
        guard let mode = room.information()?.st_mode, mode & 0o077 == 0 else {
            errno = EPERM
            throw SystemError("mkdtemp", path: room.path)
        }
        return room
    }

    /// Opens what has just been made here: a link in its place, or somebody else's directory, is refused.
    private func openNew(_ name: String) throws(SystemError) -> HeldDirectory {
        let path = path == "/" ? "/" + name : path + "/" + name
        let opened = unsafe csys_openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
        guard opened >= 0 else { throw SystemError("open", path: path) }
        let directory = HeldDirectory(owning: opened, path: path)
        guard directory.information()?.st_uid == geteuid() else {
            errno = EPERM
            throw SystemError("open", path: path)
        }
        return directory
    }

    /// What the directory itself is; nil with `errno`.
    func information() -> stat? {
        var information = stat()
        return unsafe fstat(descriptor, &information) == 0 ? information : nil
    }

    /// What a name in it stands for, which may be a symbolic link; nil with `errno`.
    func information(of name: String) -> stat? {
        var information = stat()
        return unsafe fstatat(descriptor, name, &information, AT_SYMLINK_NOFOLLOW) == 0 ? information : nil
    }

    /// Why nobody should listen here; nil: nothing speaks against it. Its group may write: who shares a socket with a group of
    /// containers gives them the directory (2770), and trusts them.
    var objection: String? {
        guard let information = information() else { return SystemError("stat", path: path).description }
        guard information.st_uid == 0 || information.st_uid == geteuid() else {
            return "\(path) belongs to user \(information.st_uid), who could put another socket in this place: "
                + "a socket's directory is root's or the daemon's own"
        }
        guard information.st_mode & S_IWOTH == 0 || information.st_mode & S_ISVTX != 0 else {
            return "\(path) can be written by everybody, who could put another socket in this place: "
                + "take that right from others (chmod o-w), or listen in a directory below it"
        }
        return nil
    }
}
