import CSyscalls
import Glibc
import KuraSocket

/// A listening Unix socket under a path, which it removes when it goes.
///
/// It is bound in a directory that only its owner may enter, gets its owner, group and permissions there, and is then renamed to
/// its place: whoever can reach it finds it as it is to be. Directories above its place are made when they are absent. Both
/// directories are held open, so that nobody who may rename them leads what is done elsewhere.
///
/// Safety: Swift lends paths and names as C strings for the call.
public struct Listener: ~Copyable {
    /// -1 once it is closed.
    public private(set) var descriptor: Int32
    /// Where it was bound; nil when somebody else did that and keeps the file.
    public let path: String?
    private let directory: HeldDirectory?
    private let inode: UInt64

    /// Most bytes of a path; an address holds 107 (sun_path).
    public static let pathLimit = 90

    /// Why there will be no socket in a directory.
    public struct Refusal: Error, CustomStringConvertible, Sendable {
        public let description: String
    }

    /// `path`: at most `pathLimit` bytes. A socket file there is replaced: whoever calls this holds the lock that says that its
    /// daemon is gone. Any other kind of file is left alone and refused.
    /// `mode`: permissions of the socket file.
    /// `owner`, `group`: of the socket file; nil: as the process makes files. To give it away takes the right to (chown(2)).
    /// `backlog`: connections that wait to be accepted; more are refused by the kernel.
    /// - Throws: `SystemError`, or `Refusal` for a directory that is neither root's nor the caller's, or that everybody may
    ///   write to without the sticky bit.
    public static func bind(
        path: String, mode: UInt32 = 0o600, owner: UInt32? = nil, group: UInt32? = nil, backlog: Int32 = 4096
    ) throws -> Listener {
        guard path.utf8.count <= pathLimit else {
            errno = ENAMETOOLONG
            throw SystemError("bind", path: path)
        }
        let parent = try HeldDirectory.parent(of: path, isPrivate: isPrivate(mode: mode, owner: owner))
        if let objection = parent.objection { throw Refusal(description: objection) }
        let name = HeldDirectory.name(of: path)
        if let present = parent.information(of: name), present.st_mode & S_IFMT != S_IFSOCK {
            errno = EEXIST
            throw SystemError("bind", path: path)
        }
        // The socket's own permissions while it is being made do not matter: nobody else can enter here (0700).
        let room = try parent.makeRoom()
        defer {
            unsafe unlinkat(room.descriptor, "s", 0)
            unsafe unlinkat(parent.descriptor, HeldDirectory.name(of: room.path), AT_REMOVEDIR)
        }
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError("socket") }
        do throws(SystemError) {
            let hidden = room.ownPath + "/s"
            guard unsafe csys_bind_unix(descriptor, hidden) == 0 else { throw SystemError("bind", path: hidden) }
            // The owner first: changing it may take permissions away again.
            if owner != nil || group != nil {
                let result = unsafe fchownat(
                    room.descriptor, "s", owner ?? .max, group ?? .max, AT_SYMLINK_NOFOLLOW)
                guard result == 0 else { throw SystemError("chown", path: path) }
            }
            guard unsafe fchmodat(room.descriptor, "s", mode, AT_SYMLINK_NOFOLLOW) == 0 else {
                throw SystemError("chmod", path: path)
            }
            guard listen(descriptor, backlog) == 0 else { throw SystemError("listen", path: path) }
            guard let made = room.information(of: "s") else { throw SystemError("stat", path: path) }
            guard unsafe renameat(room.descriptor, "s", parent.descriptor, name) == 0 else {
                throw SystemError("rename", path: path)
            }
            return Listener(descriptor: descriptor, path: path, directory: parent, inode: UInt64(made.st_ino))
        } catch {
            Glibc.close(descriptor)
            throw error
        }
    }

    /// Whether nobody but this process's user may use a socket file of this mode and owner.
    public static func isPrivate(mode: UInt32, owner: UInt32?) -> Bool {
        mode & 0o077 == 0 && (owner ?? geteuid()) == geteuid()
    }

    /// Takes over a socket that somebody else has bound, and whose file they keep.
    public init(adopting inherited: InheritedSocket) {
        self.init(descriptor: inherited.descriptor, path: nil, directory: nil, inode: 0)
    }

    private init(descriptor: Int32, path: String?, directory: HeldDirectory?, inode: UInt64) {
        self.descriptor = descriptor
        self.path = path
        self.directory = directory
        self.inode = inode
    }

    deinit {
        release()
    }

    /// Listens no more, and takes the file away; for one whose owner lives on.
    public mutating func close() {
        release()
        descriptor = -1
    }

    /// Whether its path leads to it still: its file may have been removed, renamed, or replaced by another, which nobody is told of.
    ///
    /// Safety: the kernel fills one `stat`, which is ours.
    public var isInPlace: Bool {
        guard descriptor >= 0, let path else { return true }
        var information = stat()
        return unsafe lstat(path, &information) == 0 && UInt64(information.st_ino) == inode
    }

    private borrowing func release() {
        guard descriptor >= 0 else { return }
        if let path, let directory {
            let name = HeldDirectory.name(of: path)
            // Another daemon may have put its own in the place meanwhile.
            if let present = directory.information(of: name), UInt64(present.st_ino) == inode {
                unsafe unlinkat(directory.descriptor, name, 0)
            }
        }
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
}
