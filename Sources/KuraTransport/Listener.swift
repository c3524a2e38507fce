import CSyscalls
import Glibc

/// A listening Unix socket under a path, which it removes when it goes.
///
/// It is bound under a temporary name with closed permissions and then renamed, so that it is never connectable with
/// wrong ones. Its directory is made with 0700 when it is absent.
///
/// Safety: Swift lends the path as a C string for the call, and the kernel fills one `stat`, which is ours.
public struct Listener: ~Copyable {
    public let descriptor: Int32
    public let path: String
    private let inode: UInt64

    /// `path`: at most 100 bytes. A socket file there is replaced: whoever calls this holds the lock that says that its
    /// daemon is gone. Any other kind of file is left alone and refused.
    /// `mode`: permissions of the socket file.
    /// `backlog`: connections that wait to be accepted; more are refused by the kernel.
    public static func bind(
        path: String, mode: UInt32 = 0o600, backlog: Int32 = 4096
    ) throws(SystemError) -> Listener {
        try makeParent(of: path)
        var information = stat()
        if unsafe lstat(path, &information) == 0, information.st_mode & S_IFMT != S_IFSOCK {
            errno = EEXIST
            throw SystemError("bind", path: path)
        }
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError("socket") }
        let temporary = path + ".\(getpid())"
        do throws(SystemError) {
            unsafe unlink(temporary)
            let previousMask = umask(0o177)
            let bound = unsafe csys_bind_unix(descriptor, temporary)
            umask(previousMask)
            guard bound == 0 else { throw SystemError("bind", path: path) }
            guard unsafe chmod(temporary, mode) == 0 else { throw SystemError("chmod", path: temporary) }
            guard listen(descriptor, backlog) == 0 else { throw SystemError("listen", path: path) }
            guard unsafe lstat(temporary, &information) == 0 else { throw SystemError("stat", path: temporary) }
            guard unsafe rename(temporary, path) == 0 else { throw SystemError("rename", path: path) }
        } catch {
            unsafe unlink(temporary)
            Glibc.close(descriptor)
            throw error
        }
        return Listener(descriptor: descriptor, path: path, inode: UInt64(information.st_ino))
    }

    private init(descriptor: Int32, path: String, inode: UInt64) {
        self.descriptor = descriptor
        self.path = path
        self.inode = inode
    }

    deinit {
        // Another daemon may have put its own in the place meanwhile.
        var information = stat()
        if unsafe lstat(path, &information) == 0, UInt64(information.st_ino) == inode { unsafe unlink(path) }
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

    private static func makeParent(of path: String) throws(SystemError) {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return }
        let parent = String(path[..<slash])
        if unsafe access(parent, F_OK) == 0 { return }
        try makeParent(of: parent)
        guard unsafe mkdir(parent, 0o700) == 0 || errno == EEXIST else { throw SystemError("mkdir", path: parent) }
    }
}
