import CSyscalls
import Glibc

/// A listening Unix socket under a path, which it removes when it goes.
///
/// It is bound in a directory that only its owner may enter, gets its owner, group and permissions there, and is then renamed to
/// its place: whoever can reach it finds it as it is to be. Directories above its place are made when they are absent.
///
/// Safety: Swift lends the path as a C string for the call, and the kernel fills one `stat`, which is ours.
public struct Listener: ~Copyable {
    public let descriptor: Int32
    /// Where it was bound; nil when somebody else did that and keeps the file.
    public let path: String?
    private let inode: UInt64

    /// Bytes of a path that fits into an address (108, sun_path) with the room's name, in which it is made.
    public static let pathLimit = 90

    /// `path`: at most `pathLimit` bytes. A socket file there is replaced: whoever calls this holds the lock that says that its
    /// daemon is gone. Any other kind of file is left alone and refused.
    /// `mode`: permissions of the socket file.
    /// `owner`, `group`: of the socket file; nil: as the process makes files. To give it away takes the right to (chown(2)).
    /// `backlog`: connections that wait to be accepted; more are refused by the kernel.
    public static func bind(
        path: String, mode: UInt32 = 0o600, owner: UInt32? = nil, group: UInt32? = nil, backlog: Int32 = 4096
    ) throws(SystemError) -> Listener {
        guard path.utf8.count <= pathLimit else {
            errno = ENAMETOOLONG
            throw SystemError("bind", path: path)
        }
        let parent = try makeParent(of: path, isPrivate: mode & 0o077 == 0)
        var information = stat()
        if unsafe lstat(path, &information) == 0, information.st_mode & S_IFMT != S_IFSOCK {
            errno = EEXIST
            throw SystemError("bind", path: path)
        }
        // The socket's own permissions while it is being made do not matter: nobody else can enter here (0700).
        var template = Array((parent + ".kura-XXXXXX").utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw SystemError("mkdtemp", path: parent) }
        let room = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let hidden = room + "/s"
        defer {
            unsafe unlink(hidden)
            unsafe rmdir(room)
        }
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError("socket") }
        do throws(SystemError) {
            guard unsafe csys_bind_unix(descriptor, hidden) == 0 else { throw SystemError("bind", path: path) }
            // The owner first: changing it may take permissions away again.
            if owner != nil || group != nil {
                guard unsafe chown(hidden, owner ?? .max, group ?? .max) == 0 else {
                    throw SystemError("chown", path: path)
                }
            }
            guard unsafe chmod(hidden, mode) == 0 else { throw SystemError("chmod", path: path) }
            guard listen(descriptor, backlog) == 0 else { throw SystemError("listen", path: path) }
            guard unsafe lstat(hidden, &information) == 0 else { throw SystemError("stat", path: path) }
            guard unsafe rename(hidden, path) == 0 else { throw SystemError("rename", path: path) }
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        return Listener(descriptor: descriptor, path: path, inode: UInt64(information.st_ino))
    }

    /// Takes over a socket that somebody else has bound, and whose file they keep.
    public init(adopting inherited: InheritedSocket) {
        self.init(descriptor: inherited.descriptor, path: nil, inode: 0)
    }

    private init(descriptor: Int32, path: String?, inode: UInt64) {
        self.descriptor = descriptor
        self.path = path
        self.inode = inode
    }

    deinit {
        // Another daemon may have put its own in the place meanwhile.
        var information = stat()
        if let path, unsafe lstat(path, &information) == 0, UInt64(information.st_ino) == inode { unsafe unlink(path) }
        Glibc.close(descriptor)
    }

    /// What became of an attempt to accept.
    public enum Accepted {
        case connection(Int32)
        case nothing
        /// No descriptors or memory are left: try again later.
        case exhausted
    }

    /// The next waiting connection's descriptor, non-blocking; the caller owns it.
    public borrowing func accept() -> Accepted {
        while true {
            let connection = csys_accept4(descriptor, Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue))
            if connection >= 0 { return .connection(connection) }
            switch errno {
            case EINTR, ECONNABORTED: continue
            case EMFILE, ENFILE, ENOMEM, ENOBUFS: return .exhausted
            default: return .nothing
            }
        }
    }

    /// Makes the directory that a path is in, and those above it.
    /// `isPrivate`: nobody else may pass through; otherwise others may, and see nothing of what is there.
    /// - Returns: the directory with a slash at its end; empty for the current one.
    @discardableResult
    private static func makeParent(of path: String, isPrivate: Bool) throws(SystemError) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "" }
        let parent = String(path[..<slash])
        if unsafe parent.isEmpty || access(parent, F_OK) == 0 { return parent + "/" }
        try makeParent(of: parent, isPrivate: isPrivate)
        guard unsafe mkdir(parent, 0o700) == 0 else {
            if errno == EEXIST { return parent + "/" }
            throw SystemError("mkdir", path: parent)
        }
        if !isPrivate, unsafe chmod(parent, 0o711) != 0 { throw SystemError("chmod", path: parent) }
        return parent + "/"
    }
}
